package projections

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Rows is the engine's interface to a cache of rows.
type Rows interface {
	// Mark makes the current state the one that Undo returns to.
	Mark()
	Undo()
	// Flush writes every changed row once.
	Flush(tx eventstore.Tx) error
	// Forget drops everything, including unwritten changes.
	Forget()
	// Trim drops written rows until few enough are held.
	Trim()
}

// Columns describes a table to its cache. A copy of an R must be independent of the original as far as Undo needs it:
// decision tables use plain structs.
type Columns[K comparable, R any] struct {
	Table string
	// Names lists the columns in the order of Args and Scan: first the row's identity, which never changes.
	Names []string
	Key   int // number of leading columns that identify the row in UPDATE
	Fixed int // number of leading columns that never change once written, at least Key
	// Lookup is the condition that finds a row by K, e.g. "name = ?".
	Lookup string
	LookUp func(k K) []any
	Scan   func(row eventstore.Row, r *R) error
	Args   func(args []any, r *R) []any
	// Empty reports that a row has no content any more: it is deleted instead of written. May be nil.
	Empty func(r *R) bool
	Keep  int // rows held between batches
}

// Table is a write-behind cache of one table: a row is loaded on first touch, changed in memory, and written once per flush.
type Table[K comparable, R any] struct {
	cols    Columns[K, R]
	load    string
	insert  string
	update  string
	remove  string
	rows    map[K]*entry[R]
	changed []*entry[R]
	undo    []undoStep[R]
	marked  bool
	round   int // see Trim
	args    []any
}

type entry[R any] struct {
	row     R
	exists  bool // in memory
	stored  bool // in the table
	changed bool
	round   int // when it was last touched
}

type undoStep[R any] struct {
	entry  *entry[R]
	row    R
	exists bool
}

// NewTable returns an empty cache.
func NewTable[K comparable, R any](cols Columns[K, R]) *Table[K, R] {
	names := strings.Join(cols.Names, ", ")
	var set, where []string
	// Plain question marks: the driver looks up numbered ones by name at every call.
	for i, n := range cols.Names {
		switch {
		case i < cols.Key:
			where = append(where, n+" = ?")
		case i >= cols.Fixed:
			set = append(set, n+" = ?")
		}
	}
	t := &Table[K, R]{
		cols:   cols,
		load:   fmt.Sprintf("SELECT %s FROM %s WHERE %s", names, cols.Table, cols.Lookup),
		insert: fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)", cols.Table, names, strings.Repeat(", ?", len(cols.Names)-1)),
		rows:   map[K]*entry[R]{},
	}
	if cols.Empty != nil {
		t.remove = fmt.Sprintf("DELETE FROM %s WHERE %s", cols.Table, strings.Join(where, " AND "))
	}
	if len(set) > 0 {
		t.update = fmt.Sprintf("UPDATE %s SET %s WHERE %s", cols.Table, strings.Join(set, ", "), strings.Join(where, " AND "))
	}
	return t
}

// Get returns a row for reading, or nil if there is none.
func (t *Table[K, R]) Get(tx eventstore.Tx, k K) (*R, error) {
	e, err := t.entry(tx, k)
	if err != nil || !e.exists {
		return nil, err
	}
	return &e.row, nil
}

// Edit returns a row for changing and whether it existed before. A new row is the zero R.
func (t *Table[K, R]) Edit(tx eventstore.Tx, k K) (row *R, existed bool, err error) {
	e, err := t.entry(tx, k)
	if err != nil {
		return nil, false, err
	}
	existed = e.exists
	if t.marked {
		t.undo = append(t.undo, undoStep[R]{entry: e, row: e.row, exists: e.exists})
	}
	e.exists = true
	if !e.changed {
		e.changed = true
		t.changed = append(t.changed, e)
	}
	return &e.row, existed, nil
}

// EditNew is Edit for a row that is known not to be in the table: it is not looked up.
func (t *Table[K, R]) EditNew(tx eventstore.Tx, k K) (row *R, existed bool, err error) {
	if _, ok := t.rows[k]; !ok {
		t.rows[k] = &entry[R]{round: t.round}
	}
	return t.Edit(tx, k)
}

