package compare

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/projections"
)

// walk goes through one table in both files at once.
type walk struct {
	Count
	tell  func(Change) error
	names []string // of the columns, key columns first
	keys  int      // number of key columns
}

func (w *walk) run(ctx context.Context, was, is *sql.Tx) (err error) {
	old, err := describe(ctx, was, w.Table)
	if err != nil {
		return fmt.Errorf("before: %w", err)
	}
	now, err := describe(ctx, is, w.Table)
	if err != nil {
		return fmt.Errorf("after: %w", err)
	}
	switch {
	case !old.found && !now.found:
		return errors.New("neither file has it, or it has no primary key")
	case !old.found:
		old.key = now.key
	case !now.found:
		now.key = old.key
	case !slices.Equal(old.key, now.key):
		return fmt.Errorf("its primary key is (%s) before and (%s) after", strings.Join(old.key, ", "), strings.Join(now.key, ", "))
	}
	w.names, w.keys = slices.Concat(now.key, now.others), len(now.key)
	for _, name := range old.others {
		if !slices.Contains(now.others, name) {
			w.names = append(w.names, name)
		}
	}
	before, err := old.open(ctx, was, w.names)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, before.close()) }()
	after, err := now.open(ctx, is, w.names)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, after.close()) }()
	return w.merge(before, after)
}

func (w *walk) merge(before, after *side) error {
	if err := errors.Join(before.next(), after.next()); err != nil {
		return err
	}
	for before.there || after.there {
		var err error
		switch c := w.compareKeys(before, after); {
		case c < 0:
			w.Removed++
			err = errors.Join(w.tell(w.change(Removed, before, nil)), before.next())
		case c > 0:
			w.Rows++
			w.Added++
			err = errors.Join(w.tell(w.change(Added, nil, after)), after.next())
		default:
			w.Rows++
			if !slices.EqualFunc(before.values, after.values, Same) {
				w.Changed++
				err = w.tell(w.change(Changed, before, after))
			}
			err = errors.Join(err, before.next(), after.next())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// compareKeys returns which row comes first; a side that has ended comes last.
func (w *walk) compareKeys(before, after *side) int {
	switch {
	case !after.there:
		return -1
	case !before.there:
		return 1
	}
	return slices.CompareFunc(before.values[:w.keys], after.values[:w.keys], order)
}

func (w *walk) change(kind Kind, before, after *side) Change {
	c := Change{Projection: w.Projection, Table: w.Table, Kind: kind, Columns: []Column{}}
	key := after
	if key == nil {
		key = before
	}
	for i, name := range w.names {
		if i < w.keys {
			shown := Shown(key.values[i])
			c.Key = append(c.Key, Column{name, shown, shown})
		}
		switch {
		case kind == Changed:
			if !Same(before.values[i], after.values[i]) {
				c.Columns = append(c.Columns, Column{name, Shown(before.values[i]), Shown(after.values[i])})
			}
		case i < w.keys:
		case kind == Added:
			c.Columns = append(c.Columns, Column{name, nil, Shown(after.values[i])})
		default:
			c.Columns = append(c.Columns, Column{name, Shown(before.values[i]), nil})
		}
	}
	return c
}

// table describes a table's columns in one file.
type table struct {
	name        string
	key, others []string // the others in the order of the table
	found       bool
}

func describe(ctx context.Context, tx *sql.Tx, name string) (*table, error) {
	const columns = "SELECT name, pk FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY pk, cid"
	t := &table{name: name}
	err := projections.EachRow(ctx, tx, "describe a table", columns, []any{name}, func(rows *sql.Rows) error {
		var column string
		var pk int
		err := rows.Scan(&column, &pk)
		if pk > 0 {
			t.key = append(t.key, column)
		} else {
			t.others = append(t.others, column)
		}
		return err
	})
	t.found = len(t.key) > 0
	return t, err
}

// open reads the rows of the table, with columns under the given names, in key order.
func (t *table) open(ctx context.Context, tx *sql.Tx, names []string) (*side, error) {
	if !t.found {
		return &side{}, nil
	}
	var columns, by []string
	for _, name := range names {
		if !slices.Contains(t.key, name) && !slices.Contains(t.others, name) {
			columns = append(columns, "NULL")
			continue
		}
		columns = append(columns, `"`+name+`"`)
	}
	for _, name := range t.key {
		by = append(by, `"`+name+`" COLLATE BINARY`)
	}
	rows, err := tx.QueryContext(ctx, fmt.Sprintf(`SELECT %s FROM "%s" ORDER BY %s`, strings.Join(columns, ", "), t.name, strings.Join(by, ", ")))
	if err != nil {
		return nil, err
	}
	s := &side{rows: rows, values: make([]any, len(names))}
	for i := range s.values {
		s.into = append(s.into, &s.values[i])
	}
	return s, nil
}

// side is the current row of one file.
type side struct {
	rows   *sql.Rows // nil if the file has no such table
	there  bool
	values []any
	into   []any // scan targets
}

func (s *side) next() error {
	if s.rows == nil {
		return nil
	}
	if s.there = s.rows.Next(); !s.there {
		return s.rows.Err()
	}
	return s.rows.Scan(s.into...)
}

func (s *side) close() error {
	if s.rows == nil {
		return nil
	}
	return s.rows.Close()
}
