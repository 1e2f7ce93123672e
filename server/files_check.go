package server

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/maintenance/verify"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/services/tasksync"
)

// settleTaskFiles is the delay before a differing task file is compared again: a server may be writing it.
const settleTaskFiles = 700 * time.Millisecond

// CheckTaskFiles compares the task files with a log, which is only read; it is called instead of Run, and the caller
// keeps ownership of the log. Of
// Options, StateDir, DB, Now, Logger and Getenv are used. The error is a *verify.SkipError if there is nothing to
// compare.
func (p *Program) CheckTaskFiles(ctx context.Context, log *sqlite.DB) (tasksync.Checked, error) {
	loaded, findings, err := p.config.read()
	if err != nil {
		return tasksync.Checked{}, &verify.SkipError{Why: "openclaw.json, which defines the workspaces, cannot be used: " + err.Error()}
	}
	p.config.recordInForce(loaded, findings, p.opts.Now(), nil)
	p.log = log
	defer func() { p.log = nil }()
	err = log.View(ctx, func(tx *sql.Tx) error {
		if err := keepsTasks(ctx, tx); err != nil {
			return err
		}
		return skipIfUnused(ctx, tx)
	})
	if other, ok := errors.AsType[*notKeptError](err); ok {
		return tasksync.Checked{}, &verify.SkipError{Why: other.Error()}
	}
	if err != nil {
		return tasksync.Checked{}, err
	}
	t := newTaskFiles(p)
	return tasksync.Check(ctx, tasksync.Options{Log: log, Agents: t.agents, Dir: t.dir, Now: p.opts.Now}, settleTaskFiles)
}

// skipIfUnused skips a log whose task files were never written or imported.
func skipIfUnused(ctx context.Context, tx *sql.Tx) error {
	for _, typ := range []string{coordination.TypeFileImported, coordination.TypeFileWritten} {
		count, err := index.CountInternal(ctx, tx, typ)
		if err != nil || count > 0 {
			return err
		}
	}
	return &verify.SkipError{Why: "no task files were ever written or imported; openclawd serve does that"}
}
