package journal

import (
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/compare"
)

// Changes lists the net changes of a step, in the order of tables and keys; checkpoints are left out.
func Changes(tx eventstore.Tx, seq int64) ([]compare.Change, error) {
	touched, err := touchedBy(tx, seq)
	if err != nil {
		return nil, err
	}
	changes := []compare.Change{}
	for _, t := range touched {
		if t.projection == "" {
			continue
		}
		err := tx.Query(t.net(), []any{seq, t.place}, func(r eventstore.Row) error {
			if c, differs := t.change(r); differs {
				changes = append(changes, c)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("changes of step %d in table %s: %w", seq, t.name, err)
		}
	}
	return changes, nil
}

// net is the query for each row that a step has touched: whether it existed before and after the step, and the values
// of each column, with their types, before and after. The state after the step is what the next step that touched the
// row has recorded, or its current state.
func (t *table) net() string {
	var later, stands []string
	for i, name := range t.columns[:t.keys] {
		later = append(later, fmt.Sprintf("n.c%d IS j.c%d", i, i))
		stands = append(stands, fmt.Sprintf(`t."%s" = j.c%d`, name, i))
	}
	columns := []string{"j.existed", fmt.Sprintf(`CASE WHEN l.id IS NULL THEN t."%s" IS NOT NULL ELSE l.existed END`, t.columns[0])}
	for i, name := range t.columns {
		after := fmt.Sprintf(`CASE WHEN l.id IS NULL THEN t."%s" ELSE l.c%d END`, name, i)
		columns = append(columns, fmt.Sprintf("typeof(j.c%d), j.c%d, typeof(%s), %s", i, i, after, after))
	}
	return fmt.Sprintf(`SELECT %s FROM journal j
 LEFT JOIN journal l ON l.id = (SELECT n.id FROM journal n WHERE n.step > j.step AND n.tbl = j.tbl AND %s ORDER BY n.step LIMIT 1)
 LEFT JOIN %q t ON %s WHERE j.step = ? AND j.tbl = ? ORDER BY %s`, strings.Join(columns, ", "), strings.Join(later, " AND "), t.name,
		strings.Join(stands, " AND "), strings.Join(numbered("j", t.keys), ", "))
}

// change converts a row of net to a Change, if there is one.
func (t *table) change(r eventstore.Row) (c compare.Change, differs bool) {
	c = compare.Change{Projection: t.projection, Table: t.name, Kind: compare.Changed, Columns: []compare.Column{}}
	was, is := r.Int(0) != 0, r.Int(1) != 0
	switch {
	case !was && !is:
		return c, false
	case !was:
		c.Kind = compare.Added
	case !is:
		c.Kind = compare.Removed
	}
	for i, name := range t.columns {
		before, after := value(r, 2+4*i), value(r, 4+4*i)
		switch {
		case i < t.keys:
			shown := compare.Shown(before) // a note has the key of its row, whether or not that exists
			c.Key = append(c.Key, compare.Column{Name: name, Before: shown, After: shown})
		case c.Kind != compare.Changed || !compare.Same(before, after):
			c.Columns = append(c.Columns, compare.Column{Name: name, Before: compare.Shown(before), After: compare.Shown(after)})
		}
	}
	return c, c.Kind != compare.Changed || len(c.Columns) > 0
}

// value reads a value whose type is in the preceding column.
func value(r eventstore.Row, typ int) any {
	switch r.Text(typ) {
	case "integer":
		return r.Int(typ + 1)
	case "real":
		return r.Float(typ + 1)
	case "text":
		return r.Text(typ + 1)
	case "blob":
		return r.Blob(typ + 1)
	}
	return nil
}
