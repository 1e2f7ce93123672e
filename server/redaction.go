package server

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/maintenance/backup"
	"github.com/pronto-lab/openclawd/maintenance/redact"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/replay/asof"
	"github.com/pronto-lab/openclawd/services/tasksync"
)

// newRedactor returns the redactor of a serving program.
func (p *Program) newRedactor() *redact.Redactor {
	o := p.redactorOptions()
	o.Past = func(ctx context.Context, seqs []int64) error { return p.past.Forget(ctx, slices.Min(seqs)) }
	o.Rebuild = func(ctx context.Context, tell func(done, total int64)) ([]string, error) {
		return p.engine.Names(), p.engine.Rebuild(ctx, projections.RebuildOptions{Live: true, Progress: tell})
	}
	o.Lines = p.follower.Blank
	if p.search != nil {
		o.Search = p.search.Rebuild
	}
	if p.mirror != nil {
		o.Mirrored = p.mirrored
	}
	if p.taskFiles != nil {
		o.Files = p.taskFiles.syncer.Forget
	}
	if p.agents != nil {
		o.CallOff = p.agents.callOff
	}
	return redact.New(o)
}

// redactorOptions are the options common to serving and standalone redaction.
func (p *Program) redactorOptions() redact.Options {
	return redact.Options{
		Log: p.log, StateDir: p.opts.StateDir, Archives: database.Archives(p.log), Search: p.dropSearch, Copies: p.copies, Free: backup.Free, Stored: p.storedFiles,
		Getenv: p.opts.getenv, NewID: uuid.NewString, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "redaction"),
	}
}

// runRedactions finishes redactions of an earlier process, and handles new ones until ctx ends.
func (p *Program) runRedactions(ctx context.Context) error {
	<-p.caughtUp
	return p.redactor.Run(ctx)
}

// callOff cancels a run or a flow whose payloads are being redacted. The redaction itself ends other open work.
func (a *agents) callOff(ctx context.Context, effectID, by string) (err error) {
	if jobID, is := strings.CutPrefix(effectID, jobEffect); is {
		_, err = a.stopper.Stop(ctx, jobID, by, redact.Reason)
	} else if runID, is := strings.CutPrefix(effectID, runEffect); is {
		_, err = a.runner.Stop(ctx, run.Stop{RunID: runID, Reason: redact.Reason, By: by})
	}
	return err
}

// mirrored waits until the mirror has processed an event.
func (p *Program) mirrored(ctx context.Context, seq int64) error {
	const longest = 30 * time.Second
	ctx, stop := context.WithTimeout(ctx, longest)
	defer stop()
	s, err := p.mirror.Wait(ctx, func(s ndjson.MirrorStatus) bool { return s.Seq >= seq })
	if err != nil && s.Error != "" {
		return errors.New(s.Error)
	}
	return err
}

// dropSearch removes the search file, which no process has open. The next server builds a new one.
func (p *Program) dropSearch(context.Context) error {
	var errs []error
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(database.SearchFile(p.log.Path()) + end); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// copies lists the backups of the log, complete and partial, and the copies made before migrations.
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

// OpenRedactor prepares a program for redaction without serving; it is called instead of Run. Of Options, StateDir, DB, Rules, Now, Logger
// and Getenv are used. It returns the errors of Run.
func (p *Program) OpenRedactor(ctx context.Context) (*redact.Redactor, error) {
	loaded, findings, err := p.config.read()
	p.config.logFindings(loaded, findings)
	if err != nil {
		return nil, err // it defines the workspaces
	}
	p.config.recordInForce(loaded, findings, p.opts.Now(), nil)
	if p.log, err = database.OpenExisting(ctx, p.opts.DB, "redact", p.opts.Now); err != nil {
		return nil, err
	}
	p.engine, err = projections.Start(ctx, p.log, database.Projections(p.opts.Rules), projections.Options{
		Rules: p.opts.Rules, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "projections"),
	})
	if err != nil {
		return nil, err
	}
	p.files = p.openFiles()
	p.follower = p.newFollower()
	return p.redactorAlone(ctx)
}

// redactorAlone redacts while no server answers, works or writes lines.
func (p *Program) redactorAlone(ctx context.Context) (*redact.Redactor, error) {
	o := p.redactorOptions()
	o.Alone = !p.opts.Follow // else another gateway may be writing a line
	o.Rebuild = func(ctx context.Context, tell func(done, total int64)) ([]string, error) {
		return p.engine.Names(), p.engine.Rebuild(ctx, projections.RebuildOptions{Progress: tell})
	}
	o.Lines = p.follower.Blank
	o.Past = func(context.Context, []int64) error { return asof.ForgetKept(asof.Dir(p.log.Path())) }
	switch err := p.log.View(ctx, func(tx *sql.Tx) error { return keepsTasks(ctx, tx) }); {
	case p.withoutAgents() || errors.As(err, new(*notKeptError)):
	case err != nil:
		return nil, err
	default:
		t := newTaskFiles(p)
		t.syncer = tasksync.New(tasksync.Options{Log: p.log, Agents: t.agents, Dir: t.dir, Now: p.opts.Now, Logger: t.logger})
		o.Files = t.syncer.Forget
	}
	return redact.New(o), nil
}

// finishRedactions finishes redactions of an earlier process before anything is answered: otherwise agents would be given texts from tables
// and files, and repeat them. On failure it is retried while the program serves.
func (p *Program) finishRedactions(ctx context.Context) {
	r, err := p.redactorAlone(ctx)
	if err == nil {
		err = r.Finish(ctx, nil)
	}
	if err != nil && ctx.Err() == nil {
		p.opts.Logger.Error("redacted texts are not removed everywhere yet; retrying", "err", err)
	}
}

// redactionReasons reports that redacted texts are not removed everywhere yet.
func (f *facts) redactionReasons() []health.Reason {
	if f.redaction == "" {
		return nil
	}
	return []health.Reason{{Code: health.CodeRedactionFailing, What: "redacted texts are not removed everywhere yet: " + f.redaction,
		Hint: "GET /api/redactions shows the progress; retrying"}}
}
