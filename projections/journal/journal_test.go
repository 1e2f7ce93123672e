package journal_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/compare"
	"github.com/pronto-lab/openclawd/projections/journal"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

var tables = []string{
	`CREATE TABLE plain (a ANY, id INTEGER PRIMARY KEY, "order" TEXT UNIQUE, size REAL, UNIQUE (a, size)) STRICT`,
	`CREATE TABLE paired (value ANY, second ANY NOT NULL, first ANY NOT NULL, PRIMARY KEY (first, second)) STRICT, WITHOUT ROWID`,
	`CREATE TABLE named (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID`,
	`CREATE TABLE loose (n NUMERIC, word VARCHAR, raw, name TEXT PRIMARY KEY NOT NULL)`, // which converts what it is given
}

var defs = []projections.Definition{{Name: "one", Tables: []string{"plain", "paired"}}, {Name: "other", Tables: []string{"named", "loose"}}}

var values = []any{nil, int64(0), int64(1), int64(math.MaxInt64), 0.0, 1.0, 0.5, 1e300, math.Inf(-1), "", "1", "1.0", "배포", []byte{}, []byte("1"), []byte{0, 0xff}}

// statement is one of those with which folds and others write.
type statement struct {
	query string
	args  []any
}

func statements() *rapid.Generator[statement] {
	conflicts := []string{"OR REPLACE ", "OR REPLACE ", "OR IGNORE "}
	return rapid.Custom(func(t *rapid.T) statement {
		value := func() any { return rapid.SampledFrom(values).Draw(t, "value") }
		id := func() any { return rapid.Int64Range(-1, 5).Draw(t, "id") }
		key := func() any { return rapid.SampledFrom([]any{int64(1), 1.5, "1", []byte("1")}).Draw(t, "key") }
		text := func() any { return rapid.SampledFrom([]any{nil, "", "a", "가"}).Draw(t, "text") }
		name := func() any { return rapid.SampledFrom([]any{"", "a", "가", "1"}).Draw(t, "name") }
		real := func() any { return rapid.SampledFrom([]any{nil, 0.0, 0.5, math.Inf(1)}).Draw(t, "real") }
		or := rapid.SampledFrom(conflicts).Draw(t, "on conflict")
		switch rapid.IntRange(0, 12).Draw(t, "statement") {
		case 0:
			return statement{"INSERT " + or + `INTO plain (id, a, "order", size) VALUES (?, ?, ?, ?), (?, ?, ?, ?)`,
				[]any{id(), value(), text(), real(), id(), value(), text(), real()}}
		case 1:
			return statement{"INSERT " + or + `INTO plain (a, "order", size) VALUES (?, ?, ?)`, []any{value(), text(), real()}}
		case 2:
			return statement{`INSERT INTO plain (id, size) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET size = excluded.size, a = ?`, []any{id(), real(), nil}}
		case 3:
			return statement{"UPDATE " + or + `plain SET id = ?, "order" = ? WHERE id = ?`, []any{id(), text(), id()}}
		case 4:
			return statement{"UPDATE " + or + "plain SET a = ?, size = ? WHERE id >= ?", []any{value(), real(), id()}}
		case 5:
			return statement{"DELETE FROM plain WHERE id > ?", []any{id()}}
		case 6:
			return statement{"INSERT INTO paired (first, second, value) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", []any{key(), key(), value()}}
		case 7:
			return statement{"UPDATE " + or + "paired SET first = ?, value = ? WHERE second = ?", []any{key(), value(), key()}}
		case 8:
			return statement{"DELETE FROM paired WHERE first = ?", []any{key()}}
		case 9:
			return statement{"REPLACE INTO named (name) VALUES (?)", []any{name()}}
		case 10:
			return statement{"DELETE FROM named WHERE name <= ?", []any{name()}}
		case 11:
			return statement{"INSERT " + or + "INTO loose (name, n, word, raw) VALUES (?, ?, ?, ?)", []any{name(), value(), value(), value()}}
		default:
			return statement{"UPDATE OR REPLACE loose SET name = name || ?, n = ? WHERE name < ?", []any{name(), value(), name()}}
		}
	})
}

func write(tx eventstore.Tx, list []statement) error {
	for _, s := range list {
		if _, err := tx.Exec(s.query, s.args...); err != nil {
			return fmt.Errorf("%s %v: %w", s.query, s.args, err)
		}
	}
	return nil
}

