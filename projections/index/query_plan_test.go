package index

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// TestReadsUseIndexes: no read walks through a table that grows with the log.
func TestReadsUseIndexes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for name, c := range map[string]struct {
		query string
		args  []any
		uses  string
	}{
		"hours":   {selectHours, []any{1, 2}, "SEARCH facet_hours USING PRIMARY KEY (hour>? AND hour<?)"},
		"slice":   {countSlice, []any{1.0, 2.0, 1, 2, 1.0, 2.0}, "SEARCH event_index USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
		"blocks":  {selectBlocks, []any{"[1]", 1, 2}, "SEARCH b USING INDEX facet_blocks_by_facet (facet_id=? AND block>? AND block<?)"},
		"in time": {selectInTime, []any{"[1]", 1.0, 2.0}, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"},
		"entries": {selectEntries, []any{"[1]"}, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"},
		"roster":  {selectRoster, nil, "SEARCH projections USING PRIMARY KEY (name=?)"},
	} {
		t.Run(name, func(t *testing.T) {
			err := db.View(ctx, func(tx *sql.Tx) error {
				plan, err := explain(ctx, tx, c.query, c.args...)
				if err != nil {
					return err
				}
				if !strings.Contains(plan, c.uses) || strings.Contains(strings.ReplaceAll(plan, "SCAN j VIRTUAL TABLE", ""), "SCAN") {
					t.Errorf("plan of %s\n%s\nwant %s and no scan", c.query, plan, c.uses)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// explain is how SQLite runs a query, one step per line.
func explain(ctx context.Context, tx *sql.Tx, query string, args ...any) (plan string, err error) {
	rows, err := tx.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			return "", err
		}
		plan += step + "\n"
	}
	return plan, rows.Err()
}
