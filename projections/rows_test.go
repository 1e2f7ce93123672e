package projections_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

// purse is the row of these tests: made says when it began and is never changed.
type purse struct {
	owner string
	made  int64
	coins int64
}

// vault is a table of purses and its cache.
type vault struct {
	*projections.Table[string, purse]
	db *sqlite.DB
}

func newVault(t *testing.T, alter func(*projections.Columns[string, purse])) *vault {
	t.Helper()
	b := setup(t)
	v := &vault{db: b.DB}
	v.sql(t, "CREATE TABLE purses (owner TEXT PRIMARY KEY, made INTEGER NOT NULL, coins INTEGER NOT NULL) STRICT")
	columns := projections.Columns[string, purse]{
		Table: "purses", Names: []string{"owner", "made", "coins"}, Key: 1, Fixed: 2, Keep: 1_000,
		Lookup: "owner = ?", LookUp: func(owner string) []any { return []any{owner} },
		Scan: func(r eventstore.Row, p *purse) error {
			*p = purse{r.Text(0), r.Int(1), r.Int(2)}
			return nil
		},
		Args: func(args []any, p *purse) []any { return append(args, p.owner, p.made, p.coins) },
	}
	if alter != nil {
		alter(&columns)
	}
	v.Table = projections.NewTable(columns)
	return v
}

// counting counts the statements that go through it.
type counting struct {
	eventstore.Tx
	reads  int
	writes []string // the first word of each
}

func (c *counting) Query(query string, args []any, scan func(eventstore.Row) error) error {
	c.reads++
	return c.Tx.Query(query, args, scan)
}

func (c *counting) Exec(query string, args ...any) (int64, error) {
	verb, _, _ := strings.Cut(query, " ")
	c.writes = append(c.writes, verb)
	return c.Tx.Exec(query, args...)
}

// in runs f in a write transaction and returns what it did to the table.
func (v *vault) in(t *testing.T, f func(tx eventstore.Tx) error) *counting {
	t.Helper()
	c := &counting{}
	if err := v.db.Exclusive(t.Context(), func(tx eventstore.Tx) error { c.Tx = tx; return f(c) }, nil); err != nil {
		t.Fatal(err)
	}
	return c
}

func (v *vault) sql(t *testing.T, statement string) {
	t.Helper()
	v.in(t, func(tx eventstore.Tx) error { _, err := tx.Exec(statement); return err })
}

// put adds coins to a purse.
func (v *vault) put(tx eventstore.Tx, owner string, coins int64) error {
	p, existed, err := v.Edit(tx, owner)
	if err != nil {
		return err
	}
	if !existed {
		*p = purse{owner: owner, made: 7}
	}
	p.coins += coins
	return nil
}

// stored is what the table holds.
func (v *vault) stored(t *testing.T) map[string]int64 {
	t.Helper()
	coins := map[string]int64{}
	v.in(t, func(tx eventstore.Tx) error {
		return tx.Query("SELECT owner, coins FROM purses", nil, func(r eventstore.Row) error { coins[r.Text(0)] = r.Int(1); return nil })
	})
	return coins
}

func (v *vault) wantStored(t *testing.T, want map[string]int64) {
	t.Helper()
	if diff := cmp.Diff(want, v.stored(t)); diff != "" {
		t.Fatalf("rows (-want +got):\n%s", diff)
	}
}

func wantStatements(t *testing.T, c *counting, reads int, writes ...string) {
	t.Helper()
	if diff := cmp.Diff(writes, c.writes); c.reads != reads || diff != "" {
		t.Fatalf("%d reads, want %d; writes (-want +got):\n%s", c.reads, reads, diff)
	}
}

func TestRowIsLoadedOnFirstTouch(t *testing.T) {
	t.Parallel()
	v := newVault(t, nil)
	v.sql(t, "INSERT INTO purses VALUES ('a', 1, 5)")
	wantStatements(t, v.in(t, func(tx eventstore.Tx) error {
		for range 2 {
			if p, err := v.Get(tx, "a"); err != nil || p == nil || p.coins != 5 {
				return fmt.Errorf("a is %+v, %w", p, err)
			}
			if p, err := v.Get(tx, "b"); err != nil || p != nil {
				return fmt.Errorf("b is %+v, %w", p, err)
			}
		}
		return v.Flush(tx)
	}), 2)
	wantStatements(t, v.in(t, func(tx eventstore.Tx) error {
		if _, existed, err := v.EditNew(tx, "c"); existed || err != nil {
			return fmt.Errorf("c existed: %v, %w", existed, err)
		}
		_, existed, err := v.EditNew(tx, "a") // known already
		if !existed {
			return fmt.Errorf("a did not exist, %w", err)
		}
		return err
	}), 0)
}

