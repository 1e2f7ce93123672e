package plans

import (
	"path/filepath"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// No decision and no list walks through other plans than it is asked for.
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
		{"SEARCH p USING INDEX sqlite_autoindex_plans_1 (name=?)", selectByName, []any{"x"}},
		{"SEARCH p USING INDEX plans_by_task (task_id=? AND agent=?)", selectOfTask, []any{"x", "a"}},
		{"SEARCH p USING COVERING INDEX plans_by_agent_and_status (agent=? AND status=?)", selectPending, []any{"a"}},
	} {
		projectiontest.WantPlan(t, db, c.uses, c.query, c.args...)
	}
	for _, c := range []struct {
		q    Query
		uses string
	}{
		{Query{Before: 9, Limit: 5}, "SEARCH p USING INTEGER PRIMARY KEY (rowid<?)"},
		{Query{Agent: "a", Limit: 5}, "SEARCH p USING INDEX plans_by_agent (agent=?)"},
		{Query{Agent: "a", Before: 9}, "SEARCH p USING INDEX plans_by_agent (agent=? AND rowid<?)"},
		{Query{Status: "pending"}, "SEARCH p USING INDEX plans_by_status (status=?)"},
		{Query{Status: "pending", Agent: "a", Before: 9}, "SEARCH p USING INDEX plans_by_agent_and_status (agent=? AND status=? AND rowid<?)"},
		{Query{Status: "pending", Oldest: true, Limit: 5}, "SEARCH p USING INDEX plans_by_status (status=?)"},
		{Query{Status: "pending", Agent: "a", Oldest: true, Limit: 5}, "SEARCH p USING INDEX plans_by_agent_and_status (agent=? AND status=?)"},
		{Query{TaskID: "x"}, "SEARCH p USING INDEX plans_by_task (task_id=?)"},
		{Query{TaskID: "x", Agent: "a", Status: "pending", Before: 9, Limit: 5}, "SEARCH p USING INDEX plans_by_task (task_id=?)"},
		{Query{WorkSession: "w", Agent: "a"}, "SEARCH p USING INDEX plans_by_work_session (work_session_id=?)"},
		{Query{WorkSession: "w", TaskID: "x"}, "SEARCH p USING INDEX plans_by_task (task_id=?)"},
	} {
		query, args := c.q.sql()
		projectiontest.WantPlan(t, db, c.uses, query, args...)
	}
	for _, c := range []struct {
		q    Query
		uses string
	}{
		{Query{Status: "pending", Limit: 5}, "SEARCH p USING COVERING INDEX plans_by_status (status=?)"},
		{Query{Status: "pending", Agent: "a"}, "SEARCH p USING COVERING INDEX plans_by_agent_and_status (agent=? AND status=?)"},
	} {
		query, args := c.q.count()
		projectiontest.WantPlan(t, db, c.uses, query, args...)
	}
}
