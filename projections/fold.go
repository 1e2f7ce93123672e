package projections

import (
	"context"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Target is a file of tables that a Fold has exclusively.
type Target interface {
	// Update runs job in one transaction, and commits it if job returns nil.
	Update(ctx context.Context, job func(eventstore.Tx) error) error
}

// Fold builds the tables of a log up to some event in a separate file, with checkpoints, as an Engine stopped there
// would have left them. It is used by one goroutine.
type Fold struct {
	folding
	target  Target
	pace    pace
	started bool // the checkpoints are in the file
}

// NewFold starts at an empty log.
func NewFold(target Target, defs []Definition, rules coordination.Rules) *Fold {
	f := &Fold{folding: newFolding(rules), target: target, pace: usualPace}
	for _, d := range defs {
		f.units = append(f.units, newUnit(d))
	}
	return f
}

// Seq is the event up to which the tables are built.
func (f *Fold) Seq() int64 { return f.cursor }

// Run folds from Seq up to until, and calls progress after each page. If it starts with the first event, indexes are
// built at the end. progress may be nil. Errors: *ApplyError, and those of log and target. After an error the fold is
// unusable.
func (f *Fold) Run(ctx context.Context, log interface {
	Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error)
}, until int64, progress func(done, total int64)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var indexes []string
	if err := f.target.Update(ctx, func(tx eventstore.Tx) (err error) {
		if err = f.begin(tx); err == nil && f.cursor == 0 && until > 0 {
			indexes, err = f.dropIndexes(tx)
		}
		return err
	}); err != nil {
		return err
	}
	t := turn{
		events: f.pace.offline,
		within: func(job func(eventstore.Tx) error) error { return f.target.Update(ctx, job) },
		last:   f.advance,
	}
	if progress != nil {
		t.ahead = func() { progress(f.cursor, until) }
	}
	if err := f.run(ctx, f.pages(ctx, log, until, f.pace.page, f.pace.page), t); err != nil {
		return err
	}
	if f.cursor < until {
		return fmt.Errorf("the log ends at event %d, before %d", f.cursor, until)
	}
	for _, ddl := range indexes {
		if err := f.target.Update(ctx, func(tx eventstore.Tx) error {
			_, err := tx.Exec(ddl)
			return err
		}); err != nil {
			return fmt.Errorf("build indexes: %w", err)
		}
	}
	return nil
}

// Advance folds from Seq up to until in transactions of about turn events, with the indexes in place, and calls after,
// which may be nil, after each. Its error ends the fold. Other errors as of Run.
func (f *Fold) Advance(ctx context.Context, log interface {
	Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error)
}, until int64, turnOf int, after func() error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := f.target.Update(ctx, f.begin); err != nil {
		return err
	}
	t := turn{
		events: turnOf,
		within: func(job func(eventstore.Tx) error) error { return f.target.Update(ctx, job) },
		last:   f.advance,
	}
	if after != nil {
		t.after = func() {
			if err := after(); err != nil {
				cancel(err)
			}
		}
	}
	page := min(turnOf, f.pace.page)
	err := f.run(ctx, f.pages(ctx, log, until, page, page), t)
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return cause
	case err == nil && f.cursor < until:
		return fmt.Errorf("the log ends at event %d, before %d", f.cursor, until)
	}
	return err
}

// Forget drops the cached rows, all of which are written between two turns. A fold that takes its time holds less memory with it, and reads
// rows again.
func (f *Fold) Forget() {
	for _, u := range f.units {
		u.forget()
	}
}

// Step folds the next event within a transaction of the target, and writes everything that it changes. If that
// transaction is not committed, continue with Resume.
func (f *Fold) Step(tx eventstore.Tx, e *eventstore.Event) error {
	if err := f.begin(tx); err != nil {
		return err
	}
	if err := f.applyStored(tx, []eventstore.Event{*e}); err != nil {
		return err
	}
	if err := f.flush(tx); err != nil {
		return err
	}
	f.trim()
	return f.advance(tx)
}

// Resume reloads the state from the tables, after they were restored.
func (f *Fold) Resume(tx eventstore.Tx) error {
	f.started, f.cursor = false, 0
	for i, u := range f.units {
		u.forget()
		found, version := false, ""
		if err := tx.Query("SELECT version, seq, context FROM projections WHERE name = ?", []any{u.def.Name}, func(r eventstore.Row) error {
			found, version, u.seq, u.context = true, r.Text(0), r.Int(1), r.Text(2)
			return nil
		}); err != nil {
			return err
		}
		switch {
		case !found:
			u.seq, u.context = 0, noContext
		case version != u.def.Version:
			return fmt.Errorf("the tables of projection %s have version %s, this code writes %s", u.def.Name, version, u.def.Version)
		}
		if i > 0 && u.seq != f.units[0].seq {
			return fmt.Errorf("projection %s is at event %d, %s at %d", f.units[0].def.Name, f.units[0].seq, u.def.Name, u.seq)
		}
	}
	if len(f.units) == 0 {
		return nil
	}
	first := f.units[0]
	config, err := parseConfiguration(first.context)
	if err != nil {
		return fmt.Errorf("context of projection %s: %w", first.def.Name, err)
	}
	f.config, f.cursor = config, first.seq
	return nil
}

// begin writes the checkpoints of an empty log if there are none.
func (f *Fold) begin(tx eventstore.Tx) error {
	if f.started {
		return nil
	}
	for _, u := range f.units {
		if _, err := tx.Exec("INSERT OR IGNORE INTO projections (name, version, kind, state, seq, context) VALUES (?, ?, ?, ?, 0, ?)",
			u.def.Name, u.def.Version, string(u.def.Kind), string(Live), noContext); err != nil {
			return err
		}
	}
	f.started = true
	return nil
}

// advance moves the checkpoints to the current event.
func (f *Fold) advance(tx eventstore.Tx) error {
	for _, u := range f.units {
		if err := u.advance(tx, f.cursor, f.config.json); err != nil {
			return fmt.Errorf("checkpoint of projection %s: %w", u.def.Name, err)
		}
	}
	return nil
}

// dropIndexes drops the indexes of all tables, and returns the statements that create them again.
func (f *Fold) dropIndexes(tx eventstore.Tx) (ddl []string, err error) {
	for _, u := range f.units {
		for _, table := range u.def.Tables {
			_, indexes, err := describe(tx, table)
			if err != nil {
				return nil, err
			}
			for _, index := range indexes {
				if _, err := tx.Exec("DROP INDEX " + index.name); err != nil {
					return nil, err
				}
				ddl = append(ddl, index.ddl)
			}
		}
	}
	return ddl, nil
}
