package sessions

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// No read walks through what grows with the log: neither through messages nor through sessions that were not requested.
func TestReadsUseIndexes(t *testing.T) {
	t.Parallel()
	db := openPlain(t)
	for name, c := range map[string]struct {
		query string
		args  []any
		uses  string
	}{
		"by key":             {selectByKey, []any{"k"}, "SEARCH k USING COVERING INDEX sqlite_autoindex_session_keys_1 (name=?)"},
		"by id":              {selectByID, []any{"k"}, "SEARCH t USING INDEX sqlite_autoindex_session_transcripts_1 (session_id=?)"},
		"by label":           {selectByLabel, []any{"k"}, "SEARCH l USING PRIMARY KEY (label=?)"},
		"list":               {selectSession + fromSessions + inOrder, []any{0}, "SEARCH s USING INDEX sessions_by_change (updated_at>?)"},
		"list of an agent":   {selectSession + fromSessions + ofAgent + inOrder, []any{0, "a"}, "SEARCH s USING INDEX sessions_by_agent (agent=? AND updated_at>?)"},
		"search":             {selectNames + fromSessions + inOrder, []any{0}, "SEARCH s USING INDEX sessions_by_change (updated_at>?)"},
		"found":              {selectByRow, []any{1}, "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)"},
		"list by label":      {selectSession + fromLabels + inOrder, []any{0, "k"}, "SEARCH l USING PRIMARY KEY (label=?)"},
		"transcript":         {selectPlaces, []any{1, 9, "t", 1}, "SEARCH m USING PRIMARY KEY (transcript_id=? AND seq>? AND seq<?)"},
		"bodies":             {selectMessages, []any{"[1]"}, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"},
		"of a run":           {selectOfRun, []any{1, 9, "t", 9}, "SEARCH m USING PRIMARY KEY (transcript_id=? AND seq>? AND seq<?)"},
		"transcripts":        {selectTranscripts, []any{"k"}, "SEARCH t USING INDEX session_transcripts_by_key (key_id=? AND rowid>?)"},
		"state":              {selectState, []any{"k"}, "SEARCH k USING COVERING INDEX sqlite_autoindex_session_keys_1 (name=?)"},
		"last route":         {selectLastRoute, []any{"k"}, "SEARCH k USING COVERING INDEX sqlite_autoindex_session_keys_1 (name=?)"},
		"version of stream":  {selectVersion, []any{"s"}, "SEARCH e USING COVERING INDEX events_by_stream (stream_id=?)"},
		"usage":              {selectUsage + usageInOrder, []any{1, 2}, "SEARCH session_usage USING PRIMARY KEY (quarter>? AND quarter<?)"},
		"who has that label": {selectHolder, []any{"x"}, "SEARCH l USING PRIMARY KEY (label=?)"},
	} {
		t.Run(name, func(t *testing.T) {
			projectiontest.WantPlan(t, db, c.uses, c.query, c.args...)
			if steps := projectiontest.Plan(t, db, c.query, c.args...); strings.Contains(steps, "TEMP B-TREE") {
				t.Errorf("it reads all before it gives the first:\n%s", steps)
			}
		})
	}
}

// Counts and the last change are read from a row for each agent, however many sessions and messages there are.
func TestCountsAreKeptByAgent(t *testing.T) {
	t.Parallel()
	db := openPlain(t)
	defs := []projections.Definition{Definition()}
	if _, err := projections.Start(t.Context(), db, defs, projections.Options{Rules: coordination.RulesV2}); err != nil {
		t.Fatal(err)
	}
	var events []eventstore.NewEvent
	for _, key := range []string{"agent:eden:a", "agent:eden:b", "agent:seum:a", "global", "agent:eden:c"} {
		events = append(events, eventstore.NewEvent{Type: coordination.TypeSessionCreated, Data: []byte(`{"sessionKey":"` + key + `"}`)},
			eventstore.NewEvent{Type: coordination.TypeSessionMessage, Data: []byte(`{"sessionKey":"` + key + `","author":"user"}`)})
	}
	if _, err := db.Append(t.Context(), eventstore.StreamAppend{Stream: "log", Events: events}); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, line := range projectiontest.Dump(t, db, defs...) {
		if strings.HasPrefix(line, "session_agents ") {
			rows++
		}
	}
	if rows != 3 {
		t.Errorf("%d rows for 3 agents", rows)
	}
}

func openPlain(t *testing.T) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