func TestRowIsWrittenOncePerFlush(t *testing.T) {
	t.Parallel()
	v := newVault(t, nil)
	wantStatements(t, v.in(t, func(tx eventstore.Tx) error {
		for range 3 {
			if err := v.put(tx, "a", 1); err != nil {
				return err
			}
		}
		if err := v.put(tx, "b", 1); err != nil {
			return err
		}
		return errors.Join(v.Flush(tx), v.Flush(tx))
	}), 2, "INSERT", "INSERT")
	v.wantStored(t, map[string]int64{"a": 3, "b": 1})
	wantStatements(t, v.in(t, func(tx eventstore.Tx) error {
		if err := v.put(tx, "a", 1); err != nil {
			return err
		}
		return v.Flush(tx)
	}), 0, "UPDATE")
	v.wantStored(t, map[string]int64{"a": 4, "b": 1})
}

func TestFixedColumnsAreNeverUpdated(t *testing.T) {
	t.Parallel()
	change := func(v *vault) func(tx eventstore.Tx) error {
		return func(tx eventstore.Tx) error {
			p, _, err := v.Edit(tx, "a")
			if err != nil {
				return err
			}
			p.made, p.coins = 99, 99
			return v.Flush(tx)
		}
	}
	v := newVault(t, nil)
	v.sql(t, "INSERT INTO purses VALUES ('a', 1, 5)")
	wantStatements(t, v.in(t, change(v)), 1, "UPDATE")
	v.Forget()
	v.in(t, func(tx eventstore.Tx) error {
		if p, err := v.Get(tx, "a"); err != nil || *p != (purse{"a", 1, 99}) {
			return fmt.Errorf("row is %+v, %w", p, err)
		}
		return nil
	})

	whole := newVault(t, func(c *projections.Columns[string, purse]) { c.Fixed = 3 })
	whole.sql(t, "INSERT INTO purses VALUES ('a', 1, 5)")
	wantStatements(t, whole.in(t, change(whole)), 1)
}

func TestEmptyRowIsDeleted(t *testing.T) {
	t.Parallel()
	v := newVault(t, func(c *projections.Columns[string, purse]) { c.Empty = func(p *purse) bool { return p.coins == 0 } })
	step := func(want []string, puts ...int64) {
		t.Helper()
		c := v.in(t, func(tx eventstore.Tx) error {
			for _, coins := range puts {
				if err := v.put(tx, "a", coins); err != nil {
					return err
				}
			}
			return v.Flush(tx)
		})
		if diff := cmp.Diff(want, c.writes); diff != "" {
			t.Fatalf("writes of %v (-want +got):\n%s", puts, diff)
		}
	}
	step(nil, 5, -5)                // never there
	step([]string{"INSERT"}, 5)     //
	step([]string{"DELETE"}, -5)    //
	step(nil, 0)                    // still gone
	step([]string{"INSERT"}, 3)     // a new one, not what was
	step([]string{"UPDATE"}, -3, 4) // gone and back between two flushes
	v.wantStored(t, map[string]int64{"a": 4})
	v.Forget()
	step([]string{"DELETE"}, -4) // loaded, and gone
	v.wantStored(t, map[string]int64{})
}

func TestUndoReturnsToTheMark(t *testing.T) {
	t.Parallel()
	v := newVault(t, nil)
	v.sql(t, "INSERT INTO purses VALUES ('a', 1, 5)")
	v.in(t, func(tx eventstore.Tx) error {
		v.Mark()
		if err := v.put(tx, "b", 1); err != nil { // accepted
			return err
		}
		v.Mark()
		for _, owner := range []string{"a", "b", "c", "a", "c"} { // refused
			if err := v.put(tx, owner, 100); err != nil {
				return err
			}
		}
		v.Undo()
		v.Undo() // nothing more
		if p, err := v.Get(tx, "c"); err != nil || p != nil {
			return fmt.Errorf("c is %+v, %w", p, err)
		}
		v.Mark()
		if err := v.put(tx, "c", 7); err != nil { // accepted: as if there had never been one
			return err
		}
		return v.Flush(tx)
	})
	v.wantStored(t, map[string]int64{"a": 5, "b": 1, "c": 7})
}

