package server

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
)

// RewriteTaskFiles writes the files of all tasks anew without serving, and says how many; it is called instead of Run. Files that the log does not
// know yet are taken over before. Of Options, StateDir, DB, Rules, Now, Logger and Getenv count. Errors are those of Run, and *notKeptError.
func (p *Program) RewriteTaskFiles(ctx context.Context) (n int, err error) {
	loaded, findings, err := p.config.read()
	p.config.tell(loaded, findings)
	if err != nil {
		return 0, err // it says where the workspaces are
	}
	p.config.keep(loaded, findings, p.opts.Now(), nil)
	if p.log, err = database.OpenExisting(ctx, p.opts.DB, "tasks rewrite", p.opts.Now); err != nil {
		return 0, err
	}
	p.engine, err = projections.Start(ctx, p.log, database.Projections(p.opts.Rules), projections.Options{
		Rules: p.opts.Rules, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "projections"),
	})
	if err != nil {
		return 0, err
	}
	stale, err := p.stale(ctx)
	if err != nil {
		return 0, err
	}
	if len(stale) > 0 {
		p.rebuild(ctx, projections.RebuildOptions{Names: stale})
	}
	if err := p.log.View(ctx, func(tx *sql.Tx) error { return keepsTasks(ctx, tx) }); err != nil {
		return 0, err
	}
	p.openTaskFiles(ctx)
	return p.taskFiles.keeper.Rewrite(ctx)
}

// keepsTasks refuses a log that has only ever followed the files of another gateway: these are not ours to write.
func keepsTasks(ctx context.Context, tx *sql.Tx) error {
	var followed, own int64
	for typ, n := range map[string]*int64{
		coordination.TypeFileChanged: &followed, coordination.TypeFileImported: &own, coordination.TypeFileWritten: &own,
	} {
		count, err := index.CountInternal(ctx, tx, typ)
		if err != nil {
			return fmt.Errorf("see who keeps the tasks: %w", err)
		}
		*n += count
	}
	if followed > 0 && own == 0 {
		return &notKeptError{}
	}
	return nil
}

// notKeptError says that another gateway keeps the tasks.
type notKeptError struct{}

func (e *notKeptError) Error() string {
	return "no files of tasks are written here: another gateway keeps the tasks of this state directory"
}
func (e *notKeptError) Code() string { return "tasks_not_kept" }
func (e *notKeptError) Hint() string {
	return "once openclawd serve has run in its place, without --follow, its files are ours to write"
}
