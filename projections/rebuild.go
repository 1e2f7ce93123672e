package projections

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/eventstore"
)

// RebuildOptions of Rebuild.
type RebuildOptions struct {
	Names []string // empty: all
	// Live keeps the writer's turns short, so that appends are not delayed: small slices, indexes maintained from the
	// start. Without it the rebuild takes long turns and builds indexes last, which is several times faster.
	Live     bool
	Progress func(done, total int64) // may be nil; called from another goroutine
}

// Prefixes of tables being built, and of replaced tables still to be dropped. They share a common beginning, so that
// leftovers of a crash are found.
const (
	shadowPrefix  = "shadow_"
	droppedPrefix = "shadow_dropped_"
)

// pace is the batch sizes of a rebuild, in events.
type pace struct {
	page    int // per read
	live    int // per turn of the writer when live
	offline int // the same offline; rows are written once per turn
	rest    int // at most this many are left to the swapping transaction, apart from what arrives meanwhile
	small   int // rows of a table that may be dropped while appends wait
}

var usualPace = pace{page: 2_000, live: 2_000, offline: 100_000, rest: 500, small: 1_000}

// Rebuild folds the whole log into shadow tables while the old tables keep answering, and swaps them in one
// transaction. An interrupted rebuild has no effect: it can simply be started again.
func (g *Engine) Rebuild(ctx context.Context, opts RebuildOptions) error {
	g.rebuilding.Lock()
	defer g.rebuilding.Unlock()
	r := &rebuild{folding: newFolding(g.opts.Rules), engine: g, opts: opts}
	r.report = g.report
	for _, name := range opts.Names {
		if !slices.ContainsFunc(g.units, func(u *unit) bool { return u.def.Name == name }) {
			return &UnknownError{Name: name, Known: g.Names()}
		}
	}
	for _, u := range g.units {
		if len(opts.Names) == 0 || slices.Contains(opts.Names, u.def.Name) {
			s := &unit{def: u.def, project: u.def.New(func(table string) string { return shadowPrefix + table })}
			s.rows = s.project.Rows()
			r.old, r.units = append(r.old, u), append(r.units, s)
		}
	}
	if err := g.log.Exclusive(ctx, r.createShadows, nil); err != nil {
		return fmt.Errorf("create shadow tables: %w", err)
	}
	if err := r.fold(ctx); err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	if !opts.Live {
		if err := g.log.Exclusive(ctx, r.createIndexes, nil); err != nil {
			return fmt.Errorf("build indexes: %w", err)
		}
	}
	if err := g.log.Exclusive(ctx, r.swap, r.swapped); err != nil {
		return fmt.Errorf("swap in rebuilt tables: %w", err)
	}
	if err := r.dropOld(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("drop the tables from before the rebuild: %w", err)
	}
	return nil
}

