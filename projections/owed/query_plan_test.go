package owed

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// No list walks through what has ended, and a list of what has ended stops at its limit.
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
	r := &reader{Query: &Query{From: "a", To: "b"}}
	for _, c := range []struct{ query, from, to, uses string }{
		{selectFlows, "j.from_agent", "j.to_agent", "SEARCH j USING INDEX a2a_jobs_open (over_seq=?)"},
		{selectHandoffs, "h.from_agent", "h.to_agent", "SEARCH h USING INDEX a2a_handoffs_open (state=?)"},
		{selectRequests, "c.from_agent", "c.target_agent", "SEARCH c USING INDEX collaborations_by_status (status=?)"},
		{selectSending, "c.from_agent", "c.target_agent", "SEARCH c USING INDEX collaborations_by_delivery (delivery=?)"},
	} {
		projectiontest.WantPlan(t, db, c.uses, c.query)
		query, args := r.between(c.query, c.from, c.to)
		projectiontest.WantPlan(t, db, c.uses, query, args...)
	}
	for _, query := range []string{endedFlows + " ORDER BY j.over_seq DESC LIMIT 5", endedHandoffs + " ORDER BY h.ended_seq DESC LIMIT 5",
		endedRequests + " ORDER BY c.last_seq DESC LIMIT 5"} {
		if plan := projectiontest.Plan(t, db, query); strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s\nsorts all that has ended", plan)
		}
	}
	plan := projectiontest.Plan(t, db, selectSent, "[1]")
	for _, step := range []string{"SEARCH j USING INTEGER PRIMARY KEY (rowid=?)", "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"} {
		if !strings.Contains(plan, step) {
			t.Errorf("%s\nwant %s", plan, step)
		}
	}
}
