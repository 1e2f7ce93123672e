package compare_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/compare"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// values are hard to keep apart, or to put in order.
var values = []any{
	nil, int64(0), int64(1), int64(-7), int64(math.MaxInt64), int64(math.MinInt64), int64(1<<53 + 1), 0.5, -0.25, float64(1 << 53), 1e300, math.Inf(1), math.Inf(-1),
	"", "1", "배포", "a\nb", "NULL", "x31", []byte{}, []byte("1"), []byte{0, 0xff}, []byte("배포"),
}

// keys are all unequal to SQLite, in its order.
var keys = []any{
	math.Inf(-1), int64(math.MinInt64), int64(-7), -0.25, int64(0), 0.5, int64(1), float64(1 << 53), int64(1<<53 + 1), int64(math.MaxInt64), float64(1 << 63), 1e300, math.Inf(1),
	"", "1", "a", "배포", []byte{}, []byte{0, 0xff}, []byte("1"), []byte("배포"),
}

// content is the rows of a table by their key as text, each in the order of the columns that Change lists: key, then the others.
type content map[string][]any

// shape is how the test knows a table.
type shape struct {
	projection, name string
	columns          []string // those of the key first
	keys             int
	draw             func(t *rapid.T) []any
}

func drawn(name string, from []any) func(*rapid.T) any {
	return func(t *rapid.T) any { return rapid.SampledFrom(from).Draw(t, name) }
}

func shapes() []shape {
	key, value := drawn("key", keys), drawn("value", values)
	reals := drawn("real", []any{nil, 0.0, 1.0, 0.5, 1e300, math.Inf(1)})
	texts := drawn("text", []any{nil, "", "1", "배포", "NULL"})
	ids := func(t *rapid.T) any { return rapid.Int64Range(-3, 12).Draw(t, "id") }
	return []shape{
		{"one", "plain", []string{"id", "a", "order", "size"}, 1, func(t *rapid.T) []any { return []any{ids(t), value(t), texts(t), reals(t)} }},
		{"one", "paired", []string{"first", "second", "value"}, 2, func(t *rapid.T) []any { return []any{key(t), key(t), value(t)} }},
		{"other", "named", []string{"name"}, 1, func(t *rapid.T) []any {
			return []any{rapid.SampledFrom([]string{"", "가", "a", "b", "c"}).Draw(t, "name")}
		}},
		{"other", "hashed", []string{"hash", "n"}, 1, func(t *rapid.T) []any {
			return []any{rapid.SliceOfN(rapid.Byte(), 0, 2).Draw(t, "hash"), rapid.SampledFrom([]any{nil, int64(0), int64(5)}).Draw(t, "n")}
		}},
	}
}

// Random rows are edited at random: what is told is what was edited, and nothing else.
func TestTablesTellsExactlyTheEdits(t *testing.T) {
	t.Parallel()
	before, after := file(t), file(t)
	rapid.Check(t, func(rt *rapid.T) {
		wantCounts, wantChanges := []compare.Count{}, []compare.Change{}
		for _, s := range shapes() {
			old, now := s.drawPair(rt)
			update(t, before, func(tx eventstore.Tx) error { return s.fill(tx, old) })
			update(t, after, func(tx eventstore.Tx) error { return s.fill(tx, now) })
			changes := s.changes(old, now)
			wantChanges = append(wantChanges, changes...)
			wantCounts = append(wantCounts, s.count(changes, len(now)))
		}
		counts, changes := differences(t, before, after, defs)
		if diff := cmp.Diff(wantCounts, counts); diff != "" {
			rt.Fatalf("counts (-edited +told):\n%s", diff)
		}
		anyOrder := cmpopts.SortSlices(func(a, b compare.Change) bool {
			return fmt.Sprintf("%s%#v", a.Table, a.Key) < fmt.Sprintf("%s%#v", b.Table, b.Key)
		})
		if diff := cmp.Diff(wantChanges, changes, anyOrder); diff != "" {
			rt.Fatalf("changes (-edited +told):\n%s", diff)
		}
		if _, changes := differences(t, after, after, defs); len(changes) > 0 {
			rt.Fatalf("a file differs from itself: %v", changes)
		}
	})
}

