package projections_test

import (
	"errors"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// counter is a projector that counts events by type, and fails as it is told to. It stands for any projector in tests of the engine.
type counter struct {
	name    string
	version string
	kind    projections.Kind
	weight  int64                                              // what an event counts; 0 means 1
	apply   func(tx eventstore.Tx, e *projections.Event) error // may be nil, and may panic
}

const countsTable = " (id INTEGER PRIMARY KEY, type TEXT NOT NULL UNIQUE, n INTEGER NOT NULL CHECK (n < 1000000)) STRICT"

func (c counter) definition() projections.Definition {
	return projections.Definition{
		Name: c.name, Version: c.version, Kind: c.kind, Tables: []string{c.name + "_counts"},
		New: func(name func(string) string) projections.Projector {
			return &counterFold{counter: c, counts: newCounts(name(c.name + "_counts"))}
		},
	}
}

type counterFold struct {
	counter
	counts *projections.Table[string, count]
}

type count struct {
	id, n int64
	typ   string
}

func newCounts(table string) *projections.Table[string, count] {
	return projections.NewTable(projections.Columns[string, count]{
		Table: table, Names: []string{"id", "type", "n"}, Key: 1, Fixed: 2, Keep: 4,
		Lookup: "type = ?", LookUp: func(typ string) []any { return []any{typ} },
		Scan: func(r eventstore.Row, c *count) error {
			*c = count{id: r.Int(0), typ: r.Text(1), n: r.Int(2)}
			return nil
		},
		Args: func(args []any, c *count) []any { return append(args, c.id, c.typ, c.n) },
	})
}

func (p *counterFold) Rows() []projections.Rows { return []projections.Rows{p.counts} }

func (p *counterFold) Apply(tx eventstore.Tx, e *projections.Event) error {
	row, existed, err := p.counts.Edit(tx, e.Type)
	if err != nil {
		return err
	}
	if !existed {
		*row = count{id: e.Seq, typ: e.Type}
	}
	row.n += max(p.weight, 1)
	if e.Type == "too much" {
		row.n = 1_000_000 // the table refuses it when it is flushed
	}
	if p.apply == nil {
		return nil
	}
	return p.apply(tx, e)
}

// setupCounters opens a log with the program's projections and counters after them.
func setupCounters(t testing.TB, counters ...counter) *bundle {
	t.Helper()
	b := setup(t)
	for _, c := range counters {
		b.run(t, "CREATE TABLE "+c.name+"_counts"+countsTable)
	}
	b.reopen(t, withCounters(counters...)...)
	return b
}

func withCounters(counters ...counter) []projections.Definition {
	defs := definitions()
	for _, c := range counters {
		defs = append(defs, c.definition())
	}
	return defs
}

// run executes a statement as maintenance would.
func (b *bundle) run(t testing.TB, statement string) {
	t.Helper()
	if err := b.Exclusive(t.Context(), func(tx eventstore.Tx) error { _, err := tx.Exec(statement); return err }, nil); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// counts is what the table of a counter holds.
func (b *bundle) counts(t testing.TB, name string) map[string]int64 {
	t.Helper()
	counts := map[string]int64{}
	err := b.Exclusive(t.Context(), func(tx eventstore.Tx) error {
		return tx.Query("SELECT type, n FROM "+name+"_counts", nil, func(r eventstore.Row) error { counts[r.Text(0)] = r.Int(1); return nil })
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

var errOnPurpose = errors.New("failed on purpose")

// failsAt fails at events of type "bad" in the given way.
func failsAt(how func(tx eventstore.Tx) error) func(eventstore.Tx, *projections.Event) error {
	return func(tx eventstore.Tx, e *projections.Event) error {
		if e.Type == "bad" {
			return how(tx)
		}
		return nil
	}
}

// ways in which a fold can fail.
var ways = []struct {
	name string
	how  func(tx eventstore.Tx) error
}{
	{"error", func(eventstore.Tx) error { return errOnPurpose }},
	{"panic", func(eventstore.Tx) error { panic("on purpose") }},
	{"panic at nil", func(eventstore.Tx) error { var e *projections.Event; e.Record.Time = 0; return nil }},
	{"wrong SQL", func(tx eventstore.Tx) error { return tx.Query("SELECT nonsense", nil, nil) }},
	{"error while rows are read", func(tx eventstore.Tx) error {
		return tx.Query("SELECT 1", nil, func(eventstore.Row) error { return errOnPurpose })
	}},
}
