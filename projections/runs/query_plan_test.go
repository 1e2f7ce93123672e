package runs

import (
	"path/filepath"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// No read walks through the runs that are over, however many there are, unless they are what it is asked for.
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
		"before":            {Query{Before: 9}, "SEARCH r USING INTEGER PRIMARY KEY (rowid<?)"},
		"of a session":      {Query{SessionKey: "k", Before: 9}, "SEARCH r USING INDEX runs_by_session (session_key=? AND rowid<?)"},
		"of an agent":       {Query{Agent: "a", Before: 9}, "SEARCH r USING INDEX runs_by_agent (agent=? AND rowid<?)"},
		"failed":            {Query{States: []run.State{run.Failed}}, "SEARCH r USING INDEX runs_by_state (state=?)"},
		"failed, before":    {Query{States: []run.State{run.Failed}, Before: 9}, "SEARCH r USING INDEX runs_by_state (state=? AND rowid<?)"},
		"queued":            {Query{States: []run.State{run.Queued}}, "SEARCH r USING INDEX runs_by_state (state=?)"},
		"of a job":          {Query{JobID: "j"}, "SEARCH r USING INDEX runs_by_job (job=?)"},
		"of a work session": {Query{WorkSessionID: "w", Before: 9}, "SEARCH r USING INDEX runs_by_work_session (work_session=? AND rowid<?)"},
		"of a conversation": {Query{ConversationID: "c", Before: 9}, "SEARCH r USING INDEX runs_by_conversation (conversation=? AND rowid<?)"},
		"open ones of a work session": {Query{WorkSessionID: "w", States: []run.State{run.Queued, run.Running}},
			"SEARCH r USING INDEX runs_open_by_work_session (work_session=? AND over_seq=?)"},
		"open ones of a session": {Query{SessionKey: "k", States: []run.State{run.Queued, run.Running}}, "SEARCH r USING INDEX runs_open (session_key=? AND over_seq=?)"},
	} {
		query, args := c.q.sql()
		t.Run(name, func(t *testing.T) { projectiontest.WantPlan(t, db, c.uses, query, args...) })
	}
	projectiontest.WantPlan(t, db, "SEARCH r USING INDEX runs_open (session_key=? AND over_seq=?)", selectOpen, "k")
	projectiontest.WantPlan(t, db, "SEARCH r USING INDEX sqlite_autoindex_runs_1 (name=?)", selectLoad, "r1")
	projectiontest.WantPlan(t, db, "SEARCH o USING COVERING INDEX runs_open (session_key=? AND over_seq=? AND place<?)", selectAhead, "r1")
	projectiontest.WantPlan(t, db, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)", selectByID, "r1")
	projectiontest.WantPlan(t, db, "SEARCH runs USING INDEX runs_by_end (ended_at>? AND ended_at<?)", selectSpent+ofSpender+groupSpent, 1, 2, "a")
	projectiontest.WantPlan(t, db, "SEARCH runs USING INDEX runs_by_session (session_key=?)", selectSpent+" AND session_key = ?"+groupSpent, 1, 2, "k")
	projectiontest.WantPlan(t, db, "SEARCH runs USING INDEX runs_by_end (ended_at>? AND ended_at<?)", selectTokens, 1, 2)
	projectiontest.WantPlan(t, db, "SEARCH runs USING INDEX sqlite_autoindex_runs_1 (name=?)", selectOverSeq, "r1")
	for _, query := range []string{selectLast, selectLastOver} {
		projectiontest.WantPlan(t, db, "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)", query, "r1", "r1")
		projectiontest.WantPlan(t, db, "INDEX runs_by_root (retry_of=?)", query, "r1", "r1")
	}
	projectiontest.WantPlan(t, db, "SEARCH runs USING COVERING INDEX runs_open_by_work_session (work_session=? AND over_seq=?)",
		"SELECT count(*) FROM runs WHERE work_session = ? AND work_session <> '' AND over_seq = 0", "w")
}