// Whatever is written, in whatever way: a step tells the difference that it has made, and undoing it makes none.
func TestStepsAreToldAndTakenBack(t *testing.T) {
	t.Parallel()
	for _, recursive := range []string{"ON", "OFF"} { // which decides whether rows that REPLACE pushes out are deleted for triggers to see
		t.Run("recursive triggers "+recursive, func(t *testing.T) {
			t.Parallel()
			watched, late := openFile(t), openFile(t) // the second has no journal, and is a step behind
			for _, f := range []*file{watched, late} {
				for _, ddl := range tables {
					exec(t, f, ddl)
				}
				exec(t, f, "PRAGMA recursive_triggers = "+recursive)
			}
			update(t, watched, func(tx eventstore.Tx) error { return journal.Install(tx, defs) })
			rapid.Check(t, func(rt *rapid.T) {
				steps := rapid.SliceOfN(rapid.SliceOfN(statements(), 0, 6), 1, 6).Draw(rt, "steps")
				first := rapid.SliceOfN(statements(), 0, 12).Draw(rt, "rows")
				update(t, watched, func(tx eventstore.Tx) error { return journal.Forget(tx, math.MaxInt64) }) // of a check that has failed
				for _, f := range []*file{watched, late} {
					update(t, f, func(tx eventstore.Tx) error {
						if err := write(tx, []statement{{"DELETE FROM plain", nil}, {"DELETE FROM paired", nil}, {"DELETE FROM named", nil}, {"DELETE FROM loose", nil}}); err != nil {
							return err
						}
						return write(tx, first)
					})
				}
				dump := func() string { return strings.Join(projectiontest.Dump(t, watched, defs...), "\n") }
				states, told := []string{dump()}, [][]compare.Change{}
				for i, step := range steps {
					seq := int64(10 + i)
					update(t, watched, func(tx eventstore.Tx) error {
						if err := journal.Begin(tx, seq); err != nil {
							return err
						}
						return write(tx, step)
					})
					states, told = append(states, dump()), append(told, changes(t, watched, seq))
					if diff := cmp.Diff(differences(t, late, watched, defs), told[i]); diff != "" {
						rt.Fatalf("changes of step %d (-made +told):\n%s", seq, diff)
					}
					update(t, late, func(tx eventstore.Tx) error { return write(tx, step) })
				}
				for i := range steps {
					if diff := cmp.Diff(told[i], changes(t, watched, int64(10+i))); diff != "" {
						rt.Fatalf("changes of step %d, told later (-then +now):\n%s", 10+i, diff)
					}
				}
				for i := len(steps) - 1; i >= 0; i-- {
					update(t, watched, func(tx eventstore.Tx) error { return journal.Undo(tx, int64(10+i)) })
					if diff := cmp.Diff(states[i], dump()); diff != "" {
						rt.Fatalf("step %d undone (-before it +now):\n%s", 10+i, diff)
					}
				}
			})
		})
	}
}

// watchedFile is a file with a journal, and the rows a and b.
func watchedFile(t *testing.T) *file {
	t.Helper()
	f := openFile(t)
	for _, ddl := range tables {
		exec(t, f, ddl)
	}
	exec(t, f, "INSERT INTO named (name) VALUES ('a'), ('b')")
	update(t, f, func(tx eventstore.Tx) error { return journal.Install(tx, defs) })
	return f
}

// step deletes a name as a step of its own.
func step(t *testing.T, f *file, seq int64, name string) {
	t.Helper()
	update(t, f, func(tx eventstore.Tx) error {
		if err := journal.Begin(tx, seq); err != nil {
			return err
		}
		_, err := tx.Exec("DELETE FROM named WHERE name = ?", name)
		return err
	})
}

// Steps are undone from the newest on; any other order would put back what was never there together.
func TestOnlyTheNewestStepIsUndone(t *testing.T) {
	t.Parallel()
	f := watchedFile(t)
	step(t, f, 3, "a")
	step(t, f, 7, "b")
	for _, test := range []struct {
		what string
		do   func(eventstore.Tx) error
	}{
		{"undo 3", func(tx eventstore.Tx) error { return journal.Undo(tx, 3) }},
		{"undo 8", func(tx eventstore.Tx) error { return journal.Undo(tx, 8) }},
		{"begin 7", func(tx eventstore.Tx) error { return journal.Begin(tx, 7) }},
		{"begin 5", func(tx eventstore.Tx) error { return journal.Begin(tx, 5) }},
	} {
		if err := f.Update(t.Context(), test.do); err == nil {
			t.Errorf("%s is done, want an error", test.what)
		}
	}
	update(t, f, func(tx eventstore.Tx) error { return journal.Undo(tx, 7) })
	update(t, f, func(tx eventstore.Tx) error { return journal.Begin(tx, 5) })
}

func TestWhatIsForgottenIsNeitherToldNorUndone(t *testing.T) {
	t.Parallel()
	f := watchedFile(t)
	step(t, f, 1, "a")
	step(t, f, 2, "b")
	update(t, f, func(tx eventstore.Tx) error { return journal.Forget(tx, 1) })
	if told := changes(t, f, 1); len(told) > 0 {
		t.Errorf("step 1 tells %v, want nothing", told)
	}
	if told := changes(t, f, 2); len(told) != 1 {
		t.Errorf("step 2 tells %v, want one row", told)
	}
	update(t, f, func(tx eventstore.Tx) error { return journal.Undo(tx, 2) })
	if err := f.Update(t.Context(), func(tx eventstore.Tx) error { return journal.Undo(tx, 1) }); err == nil {
		t.Error("step 1 is undone, want an error")
	}
}

