// Package answers gives what openclawd replay diff, openclawd replay step and the API say about points of the log, so
// that they say the same.
package answers

import (
	"context"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/compare"
	"github.com/pronto-lab/openclawd/projections/points"
	"github.com/pronto-lab/openclawd/replay/asof"
)

// Shown selects the differences that are listed.
type Shown struct {
	Tables []string // empty: all
	Limit  int      // rows of each table
	Bytes  int      // of all listed rows together, as points.SizeOf has them; 0: unlimited
}

// Tables lists the names of all tables that can be compared.
func Tables() (names []string) {
	for _, d := range database.Projections(coordination.RulesV2) {
		names = append(names, d.Tables...)
	}
	slices.Sort(names)
	return names
}

// Between compares the tables of two states.
func Between(ctx context.Context, before, after *asof.State, rules coordination.Rules, shown Shown) (*points.BoundedDiff, error) {
	d := &points.BoundedDiff{Diff: points.Diff{From: PointOf(before), To: PointOf(after)}}
	var err error
	if d.Tables, d.Rows, d.Cut, err = shown.Compare(ctx, before, after, rules); err != nil {
		return nil, err
	}
	d.Subjects, err = subjects(ctx, before, after, d.Rows)
	return d, err
}

// PointOf returns the point at which a state is.
func PointOf(state *asof.State) points.Point {
	point := points.Point{Seq: state.Until()}
	if !state.At.IsZero() {
		point.RecordedAt = state.At.UnixMilli()
	}
	return point
}

// Compare counts the differences between the tables of two files, and keeps the first rows of each table. cut says that
// rows were left out for their size.
func (s *Shown) Compare(ctx context.Context, before, after compare.Viewer, rules coordination.Rules) (counts []compare.Count, rows []compare.Change, cut bool, err error) {
	listed, used := map[string]int{}, 0
	rows = []compare.Change{}
	counts, err = compare.Tables(ctx, before, after, s.definitions(rules), func(c compare.Change) error {
		if listed[c.Table] == s.Limit {
			return nil
		}
		if size := points.SizeOf(&c); s.Bytes > 0 && used+size > s.Bytes {
			cut = true
			return nil
		} else {
			used += size
		}
		listed[c.Table]++
		rows = append(rows, c)
		return nil
	})
	return counts, rows, cut, err
}

// definitions returns this program's projections with the tables to compare.
func (s *Shown) definitions(rules coordination.Rules) []projections.Definition {
	defs := database.Projections(rules)
	if len(s.Tables) == 0 {
		return defs
	}
	for i := range defs {
		var tables []string
		for _, table := range defs[i].Tables {
			if slices.Contains(s.Tables, table) {
				tables = append(tables, table)
			}
		}
		defs[i].Tables = tables
	}
	return defs
}