// dropOld frees the old tables, one table per turn: each can be hundreds of megabytes, and appends wait for a turn.
// What is left after a crash is dropped at the next start.
func (r *rebuild) dropOld(ctx context.Context) error {
	for _, u := range r.units {
		for _, table := range u.def.Tables {
			err := r.engine.log.Exclusive(ctx, func(tx eventstore.Tx) error {
				_, err := tx.Exec("DROP TABLE IF EXISTS " + droppedPrefix + table)
				return err
			}, nil)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Names lists the projections in the order of application.
func (g *Engine) Names() []string {
	var names []string
	for _, u := range g.units {
		names = append(names, u.def.Name)
	}
	return names
}

// Stale lists the read models that need a rebuild: parked, or of another version than this code.
func (g *Engine) Stale(ctx context.Context) ([]string, error) {
	var names []string
	err := g.log.Exclusive(ctx, func(eventstore.Tx) error {
		for _, u := range g.units {
			if u.state != Live {
				names = append(names, u.def.Name)
			}
		}
		return nil
	}, nil)
	return names, err
}

// UnknownError names a projection that does not exist.
type UnknownError struct {
	Name  string
	Known []string
}

func (e *UnknownError) Error() string { return fmt.Sprintf("unknown projection %q", e.Name) }
func (e *UnknownError) Code() string  { return "unknown_projection" }
func (e *UnknownError) Hint() string  { return "choose from: " + strings.Join(e.Known, ", ") }

// rebuild is one run of Rebuild. Its units write to shadow tables.
type rebuild struct {
	folding
	engine  *Engine
	opts    RebuildOptions
	old     []*unit
	indexes []string // DDL still to run
}

// fold folds until few enough events are left for the swap.
func (r *rebuild) fold(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	log, pace := r.engine.log, r.engine.pace
	t := turn{events: pace.offline, within: func(job func(eventstore.Tx) error) error { return log.Exclusive(ctx, job, nil) }}
	if r.opts.Live {
		t.events = pace.live
	}
	if r.opts.Progress != nil {
		t.after = func() {
			if head, err := log.Head(ctx); err == nil {
				r.opts.Progress(r.cursor, head.Seq)
			}
		}
	}
	return r.run(ctx, r.pages(ctx, log, math.MaxInt64, pace.page, pace.rest), t)
}

// createShadows makes an empty copy of every table under its shadow name, from the table's own DDL.
func (r *rebuild) createShadows(tx eventstore.Tx) error {
	if err := dropShadows(tx); err != nil {
		return err
	}
	for _, u := range r.units {
		for _, table := range u.def.Tables {
			ddl, indexes, err := describe(tx, table)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(renamed(ddl, table, shadowPrefix+table)); err != nil {
				return err
			}
			for _, index := range indexes {
				ddl := renamed(index.on(table, shadowPrefix+table), index.name, otherName(index.name))
				if !r.opts.Live {
					r.indexes = append(r.indexes, ddl)
				} else if _, err := tx.Exec(ddl); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// dropShadows removes the leftovers of an interrupted rebuild.
func dropShadows(tx eventstore.Tx) error {
	var tables []string
	err := tx.Query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'shadow\\_%' ESCAPE '\\'", nil, func(r eventstore.Row) error {
		tables = append(tables, r.Text(0))
		return nil
	})
	for _, table := range tables {
		if err == nil {
			_, err = tx.Exec("DROP TABLE " + table)
		}
	}
	return err
}

func (r *rebuild) createIndexes(tx eventstore.Tx) error {
	for _, ddl := range r.indexes {
		if _, err := tx.Exec(ddl); err != nil {
			return err
		}
	}
	return nil
}

// swap folds what has arrived meanwhile, replaces the old tables by the shadow tables and makes the projections live,
// all in one transaction.
func (r *rebuild) swap(tx eventstore.Tx) (err error) {
	var events []eventstore.Event
	for {
		// We hold the writer, so the log cannot grow: a reader sees all of it.
		if events, err = r.engine.log.Read(context.Background(), r.cursor, r.engine.pace.page); err != nil {
			return err
		}
		if err := r.applyStored(tx, events); err != nil {
			return err
		}
		if len(events) < r.engine.pace.page {
			break
		}
	}
	if err := r.flush(tx); err != nil {
		return err
	}
	var tables []string
	for _, u := range r.units {
		tables = append(tables, u.def.Tables...)
		_, err := tx.Exec("INSERT OR REPLACE INTO projections (name, version, kind, state, seq, context) VALUES (?, ?, ?, ?, ?, ?)",
			u.def.Name, u.def.Version, string(u.def.Kind), string(Live), r.cursor, r.config.json)
		if err != nil {
			return err
		}
	}
	return replaceTables(tx, tables, r.engine.pace.small)
}

// swapped runs after the commit of swap, before the next append: the projections go live on the new tables.
func (r *rebuild) swapped() {
	for _, u := range r.old {
		*u = *newUnit(u.def)
		u.state, u.seq, u.context = Live, r.cursor, r.config.json
		u.saved()
	}
	r.engine.config, r.engine.committed = r.config, r.config
}
