package responses

import (
	"path/filepath"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// No decision and no list walks through other requests than it is asked for.
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
	for _, c := range []struct {
		uses, query string
		args        []any
	}{
		{"SEARCH c USING INDEX sqlite_autoindex_collaborations_1 (name=?)", selectByName, []any{"x"}},
		{"SEARCH c USING INDEX collaborations_same (from_agent=? AND asked_at>?)", selectSame, []any{"a", 1, 9}},
		{"SEARCH c USING COVERING INDEX collaborations_of_pairs (pair=? AND accepted_at>?)", selectPair, []any{"a::b", 1, 9}},
		{"SEARCH t USING INDEX collaboration_threads_kept (direction=? AND last_used_at>?)", selectKept, []any{"a:b", 1, 9}},
		{"SEARCH c USING INDEX collaborations_open (thread_id=? AND target_agent=?)", selectWaits, []any{"9", "a"}},
		{"SEARCH c USING INDEX collaborations_pending (thread_id=?)", selectPending, []any{"9"}},
		{"SEARCH c USING INDEX collaborations_by_status (status=?)", selectReminded, []any{9}},
		{"SEARCH c USING INDEX collaborations_by_status (status=?)", countReminded, nil},
		{"SEARCH c USING INDEX collaborations_sent (thread_id=?)", selectOver, []any{"9", 9}},
		{"SEARCH c USING INDEX collaborations_sent (thread_id=?)", selectLast, []any{"9"}},
	} {
		projectiontest.WantPlan(t, db, c.uses, c.query, c.args...)
	}
	for _, c := range []struct {
		q    Query
		uses string
	}{
		{Query{Before: 9, Limit: 5}, "SEARCH c USING INTEGER PRIMARY KEY (rowid<?)"},
		{Query{CollabID: "x", From: "a", Before: 9}, "SEARCH c USING INDEX sqlite_autoindex_collaborations_1 (name=?)"},
		{Query{ThreadID: "9", WorkSession: "w", Target: "a", Before: 9}, "SEARCH c USING INDEX collaborations_by_thread (thread_id=?)"},
		{Query{WorkSession: "w", From: "a"}, "SEARCH c USING INDEX collaborations_by_work_session (work_session_id=?)"},
		{Query{From: "a", Limit: 5}, "SEARCH c USING INDEX collaborations_by_sender (from_agent=?)"},
		{Query{From: "a", Target: "b", Status: "pending", Before: 9}, "SEARCH c USING INDEX collaborations_by_sender (from_agent=? AND rowid<?)"},
		{Query{Target: "a", Delivery: "failed", Before: 9}, "SEARCH c USING INDEX collaborations_by_target (target_agent=? AND rowid<?)"},
		{Query{Status: "pending", Limit: 5}, "SEARCH c USING INDEX collaborations_by_status (status=?)"},
		{Query{Status: "pending", Delivery: "sent", Before: 9}, "SEARCH c USING INDEX collaborations_by_status (status=? AND rowid<?)"},
		{Query{Delivery: "failed", Before: 9, Limit: 5}, "SEARCH c USING INDEX collaborations_by_delivery (delivery=? AND rowid<?)"},
	} {
		query, args := c.q.sql()
		projectiontest.WantPlan(t, db, c.uses, query, args...)
		if query, args = c.q.count(); c.q.Before > 0 {
			projectiontest.WantPlan(t, db, "SEARCH c USING", query, args...)
		}
	}
}
