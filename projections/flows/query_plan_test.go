package flows

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// No decision walks through the flows that are over, however many there are, and no list through others than it is asked for.
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
	for name, c := range map[string]struct {
		q    Query
		uses string
	}{
		"before":                   {Query{Before: 9}, "SEARCH j USING INTEGER PRIMARY KEY (rowid<?)"},
		"open":                     {Query{Open: true}, "SEARCH j USING INDEX a2a_jobs_open (over_seq=?)"},
		"open, before":             {Query{Open: true, Before: 9}, "SEARCH j USING INDEX a2a_jobs_open (over_seq=? AND rowid<?)"},
		"spawns":                   {Query{Kind: a2a.Spawn, Before: 9}, "SEARCH j USING INDEX a2a_jobs_spawns (kind=? AND rowid<?)"},
		"of a conversation":        {Query{ConversationID: "c", Before: 9}, "SEARCH j USING INDEX a2a_jobs_by_conversation (conversation_id=? AND rowid<?)"},
		"of a work session":        {Query{WorkSessionID: "w", Before: 9}, "SEARCH j USING INDEX a2a_jobs_by_work_session (work_session_id=? AND rowid<?)"},
		"of a session":             {Query{RequesterSessionKey: "k", Before: 9}, "SEARCH j USING INDEX a2a_jobs_by_requester (requester_key=? AND rowid<?)"},
		"from":                     {Query{From: "a", Before: 9}, "SEARCH j USING INDEX a2a_jobs_by_sender (from_agent=? AND rowid<?)"},
		"to":                       {Query{To: "a", Before: 9}, "SEARCH j USING INDEX a2a_jobs_by_target (to_agent=? AND rowid<?)"},
		"open of a session":        {Query{RequesterSessionKey: "k", Open: true}, "SEARCH j USING INDEX a2a_jobs_open (over_seq=?)"},
		"open of a conversation":   {Query{ConversationID: "c", Open: true}, "SEARCH j USING INDEX a2a_jobs_open_by_conversation (conversation_id=? AND over_seq=?)"},
		"open of a work session":   {Query{WorkSessionID: "w", Open: true}, "SEARCH j USING INDEX a2a_jobs_open_by_work_session (work_session_id=? AND over_seq=?)"},
		"open spawns of a session": {Query{RequesterSessionKey: "k", Kind: a2a.Spawn, Open: true}, "SEARCH j USING INDEX a2a_jobs_children (requester_key=? AND over_seq=?)"},
	} {
		query, args := c.q.sql()
		t.Run(name, func(t *testing.T) { projectiontest.WantPlan(t, db, c.uses, query, args...) })
	}
	for uses, query := range map[string]string{
		"SEARCH j USING INDEX sqlite_autoindex_a2a_jobs_1 (name=?)":                        selectByID,
		"SEARCH e USING INTEGER PRIMARY KEY (rowid=?)":                                     selectLoad,
		"SEARCH a2a_jobs USING INDEX sqlite_autoindex_a2a_jobs_1 (name=?)":                 selectEnd,
		"SEARCH a2a_permits USING PRIMARY KEY (agent=?)":                                   selectPermits,
		"SEARCH j USING COVERING INDEX a2a_jobs_children (requester_key=? AND over_seq=?)": selectChildren,
	} {
		t.Run(uses, func(t *testing.T) { projectiontest.WantPlan(t, db, uses, query, "x") })
	}
	projectiontest.WantPlan(t, db, "SEARCH j USING INDEX a2a_jobs_dispatching (to_agent=? AND phase=?)", selectNext, "x", 1)
	projectiontest.WantPlan(t, db, "SEARCH j USING INDEX a2a_jobs_open (over_seq=?)", selectOverdue, 9, 9)
	projectiontest.WantPlan(t, db, "SEARCH j USING INDEX a2a_jobs_open (over_seq=?)", countOverdue, 9)
	const found = "SEARCH o USING PRIMARY KEY (from_agent=? AND to_agent=? AND type=? AND subject=?)"
	projectiontest.WantPlan(t, db, found, selectOpenHandoff, "a", "b", "question", "q")
}

// Lists of handoffs are read from the index that fits.
func TestHandoffReadsUseIndexes(t *testing.T) {
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
	for name, c := range map[string]struct {
		q    HandoffQuery
		uses []string
	}{
		"before":            {HandoffQuery{Before: 9, Limit: 5}, []string{"SEARCH h USING INTEGER PRIMARY KEY (rowid<?)"}},
		"open":              {HandoffQuery{Open: true, Limit: 5}, []string{"SEARCH h USING INDEX a2a_handoffs_open (state=?)"}},
		"of a work session": {HandoffQuery{WorkSessionID: "w", Limit: 5}, []string{"SEARCH h USING INDEX a2a_handoffs_by_work_session (work_session_id=?)"}},
		"of an agent": {HandoffQuery{Agent: "a", Before: 9, Limit: 5}, []string{"SEARCH h USING INDEX a2a_handoffs_by_sender (from_agent=? AND rowid<?)",
			"SEARCH h USING INDEX a2a_handoffs_by_target (to_agent=? AND rowid<?)"}},
	} {
		query, args := c.q.sql()
		t.Run(name, func(t *testing.T) {
			steps := projectiontest.Plan(t, db, query, args...)
			wantSteps(t, steps, c.uses...)
		})
	}
}

// wantSteps fails t unless all of those are steps of a plan that walks through no table, only through the page that it has read.
func wantSteps(t *testing.T, plan string, steps ...string) {
	t.Helper()
	for _, s := range steps {
		if !strings.Contains(plan, s) {
			t.Errorf("%s\nwant %s", plan, s)
		}
	}
	if strings.Contains(plan, "SCAN a2a_") || strings.Contains(plan, "SCAN j") {
		t.Errorf("%s\nwalks through a table", plan)
	}
}
