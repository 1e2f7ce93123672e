package server

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/proof"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/tools/task/files"
)

// settleTaskFiles is how long a file of a task that differs is given, each time, before it is looked at again: a server may be writing it.
const settleTaskFiles = 700 * time.Millisecond

// CheckTaskFiles holds the files of tasks against a log, which it only reads; it is called instead of Run, and the log stays the caller's. Of Options,
// StateDir, DB, Now, Logger and Getenv count. The error is a *proof.SkipError where there is nothing to hold them against.
func (p *Program) CheckTaskFiles(ctx context.Context, log *sqlite.DB) (files.Checked, error) {
	loaded, findings, err := p.config.read()
	if err != nil {
		return files.Checked{}, &proof.SkipError{Why: "openclaw.json, which says where the workspaces are, cannot be used: " + err.Error()}
	}
	p.config.keep(loaded, findings, p.opts.Now(), nil)
	p.log = log
	defer func() { p.log = nil }()
	err = log.View(ctx, func(tx *sql.Tx) error {
		if err := keepsTasks(ctx, tx); err != nil {
			return err
		}
		return everKept(ctx, tx)
	})
	if other, ok := errors.AsType[*notKeptError](err); ok {
		return files.Checked{}, &proof.SkipError{Why: other.Error()}
	}
	if err != nil {
		return files.Checked{}, err
	}
	t := &taskFiles{program: p, logger: p.opts.Logger.With("component", "tasks"), refused: map[string]string{}}
	return files.Check(ctx, files.Options{Log: log, Agents: t.agents, Dir: t.dir, Now: p.opts.Now}, settleTaskFiles)
}

// everKept skips a log whose files nobody has ever written or taken over.
func everKept(ctx context.Context, tx *sql.Tx) error {
	for _, typ := range []string{coordination.TypeFileImported, coordination.TypeFileWritten} {
		count, err := index.CountInternal(ctx, tx, typ)
		if err != nil || count > 0 {
			return err
		}
	}
	return &proof.SkipError{Why: "no files of tasks were ever written or taken over: openclawd serve does"}
}
