package problems

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// No read walks through a table that grows with the log.
func TestReadsUseIndexes(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(context.Background(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, c := range []struct {
		query string
		args  []any
		uses  []string
	}{
		// At most 200 events are scanned.
		{selectLast, []any{"task/t", "task.blocked"}, []string{"SEARCH e USING INDEX events_by_stream (stream_id=?)", "SCAN l"}},
		// There is a lane for each agent with something to do.
		{selectStartable, []any{9}, []string{"SCAN l", "SEARCH k USING COVERING INDEX work_keys_ready (pool=? AND owner=? AND kind=? AND ready_at>? AND ready_at<?)",
			"SEARCH r USING INTEGER PRIMARY KEY (rowid=?)", "SEARCH p USING INDEX runs_by_session (session_key=? AND rowid<?)"}},
	} {
		plan := projectiontest.Plan(t, db, c.query, c.args...)
		for _, step := range c.uses {
			if !strings.Contains(plan, step) || strings.Count(plan, "SCAN") != 1 || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("plan of %s\n%s\nwant %s, and one scan", c.query, plan, step)
			}
		}
	}
}
