package continuations

import (
	"path/filepath"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// To look at an agent costs the same however many there are.
func TestReadsUseIndexes(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	projectiontest.WantPlan(t, db, "SEARCH c USING PRIMARY KEY (agent=?)", selectAgent, "eden")
	projectiontest.WantPlan(t, db, "SEARCH c USING PRIMARY KEY (agent=?)", "SELECT failures, backoff_until FROM v_continuation WHERE agent = ?", "eden")
	projectiontest.WantPlan(t, db, "SEARCH c USING PRIMARY KEY (agent=?)", "SELECT task_id FROM v_continuation_tasks WHERE agent = ?", "eden")
	if plan := projectiontest.Plan(t, db, selectAll); plan != "SCAN c\n" {
		t.Errorf("all are read by\n%s\nwant one walk in the order of the table", plan)
	}
}
