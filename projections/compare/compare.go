// Package compare reports how the tables of two files differ: of two points of one log, of two versions of the code,
// of the stored tables and a rebuild.
package compare

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/pronto-lab/openclawd/projections"
)

// Viewer is a file with tables.
type Viewer interface {
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// Kind is the kind of a Change.
type Kind string

const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
)

// Change is a row that differs between the files.
type Change struct {
	Projection string   `json:"projection"`
	Table      string   `json:"table"`
	Kind       Kind     `json:"kind"`
	Key        []Column `json:"key"`     // primary key; Before and After are equal
	Columns    []Column `json:"columns"` // those that differ; for an added or removed row all but the key
}

// Column is one value before and after, as returned by Shown.
type Column struct {
	Name   string `json:"name"`
	Before any    `json:"before"`
	After  any    `json:"after"`
}

// Count is the number of changes in one table.
type Count struct {
	Projection string `json:"projection"`
	Table      string `json:"table"`
	Rows       int64  `json:"rows"` // after
	Added      int64  `json:"added"`
	Removed    int64  `json:"removed"`
	Changed    int64  `json:"changed"`
}

// Differs reports whether any row differs.
func (c *Count) Differs() bool { return c.Added+c.Removed+c.Changed > 0 }

// Tables walks each table of the definitions in both files, in the order of its primary key, and passes every
// differing row to tell. Neither file is held in memory. tell may be nil; an error from it ends the walk. Checkpoints
// are not compared. A table that only one of the files has is empty in the other, a missing column is NULL.
func Tables(ctx context.Context, before, after Viewer, defs []projections.Definition, tell func(Change) error) ([]Count, error) {
	if tell == nil {
		tell = func(Change) error { return nil }
	}
	counts := []Count{}
	err := before.View(ctx, func(was *sql.Tx) error {
		return after.View(ctx, func(is *sql.Tx) error {
			for _, d := range defs {
				for _, table := range d.Tables {
					w := walk{Count: Count{Projection: d.Name, Table: table}, tell: tell}
					if err := w.run(ctx, was, is); err != nil {
						return fmt.Errorf("compare table %s: %w", table, err)
					}
					counts = append(counts, w.Count)
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return counts, nil
}