func (t *Table[K, R]) entry(tx eventstore.Tx, k K) (*entry[R], error) {
	if e, ok := t.rows[k]; ok {
		e.round = t.round
		return e, nil
	}
	e := &entry[R]{round: t.round}
	err := tx.Query(t.load, t.cols.LookUp(k), func(row eventstore.Row) error {
		e.exists, e.stored = true, true
		return t.cols.Scan(row, &e.row)
	})
	if err != nil {
		return nil, fmt.Errorf("load from %s: %w", t.cols.Table, err)
	}
	t.rows[k] = e
	return e, nil
}

func (t *Table[K, R]) Mark() {
	t.undo = t.undo[:0]
	t.marked = true
}

func (t *Table[K, R]) Undo() {
	for _, step := range slices.Backward(t.undo) {
		step.entry.row, step.entry.exists = step.row, step.exists
	}
	t.undo = t.undo[:0]
}

func (t *Table[K, R]) Flush(tx eventstore.Tx) error {
	for _, e := range t.changed {
		e.changed = false
		if err := t.write(tx, e); err != nil {
			return fmt.Errorf("write to %s: %w", t.cols.Table, err)
		}
	}
	t.changed = t.changed[:0]
	return nil
}

func (t *Table[K, R]) write(tx eventstore.Tx, e *entry[R]) error {
	if !e.exists {
		return nil // undone before it was ever written
	}
	t.args = t.cols.Args(t.args[:0], &e.row)
	query, args := t.update, t.args
	switch {
	case t.cols.Empty != nil && t.cols.Empty(&e.row):
		var none R
		e.row, e.exists = none, false
		if !e.stored {
			return nil
		}
		e.stored = false
		_, err := tx.Exec(t.remove, t.args[:t.cols.Key]...)
		return err
	case !e.stored:
		query = t.insert
	case query == "":
		return nil
	default:
		t.args = append(t.args, t.args[:t.cols.Key]...)
		args = t.args[t.cols.Fixed:]
	}
	_, err := tx.Exec(query, args...)
	e.stored = true
	return err
}

func (t *Table[K, R]) Forget() {
	clear(t.rows)
	clear(t.changed)
	clear(t.undo)
	t.changed, t.undo = t.changed[:0], t.undo[:0]
}

func (t *Table[K, R]) Trim() {
	t.round++
	t.undo = t.undo[:0]
	if len(t.rows) <= t.cols.Keep {
		return
	}
	// Rows that were not used for a while go first; then any.
	for _, idle := range []int{16, 0} {
		for k, e := range t.rows {
			if len(t.rows) <= t.cols.Keep/2 {
				return
			}
			if !e.changed && t.round-e.round > idle {
				delete(t.rows, k)
			}
		}
	}
}

// Inserts collects rows that are written once and never read back by the fold.
type Inserts struct {
	query string
	width int
	args  []any
	mark  int
}

// NewInserts returns an empty collection for the given columns.
func NewInserts(table string, columns ...string) *Inserts {
	return &Inserts{width: len(columns), query: fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)", table, strings.Join(columns, ", "),
		strings.Repeat(", ?", len(columns)-1))}
}

// Add takes one row, its values in the order of the columns.
func (t *Inserts) Add(values ...any) { t.args = append(t.args, values...) }

func (t *Inserts) Mark() { t.mark = len(t.args) }
func (t *Inserts) Undo() { t.args = t.args[:t.mark] }

func (t *Inserts) Flush(tx eventstore.Tx) error {
	for row := range slices.Chunk(t.args, t.width) {
		if _, err := tx.Exec(t.query, row...); err != nil {
			return fmt.Errorf("%.40s: %w", t.query, err)
		}
	}
	t.Forget()
	return nil
}

func (t *Inserts) Forget() {
	clear(t.args)
	t.args, t.mark = t.args[:0], 0
}

func (t *Inserts) Trim() {
	if cap(t.args) > 1<<16 {
		t.args = nil
	}
}
