package conversations

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
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
		"task":       {selectOfTask, []any{"task/t", 1, 1}, "SEARCH e USING INDEX events_by_stream (stream_id=?)"},
		"active":     {selectLastActivity, []any{"ws"}, "SEARCH work_sessions USING INDEX sqlite_autoindex_work_sessions_1 (name=?)"},
		"by name":    {selectByName, []any{"ws"}, "SEARCH work_sessions USING COVERING INDEX sqlite_autoindex_work_sessions_1 (name=?)"},
		"next slot":  {selectNextSlot, []any{1, "[1]"}, "SEARCH l USING COVERING INDEX list_slots_by_list (list=? AND slot<?)"},
		"slots":      {selectSlots, []any{1, 2}, "SEARCH session_slots USING PRIMARY KEY (slot>? AND slot<?)"},
		"hours":      {selectCensusSince, []any{1}, "SEARCH session_hours USING PRIMARY KEY (hour>?)"},
		"all hours":  {selectAllCensusSince, []any{1}, "SEARCH session_hours USING PRIMARY KEY (hour>?)"},
		"candidates": {selectCandidates, []any{1, "[1]"}, "SEARCH w USING INTEGER PRIMARY KEY (rowid=?)"},
		"sessions":   {selectSessions, []any{-2, "[1]"}, "SEARCH w USING INTEGER PRIMARY KEY (rowid=?)"},
		"continued":  {selectSessions, []any{-2, "[1]"}, "SEARCH f USING COVERING INDEX session_profiles_by_previous (previous=?)"},
		"tasks":      {selectSessions, []any{-2, "[1]"}, "SEARCH t USING INDEX sqlite_autoindex_session_tasks_1 (session_id=?)"},
		"override":   {selectSessions, []any{-2, "[1]"}, "SEARCH o USING PRIMARY KEY (name=?)"},
		"overridden": {selectOverride, []any{"ws"}, "SEARCH category_overrides USING PRIMARY KEY (name=?)"},
		"changes":    {selectChanges, []any{"ws", 10}, "SEARCH category_changes USING PRIMARY KEY (name=?)"},
		"stuck":      {selectStuck, []any{1, 1, 1, "blocked", 9}, "SEARCH t USING INDEX sqlite_autoindex_threads_1 (session_id=?)"},
		"blocked":    {selectBlockedTasks, []any{1, 1, 9}, "SEARCH k USING INDEX sqlite_autoindex_session_tasks_1 (session_id=?)"},
		"how many":   {countStuck, []any{1, 1}, "SEARCH session_slots USING PRIMARY KEY (slot>?)"},
		"threads":    {selectThreads, []any{"[1]"}, "SEARCH t USING INDEX sqlite_autoindex_threads_1 (session_id=?)"},
		"outcome":    {selectByOutcome, []any{`["blocked"]`}, "SEARCH w USING COVERING INDEX work_sessions_by_outcome (<expr>=?)"},
		"agent":      {selectByMember, []any{`["eden"]`}, "SEARCH m USING PRIMARY KEY (agent=?)"},
		"open":       {selectByOpen, nil, "SEARCH w USING COVERING INDEX work_sessions_open (<expr>=?)"},
		"open flows": {selectByFlow, nil, "SEARCH f USING INDEX a2a_jobs_open (over_seq=?)"},
		"open runs":  {selectByRun, nil, "SEARCH r USING COVERING INDEX runs_open_by_work_session (work_session>?)"},
		"standing":   {selectStanding, []any{`["eden"]`, "[1]"}, "SEARCH m USING PRIMARY KEY (agent=? AND session_id=?)"},
		"events":     {selectSessionEvents, []any{1, 2}, "SEARCH session_events USING PRIMARY KEY (session_id=?)"},

		"older":  {selectOlder, []any{1, 2, "[3]", 0, 5}, "SEARCH session_events USING PRIMARY KEY (session_id=? AND seq<?)"},
		"newer":  {selectNewer, []any{1, 2, "[3]", 0, 5}, "SEARCH session_events USING PRIMARY KEY (session_id=? AND seq>?)"},
		"page":   {selectPage, []any{"[1]", 2}, "SEARCH e USING PRIMARY KEY (session_id=? AND seq=?)"},
		"thread": {selectThread, []any{1, "k"}, "SEARCH threads USING COVERING INDEX sqlite_autoindex_threads_1 (session_id=? AND key=?)"},
	} {
		t.Run(name, func(t *testing.T) {
			projectiontest.WantPlan(t, db, c.uses, c.query, c.args...)
		})
	}
}