// Between Forget, or Undo, and the next Begin rows may be changed in any number: none is noted.
func TestNothingIsNotedWhileNoStepIsOpen(t *testing.T) {
	t.Parallel()
	f := watchedFile(t)
	exec(t, f, "DELETE FROM named WHERE name = 'a'")
	step(t, f, 1, "b")
	update(t, f, func(tx eventstore.Tx) error { return journal.Forget(tx, 1) })
	exec(t, f, "INSERT INTO named (name) VALUES ('a'), ('c')")
	step(t, f, 2, "c")
	update(t, f, func(tx eventstore.Tx) error { return journal.Undo(tx, 2) })
	exec(t, f, "INSERT INTO named (name) VALUES ('d')")
	notes := int64(-1)
	update(t, f, func(tx eventstore.Tx) error {
		return tx.Query("SELECT count(*) FROM journal", nil, func(r eventstore.Row) error {
			notes = r.Int(0)
			return nil
		})
	})
	if notes != 0 {
		t.Errorf("%d notes are left, want none", notes)
	}
}

// Where a fold stands goes back with its tables, and is no change that people are told of.
func TestCheckpointsGoBackSilently(t *testing.T) {
	t.Parallel()
	f := watchedFile(t)
	exec(t, f, "INSERT INTO projections (name, version, kind, state, seq, context) VALUES ('one', '1', 'decision', 'live', 4, '{}')")
	before := projectiontest.Dump(t, f, defs...)
	update(t, f, func(tx eventstore.Tx) error {
		if err := journal.Begin(tx, 5); err != nil {
			return err
		}
		_, err := tx.Exec("UPDATE projections SET seq = 5, context = '[]'")
		return err
	})
	if told := changes(t, f, 5); len(told) > 0 {
		t.Errorf("told %v, want nothing", told)
	}
	update(t, f, func(tx eventstore.Tx) error { return journal.Undo(tx, 5) })
	if diff := cmp.Diff(before, projectiontest.Dump(t, f, defs...)); diff != "" {
		t.Errorf("undone (-before +after):\n%s", diff)
	}
}

func TestInstallRefusesWhatItCannotWatch(t *testing.T) {
	t.Parallel()
	f := openFile(t)
	exec(t, f, "CREATE TABLE computed (a TEXT, b INTEGER PRIMARY KEY)")
	exec(t, f, "CREATE UNIQUE INDEX computed_by_lower ON computed (lower(a))")
	for _, test := range []struct{ table, says string }{{"computed", "on an expression"}, {"nowhere", "no such table"}} {
		err := f.Update(t.Context(), func(tx eventstore.Tx) error {
			return journal.Install(tx, []projections.Definition{{Name: "p", Tables: []string{test.table}}})
		})
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("table %s: %v, want an error that says %q", test.table, err, test.says)
		}
	}
}

// A row that another one pushes out is noted, though nothing says that it is deleted.
func TestRowsThatArePushedOutComeBack(t *testing.T) {
	t.Parallel()
	f := openFile(t)
	for _, query := range append(tables, "PRAGMA recursive_triggers = OFF",
		`INSERT INTO plain (id, a, "order", size) VALUES (1, 'one', 'first', 1), (2, 'two', 'second', NULL), (3, 'three', NULL, 3)`) {
		exec(t, f, query)
	}
	update(t, f, func(tx eventstore.Tx) error { return journal.Install(tx, defs) })
	before := projectiontest.Dump(t, f, defs...)
	for i, test := range []struct {
		query string
		rows  int // that change
	}{
		{`REPLACE INTO plain (id, "order") VALUES (9, 'first')`, 2},
		{`REPLACE INTO plain (id, a, "order", size) VALUES (2, 'three', 'first', 3)`, 3},
		{`UPDATE OR REPLACE plain SET "order" = 'first' WHERE id = 3`, 2}, // which was NULL
		{`UPDATE OR REPLACE plain SET id = 1 WHERE id = 2`, 2},
		{`UPDATE OR REPLACE plain SET id = 7, a = 'one', size = 1 WHERE id = 3`, 3},
	} {
		seq := int64(i + 1)
		update(t, f, func(tx eventstore.Tx) error {
			if err := journal.Begin(tx, seq); err != nil {
				return err
			}
			_, err := tx.Exec(test.query)
			return err
		})
		if told := changes(t, f, seq); len(told) != test.rows {
			t.Errorf("%s: told %v, want %d rows", test.query, told, test.rows)
		}
		update(t, f, func(tx eventstore.Tx) error { return journal.Undo(tx, seq) })
		if diff := cmp.Diff(before, projectiontest.Dump(t, f, defs...)); diff != "" {
			t.Errorf("%s, undone (-before +after):\n%s", test.query, diff)
		}
	}
}
