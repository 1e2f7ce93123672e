package server

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/cmd/openclawd/backup"
	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/redaction"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/tools/task/files"
)

// newRedactor has this program's log forget what operators want forgotten, while it serves.
func (p *Program) newRedactor() *redaction.Redactor {
	o := p.redactorOptions()
	o.Past = p.past.Forget
	o.Rebuild = func(ctx context.Context, tell func(done, total int64)) ([]string, error) {
		return p.engine.Names(), p.engine.Rebuild(ctx, projections.RebuildOptions{Live: true, Progress: tell})
	}
	o.Lines = p.follower.Blank
	if p.search != nil {
		o.Search = p.search.BeginAnew
	}
	if p.mirror != nil {
		o.Mirrored = p.mirrored
	}
	if p.taskFiles != nil {
		o.Files = p.taskFiles.keeper.Forget
	}
	if p.agents != nil {
		o.CallOff = p.agents.callOff
	}
	return redaction.New(o)
}

// redactorOptions are those that do not depend on whether the program serves.
func (p *Program) redactorOptions() redaction.Options {
	return redaction.Options{
		Log: p.log, StateDir: p.opts.StateDir, Archives: database.Archives(p.log), Search: p.dropSearch, Copies: p.copies, Free: backup.Free,
		Getenv: p.opts.getenv, NewID: uuid.NewString, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "redaction"),
	}
}

// runRedactions finishes what an earlier process has left, and what is redacted from now on, until ctx ends.
func (p *Program) runRedactions(ctx context.Context) error {
	<-p.caughtUp
	return p.redactor.Run(ctx)
}

// callOff ends a run or a flow of which nothing is going to be left. What else is open the redaction ends itself.
func (a *agents) callOff(ctx context.Context, effectID, by string) (err error) {
	if jobID, is := strings.CutPrefix(effectID, jobEffect); is {
		_, err = a.coordinator.Stop(ctx, jobID, by, redaction.Reason)
	} else if runID, is := strings.CutPrefix(effectID, runEffect); is {
		_, err = a.runner.Stop(ctx, run.Stop{RunID: runID, Reason: redaction.Reason, By: by})
	}
	return err
}

// mirrored waits until the mirror has come to an event.
func (p *Program) mirrored(ctx context.Context, seq int64) error {
	const (
		longest = 30 * time.Second
		look    = 20 * time.Millisecond
	)
	ctx, stop := context.WithTimeout(ctx, longest)
	defer stop()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for p.mirror.Status().Seq < seq {
		select {
		case <-ctx.Done():
			if why := p.mirror.Status().Error; why != "" {
				return errors.New(why)
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// dropSearch removes the search file, which nobody has open. The next server feeds a new one.
func (p *Program) dropSearch(context.Context) error {
	var errs []error
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(database.SearchFile(p.log.Path()) + end); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// copies are the backups of the log, whole ones and what a kill has left, and the copies that were made before migrations.
func (p *Program) copies() (paths []string, err error) {
	dir := p.opts.Backups.Dir
	if dir == "" {
		dir = database.BackupsDir(p.log.Path())
	}
	for _, pattern := range []string{filepath.Join(dir, "openclawd-*.db"), filepath.Join(dir, "openclawd-*.db.part"), p.log.Path() + ".backup-v*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

// OpenRedactor makes a program have its log forget without serving; it is called instead of Run. Of Options, StateDir, DB, Rules, Now, Logger and
// Getenv count. Errors are those of Run.
func (p *Program) OpenRedactor(ctx context.Context) (*redaction.Redactor, error) {
	loaded, findings, err := p.config.read()
	p.config.tell(loaded, findings)
	if err != nil {
		return nil, err // it says where the workspaces are
	}
	p.config.keep(loaded, findings, p.opts.Now(), nil)
	if p.log, err = database.OpenExisting(ctx, p.opts.DB, "redact", p.opts.Now); err != nil {
		return nil, err
	}
	p.engine, err = projections.Start(ctx, p.log, database.Projections(p.opts.Rules), projections.Options{
		Rules: p.opts.Rules, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "projections"),
	})
	if err != nil {
		return nil, err
	}
	p.follower = p.newFollower()
	return p.redactorAlone(ctx)
}

// redactorAlone has the log forget while nobody answers, works or writes lines.
func (p *Program) redactorAlone(ctx context.Context) (*redaction.Redactor, error) {
	o := p.redactorOptions()
	o.Alone = !p.opts.Follow // else another gateway may be writing a line
	o.Rebuild = func(ctx context.Context, tell func(done, total int64)) ([]string, error) {
		return p.engine.Names(), p.engine.Rebuild(ctx, projections.RebuildOptions{Progress: tell})
	}
	o.Lines = p.follower.Blank
	switch err := p.log.View(ctx, func(tx *sql.Tx) error { return keepsTasks(ctx, tx) }); {
	case p.opts.Follow || errors.As(err, new(*notKeptError)):
	case err != nil:
		return nil, err
	default:
		t := &taskFiles{program: p, logger: p.opts.Logger.With("component", "tasks"), refused: map[string]string{}}
		t.keeper = files.New(files.Options{Log: p.log, Agents: t.agents, Dir: t.dir, Now: p.opts.Now, Logger: t.logger})
		o.Files = t.keeper.Forget
	}
	return redaction.New(o), nil
}

// finishRedactions finishes what an earlier process has left, before anybody answers: agents would be told what stands in tables and files, and say it
// again. Where that fails it is tried again while the program serves.
func (p *Program) finishRedactions(ctx context.Context) {
	r, err := p.redactorAlone(ctx)
	if err == nil {
		err = r.Finish(ctx, nil)
	}
	if err != nil && ctx.Err() == nil {
		p.opts.Logger.Error("what was redacted is not forgotten everywhere yet; it is tried again", "err", err)
	}
}

// redactionReasons says that what was redacted is not forgotten everywhere yet.
func (f *facts) redactionReasons() []monitor.Reason {
	if f.redaction == "" {
		return nil
	}
	return []monitor.Reason{{Code: "redaction_failing", What: "what was redacted is not forgotten everywhere yet: " + f.redaction,
		Mend: "GET /api/redactions shows how far it is; it is tried again all the time"}}
}