// drawPair draws a table before and after edits.
func (s *shape) drawPair(t *rapid.T) (old, now content) {
	old = content{}
	for range rapid.IntRange(0, 12).Draw(t, "rows of "+s.name) {
		row := s.draw(t)
		old[s.id(row)] = row
	}
	now = maps.Clone(old)
	for range rapid.IntRange(0, 8).Draw(t, "edits of "+s.name) {
		row := s.draw(t)
		if rapid.Bool().Draw(t, "delete") {
			delete(now, s.id(row))
		} else {
			now[s.id(row)] = row
		}
	}
	return old, now
}

func (s *shape) id(row []any) string { return fmt.Sprintf("%#v", row[:s.keys]) }

func (s *shape) fill(tx eventstore.Tx, rows content) error {
	if _, err := tx.Exec("DELETE FROM " + s.name); err != nil {
		return err
	}
	insert := fmt.Sprintf(`INSERT INTO %s ("%s") VALUES (?%s)`, s.name, strings.Join(s.columns, `", "`), strings.Repeat(", ?", len(s.columns)-1))
	for _, row := range rows {
		if _, err := tx.Exec(insert, row...); err != nil {
			return fmt.Errorf("%v: %w", row, err)
		}
	}
	return nil
}

func (s *shape) changes(old, now content) (list []compare.Change) {
	for id, row := range now {
		c := compare.Change{Projection: s.projection, Table: s.name, Kind: compare.Changed, Key: s.key(row), Columns: []compare.Column{}}
		was, there := old[id]
		if !there {
			c.Kind, was = compare.Added, make([]any, len(row))
		}
		for i, name := range s.columns {
			if i >= s.keys && (!there || fmt.Sprintf("%#v", was[i]) != fmt.Sprintf("%#v", row[i])) {
				c.Columns = append(c.Columns, compare.Column{Name: name, Before: compare.Shown(was[i]), After: compare.Shown(row[i])})
			}
		}
		if !there || len(c.Columns) > 0 {
			list = append(list, c)
		}
	}
	for id, row := range old {
		if _, there := now[id]; !there {
			c := compare.Change{Projection: s.projection, Table: s.name, Kind: compare.Removed, Key: s.key(row), Columns: []compare.Column{}}
			for i, name := range s.columns[s.keys:] {
				c.Columns = append(c.Columns, compare.Column{Name: name, Before: compare.Shown(row[s.keys+i])})
			}
			list = append(list, c)
		}
	}
	return list
}

func (s *shape) key(row []any) (list []compare.Column) {
	for i, name := range s.columns[:s.keys] {
		list = append(list, compare.Column{Name: name, Before: compare.Shown(row[i]), After: compare.Shown(row[i])})
	}
	return list
}

func (s *shape) count(changes []compare.Change, rows int) compare.Count {
	c := compare.Count{Projection: s.projection, Table: s.name, Rows: int64(rows)}
	for _, change := range changes {
		switch change.Kind {
		case compare.Added:
			c.Added++
		case compare.Removed:
			c.Removed++
		case compare.Changed:
			c.Changed++
		}
	}
	return c
}

// The walk has to see two files in one order, which is SQLite's, whatever is in the key.
func TestTablesGoesInTheOrderOfTheKey(t *testing.T) {
	t.Parallel()
	before, after := file(t), file(t)
	for i, key := range slices.Backward(keys) {
		exec(t, after, "INSERT INTO paired (first, second) VALUES (?, 0)", key)
		if i%2 == 0 { // so that each key stands against one that only the other file has
			exec(t, before, "INSERT INTO paired (first, second) VALUES (?, 0)", key)
		}
	}
	want, got := []any{}, []any{}
	for i, key := range keys {
		if i%2 != 0 {
			want = append(want, compare.Shown(key))
		}
	}
	counts, changes := differences(t, before, after, defs)
	for _, c := range changes {
		got = append(got, c.Key[0].After)
	}
	if diff := cmp.Diff(want, got); diff != "" || counts[1].Rows != int64(len(keys)) {
		t.Errorf("keys of %v (-want +told):\n%s", counts[1], diff)
	}
}

