package server

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
)

// RewriteTaskFiles rewrites the files of all tasks without serving, and returns their number; it is called instead of Run. Files unknown to
// the log are imported first. Of Options, StateDir, DB, Rules, Now, Logger and Getenv are used. It returns the errors of Run, and
// *notKeptError.
func (p *Program) RewriteTaskFiles(ctx context.Context) (n int, err error) {
	loaded, findings, err := p.config.read()
	p.config.logFindings(loaded, findings)
	if err != nil {
		return 0, err // it defines the workspaces
	}
	p.config.recordInForce(loaded, findings, p.opts.Now(), nil)
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
	return p.taskFiles.syncer.Rewrite(ctx)
}

// keepsTasks rejects a log that has only followed another gateway's files: these must not be written.
func keepsTasks(ctx context.Context, tx *sql.Tx) error {
	var followed, own int64
	for typ, n := range map[string]*int64{
		coordination.TypeFileChanged: &followed, coordination.TypeFileImported: &own, coordination.TypeFileWritten: &own,
	} {
		count, err := index.CountInternal(ctx, tx, typ)
		if err != nil {
			return fmt.Errorf("check who owns the tasks: %w", err)
		}
		*n += count
	}
	if followed > 0 && own == 0 {
		return &notKeptError{}
	}
	return nil
}

// notKeptError reports that another gateway manages the tasks.
type notKeptError struct{}

func (e *notKeptError) Error() string {
	return "no task files are written here: another gateway manages the tasks of this state directory"
}
func (e *notKeptError) Code() string { return "tasks_not_kept" }
func (e *notKeptError) Hint() string {
	return "after openclawd serve has run in its place, without --follow, openclawd writes them"
}