func TestForgettingFollowsARollback(t *testing.T) {
	t.Parallel()
	v := newVault(t, nil)
	v.in(t, func(tx eventstore.Tx) error { return errors.Join(v.put(tx, "a", 1), v.Flush(tx)) })
	aborted := errors.New("aborted on purpose")
	err := v.db.Exclusive(t.Context(), func(tx eventstore.Tx) error {
		return errors.Join(v.put(tx, "a", 10), v.put(tx, "b", 10), v.Flush(tx), v.put(tx, "c", 10), aborted)
	}, nil)
	if !errors.Is(err, aborted) {
		t.Fatal(err)
	}
	v.Forget()
	v.in(t, func(tx eventstore.Tx) error {
		return errors.Join(v.Flush(tx), v.put(tx, "a", 1), v.put(tx, "b", 1), v.Flush(tx))
	})
	v.wantStored(t, map[string]int64{"a": 2, "b": 1})
}

func TestTrimBoundsWhatIsHeld(t *testing.T) {
	t.Parallel()
	const keep, rows = 10, 100
	v := newVault(t, func(c *projections.Columns[string, purse]) { c.Keep = keep })
	touch := func(tx eventstore.Tx, owners int) (err error) {
		for i := range owners {
			err = errors.Join(err, v.put(tx, fmt.Sprint("owner ", i), 1))
		}
		return err
	}
	v.in(t, func(tx eventstore.Tx) error { return touch(tx, rows) })
	v.Trim() // what is not written stays
	wantStatements(t, v.in(t, func(tx eventstore.Tx) error { return touch(tx, rows) }), 0)
	if c := v.in(t, v.Flush); len(c.writes) != rows {
		t.Fatalf("%d rows were written of %d", len(c.writes), rows)
	}
	v.Trim()
	if c := v.in(t, func(tx eventstore.Tx) error { return errors.Join(touch(tx, rows), v.Flush(tx)) }); c.reads < rows-keep {
		t.Errorf("%d rows had to be loaded again, want %d or more: too many were held", c.reads, rows-keep)
	}
	for owner, coins := range v.stored(t) {
		if coins != 3 {
			t.Errorf("%s has %d coins, want 3", owner, coins)
		}
	}
}

func TestTrimDropsWhatIsIdleFirst(t *testing.T) {
	t.Parallel()
	v := newVault(t, func(c *projections.Columns[string, purse]) { c.Keep = 16 })
	get := func(tx eventstore.Tx, from, to int) (err error) {
		for i := from; i < to; i++ {
			_, e := v.Get(tx, fmt.Sprint(i))
			err = errors.Join(err, e)
		}
		return err
	}
	v.in(t, func(tx eventstore.Tx) error { return get(tx, 0, 16) })
	for range 20 {
		v.in(t, func(tx eventstore.Tx) error { return get(tx, 0, 7) })
		v.Trim()
	}
	v.in(t, func(tx eventstore.Tx) error { return get(tx, 16, 17) }) // one too many
	v.Trim()
	if c := v.in(t, func(tx eventstore.Tx) error { return get(tx, 0, 7) }); c.reads != 0 {
		t.Errorf("%d rows in use were dropped while idle ones were held", c.reads)
	}
}

func TestInsertsAreWrittenInOrder(t *testing.T) {
	t.Parallel()
	v := newVault(t, nil)
	in := projections.NewInserts("purses", "owner", "made", "coins")
	in.Add("a", 1, 1)
	in.Mark()
	in.Add("b", 1, 2)
	in.Undo()
	in.Mark()
	in.Add("c", 1, 3)
	wantStatements(t, v.in(t, func(tx eventstore.Tx) error { return errors.Join(in.Flush(tx), in.Flush(tx)) }), 0, "INSERT", "INSERT")
	in.Trim()
	in.Add("d", 1, 4)
	in.Forget()
	wantStatements(t, v.in(t, in.Flush), 0)
	v.wantStored(t, map[string]int64{"a": 1, "c": 3})
}