// Rows are read as they lie: nothing is sorted, or a table would be held in memory.
func TestTablesSortsNothing(t *testing.T) {
	t.Parallel()
	db := file(t)
	for _, query := range []string{`SELECT "id", "a" FROM "plain" ORDER BY "id" COLLATE BINARY`,
		`SELECT "value" FROM "paired" ORDER BY "first" COLLATE BINARY, "second" COLLATE BINARY`, `SELECT "name" FROM "named" ORDER BY "name" COLLATE BINARY`,
		`SELECT "n" FROM "hashed" ORDER BY "hash" COLLATE BINARY`} {
		if plan := projectiontest.Plan(t, db, query); strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s is sorted first:\n%s", query, plan)
		}
	}
}

// A newer schema has tables and columns more: the older file has no rows in them, and NULL.
func TestTablesTakesWhatOneFileHasNotForEmpty(t *testing.T) {
	t.Parallel()
	grown := []projections.Definition{{Name: "p", Tables: []string{"grown", "fresh"}}}
	before, after := file(t, "CREATE TABLE grown (gone TEXT, id INTEGER PRIMARY KEY, n INTEGER)"), file(t, "CREATE TABLE grown (id INTEGER PRIMARY KEY, fresh TEXT, n INTEGER)")
	exec(t, before, "INSERT INTO grown (id, n) VALUES (1, 1), (2, 2)")
	exec(t, after, "INSERT INTO grown (id, n, fresh) VALUES (1, 1, NULL), (2, 2, '새')")
	exec(t, after, "CREATE TABLE fresh (id INTEGER PRIMARY KEY, n INTEGER)")
	exec(t, after, "INSERT INTO fresh (id, n) VALUES (1, NULL)")
	_, changes := differences(t, before, after, grown)
	want := []compare.Change{{Projection: "p", Table: "grown", Kind: compare.Changed, Key: []compare.Column{{Name: "id", Before: int64(2), After: int64(2)}},
		Columns: []compare.Column{{Name: "fresh", After: "새"}}}, {Projection: "p", Table: "fresh", Kind: compare.Added,
		Key: []compare.Column{{Name: "id", Before: int64(1), After: int64(1)}}, Columns: []compare.Column{{Name: "n"}}}}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if _, changes := differences(t, after, before, grown); len(changes) != 2 || changes[1].Kind != compare.Removed {
		t.Errorf("the other way round it is %v, want a row changed and one removed", changes)
	}
}

func TestTablesRefusesWhatCannotBeCompared(t *testing.T) {
	t.Parallel()
	before, after := file(t, "CREATE TABLE keyed (a INTEGER PRIMARY KEY, b INTEGER)"), file(t, "CREATE TABLE keyed (a INTEGER, b INTEGER PRIMARY KEY)")
	for _, test := range []struct{ table, says string }{
		{"keyed", "its primary key is (a) before and (b) after"},
		{"nowhere", "neither file has it"},
	} {
		_, err := compare.Tables(t.Context(), before, after, []projections.Definition{{Name: "p", Tables: []string{test.table}}}, nil)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("table %s: %v, want an error that says %q", test.table, err, test.says)
		}
	}
}

func TestTablesEndsWhenNoOneWantsMore(t *testing.T) {
	t.Parallel()
	before, after := file(t), file(t)
	exec(t, after, "INSERT INTO named (name) VALUES ('a'), ('b')")
	enough, told := errors.New("enough"), 0
	_, err := compare.Tables(t.Context(), before, after, defs, func(compare.Change) error {
		told++
		return enough
	})
	if !errors.Is(err, enough) || told != 1 {
		t.Errorf("told %d, %v; want one, and the error", told, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = compare.Tables(ctx, before, stopping{after, cancel}, defs, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}

// stopping cancels when it is looked at.
type stopping struct {
	compare.Viewer
	cancel func()
}

func (s stopping) View(ctx context.Context, read func(*sql.Tx) error) error {
	return s.Viewer.View(ctx, func(tx *sql.Tx) error {
		s.cancel()
		return read(tx)
	})
}
