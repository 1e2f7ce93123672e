package conversation

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// TestReadsUseIndexes: no read walks through a table that grows with the log. A route in particular is found by its key, however many
// there are.
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
		"route":      {selectRoute, []any{"k"}, "SEARCH routes USING INDEX sqlite_autoindex_routes_1 (route_key=?)"},
		"by name":    {selectByName, []any{"ws"}, "SEARCH work_sessions USING COVERING INDEX sqlite_autoindex_work_sessions_1 (name=?)"},
		"next slot":  {selectNextSlot, []any{1, "[1]"}, "SEARCH l USING COVERING INDEX list_slots_by_list (list=? AND slot<?)"},
		"slots":      {selectSlots, []any{1, 2}, "SEARCH session_slots USING PRIMARY KEY (slot>? AND slot<?)"},
		"candidates": {selectCandidates, []any{"[1]"}, "SEARCH w USING INTEGER PRIMARY KEY (rowid=?)"},
		"sessions":   {selectSessions, []any{"[1]"}, "SEARCH w USING INTEGER PRIMARY KEY (rowid=?)"},
		"continued":  {selectSessions, []any{"[1]"}, "SEARCH f USING COVERING INDEX session_profiles_by_previous (previous=?)"},
		"tasks":      {selectSessions, []any{"[1]"}, "SEARCH t USING INDEX sqlite_autoindex_session_tasks_1 (session_id=?)"},
		"threads":    {selectThreads, []any{"[1]"}, "SEARCH t USING INDEX sqlite_autoindex_threads_1 (session_id=?)"},
		"events":     {selectSessionEvents, []any{1, 2}, "SEARCH session_events USING PRIMARY KEY (session_id=?)"},
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
