package projectiontest

import (
	"database/sql"
	"strings"
	"testing"
)

// Plan returns SQLite's query plan, one line per step.
func Plan(t testing.TB, log Viewer, query string, args ...any) string {
	t.Helper()
	var plan strings.Builder
	err := log.View(t.Context(), func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				return err
			}
			plan.WriteString(step + "\n")
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatalf("plan of %s: %v", query, err)
	}
	return plan.String()
}

// WantPlan fails t unless SQLite runs the query with the step uses and without a table scan: what it reads must not
// grow with the log. Scanning the list of a json_each is allowed, it is as long as the query's arguments.
func WantPlan(t testing.TB, log Viewer, uses, query string, args ...any) {
	t.Helper()
	steps := Plan(t, log, query, args...)
	if !strings.Contains(steps, uses) || strings.Contains(strings.ReplaceAll(steps, "SCAN j VIRTUAL TABLE", ""), "SCAN") {
		t.Errorf("plan of %s\n%s\nwant %s and no scan", query, steps, uses)
	}
}
