package trace

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// No read walks through a table that grows with the log: a trace costs what it shows.
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
		"session":           {selectSession, []any{"x"}, "SEARCH work_sessions USING COVERING INDEX sqlite_autoindex_work_sessions_1 (name=?)"},
		"flow id":           {selectFlowID, []any{"x"}, "SEARCH a2a_jobs USING COVERING INDEX sqlite_autoindex_a2a_jobs_1 (name=?)"},
		"run id":            {selectRunID, []any{"x"}, "SEARCH runs USING COVERING INDEX sqlite_autoindex_runs_1 (name=?)"},
		"conversation":      {selectStream, []any{"x"}, "SEARCH streams USING COVERING INDEX sqlite_autoindex_streams_1 (name=?)"},
		"event id":          {selectEventID, []any{[]byte("x")}, "SEARCH events USING COVERING INDEX events_by_id (id=?)"},
		"event seq":         {selectEventSeq, []any{1}, "SEARCH events USING INTEGER PRIMARY KEY (rowid=?)"},
		"sessions like":     {selectSessionsLike, []any{"a", "b", 5}, "SEARCH work_sessions USING COVERING INDEX sqlite_autoindex_work_sessions_1 (name>? AND name<?)"},
		"flows like":        {selectFlowsLike, []any{"a", "b", 5}, "SEARCH a2a_jobs USING COVERING INDEX sqlite_autoindex_a2a_jobs_1 (name>? AND name<?)"},
		"runs like":         {selectRunsLike, []any{"a", "b", 5}, "SEARCH runs USING COVERING INDEX sqlite_autoindex_runs_1 (name>? AND name<?)"},
		"streams like":      {selectStreamsLike, []any{"a", "b", 5}, "SEARCH streams USING COVERING INDEX sqlite_autoindex_streams_1 (name>? AND name<?)"},
		"events like":       {selectEventsLike, []any{[]byte("a"), []byte("b"), 5}, "SEARCH events USING COVERING INDEX events_by_id (id>? AND id<?)"},
		"runs":              {selectRuns, []any{"[]", 1}, "SEARCH r USING INDEX sqlite_autoindex_runs_1 (name=?)"},
		"runs of flows":     {selectRunsOfFlows, []any{"[]", 1}, "SEARCH r USING INDEX runs_by_job (job=?)"},
		"repeats":           {selectRepeats, []any{"[]", 1}, "SEARCH r USING INDEX runs_by_root (retry_of=?)"},
		"runs of a session": {selectRunsOfSession, []any{"x", 1}, "SEARCH r USING INDEX runs_by_work_session (work_session=?)"},
		"runs that talk":    {selectRunsTalking, []any{"x", 1}, "SEARCH r USING INDEX runs_by_conversation (conversation=?)"},
		"siblings":          {selectSiblings, []any{"x", 1}, "SEARCH r USING INDEX runs_by_work_session (work_session=?)"},
		"flows":             {selectFlows, []any{"[]", 1}, "SEARCH f USING INDEX sqlite_autoindex_a2a_jobs_1 (name=?)"},
		"flows of runs":     {selectFlowsOfRuns, []any{"[]", 1}, "SEARCH f USING INDEX a2a_jobs_by_requester (requester_key=? AND rowid>? AND rowid<?)"},
		"flows of session":  {selectFlowsOfSession, []any{"x", 1}, "SEARCH f USING INDEX a2a_jobs_by_work_session (work_session_id=?)"},
		"flows that talk":   {selectFlowsTalking, []any{"x", 1}, "SEARCH f USING INDEX a2a_jobs_by_conversation (conversation_id=?)"},
		"event":             {selectEvent, []any{1}, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"},
		"events":            {selectEvents, []any{"[]"}, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"},
		"event's place":     {selectEventPlace, []any{1}, "SEARCH events USING INTEGER PRIMARY KEY (rowid=?)"},
		"stream's size":     {selectStreamSize, []any{"x"}, "SEARCH e USING COVERING INDEX events_by_stream (stream_id=?)"},
		"version":           {selectVersionSeq, []any{1, 1}, "SEARCH events USING COVERING INDEX events_by_stream (stream_id=? AND version=?)"},
		"stream":            {selectFromStream, []any{1, 1, 1}, "SEARCH e USING INDEX events_by_stream (stream_id=? AND version>?)"},
		"session's events":  {selectFromSession, []any{"x", "[]", 1}, "SEARCH h USING PRIMARY KEY (session_id=?)"},
		"child threads":     {selectChildThreads, []any{"x", 1}, "SEARCH t USING INDEX sqlite_autoindex_threads_1 (session_id=?)"},
		"questions":         {selectAsked, []any{"[]", 1}, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"},
	} {
		t.Run(name, func(t *testing.T) {
			projectiontest.WantPlan(t, db, c.uses, c.query, c.args...)
		})
	}
}
