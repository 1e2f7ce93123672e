package routing

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// No decision and no list walks through more than it is asked for.
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
		{"SEARCH m USING INDEX sqlite_autoindex_discord_messages_1 (message_id=?)", selectEarlier, []any{"x"}},
		{"SEARCH v USING PRIMARY KEY (message=?)", selectEarlier, []any{"x"}},
		{"SEARCH p USING PRIMARY KEY (place_id=?)", selectAttendance, []any{"x"}},
		{"SEARCH p USING PRIMARY KEY (place_id=?)", selectTalk, []any{"x"}},
		{"SEARCH p USING INDEX discord_pairs_by_agent (agent=?)", selectPairs, []any{"a", "a"}},
		{"SEARCH p USING INDEX discord_pairs_by_other (other=?)", selectPairs, []any{"a", "a"}},
		{"SEARCH o USING PRIMARY KEY (place_id=? AND agent=?)", selectSeen, []any{"x", "a", 9, 5}},
		{"SEARCH e USING INTEGER PRIMARY KEY (rowid=?)", selectWords, []any{"[1,2]"}},
		{"SEARCH p USING INDEX sqlite_autoindex_discord_posts_1 (message_id=?)", selectPostOf, []any{"x"}},
		{"SEARCH p USING INTEGER PRIMARY KEY (rowid>?)", selectUndecided, []any{"telegram:", "telegram;", 9, 5}},
		{"SEARCH p USING INDEX sqlite_autoindex_discord_posts_1 (message_id>? AND message_id<?)", selectUndecidedFirst, []any{"telegram:", "telegram;", 0, 5}},
		{"SEARCH p", selectNewestPost, nil},
		{"SEARCH p USING PRIMARY KEY (place_id=?)", selectGuild, []any{"x"}},
		{"SEARCH m USING COVERING INDEX sqlite_autoindex_discord_messages_1 (message_id=?)", selectHeard, []any{"x", 1}},
		{"SEARCH p USING PRIMARY KEY (place_id=?)", selectReport, []any{"x"}},
		{"SEARCH m USING INDEX discord_messages_by_place (place_id=? AND rowid>?)", selectAnswers, []any{"x", 9, "a", 5}},
		{"SEARCH p USING INDEX discord_places_reports (report_of=? AND channel_id=?)", selectReportOf, []any{"x", "c"}},
		{"SEARCH p USING COVERING INDEX discord_places_suspended (suspended_until<?)", selectSuspended, []any{9}},
		{"SEARCH p USING COVERING INDEX discord_places_suspended (suspended_until>?)", selectNext, []any{9}},
		{"SEARCH p USING INDEX discord_places_suspended (suspended_until>?)", selectSuspendedPlaces, []any{9}},
		{"SEARCH a USING PRIMARY KEY (thread_id=?)", selectParticipants, []any{"x"}},
		{"SEARCH p USING INDEX discord_places_by_last (last_at>?)", selectMarks, []any{9, 5}},
		{"SEARCH p USING PRIMARY KEY (channel=? AND user_id=?)", selectPaired, []any{"slack", "U1"}},
		{"SEARCH p USING INDEX channel_people_pending (channel=? AND ends>?)", selectWaiting, []any{"slack", 9}},
		{"SEARCH p USING PRIMARY KEY (channel=?", selectPeople, []any{"slack", "approved", 9, 5}},
		{"SEARCH c USING PRIMARY KEY (message_id=?)", selectChange, []any{"message:x", "x"}},
		{"SEARCH n USING INDEX events_by_stream (stream_id=?)", selectChange, []any{"message:x", "x"}},
		{"SEARCH c USING PRIMARY KEY (message_id=?)", selectChanged, []any{`["x"]`}},
		{"SEARCH c USING INDEX discord_changes_by_place (place_id=? AND seq>?)", selectNews, []any{"a", "x", 9, "a", 5}},
		{"SEARCH n USING COVERING INDEX discord_messages_by_place (place_id=? AND rowid>?)", selectNews, []any{"a", "x", 9, "a", 5}},
		{"SEARCH m USING COVERING INDEX sqlite_autoindex_discord_messages_1 (message_id=?)", "SELECT text, handlers FROM v_discord_messages WHERE message_id = ?", []any{"x"}},
		{"SEARCH v USING PRIMARY KEY (message=?)", "SELECT agent, reason FROM v_discord_verdicts WHERE message_id = ?", []any{"x"}},
		{"SEARCH v USING INDEX discord_verdicts_by_agent (agent=?)", "SELECT message_id, reason FROM v_discord_verdicts WHERE agent = ?", []any{"a"}},
		{"SEARCH o USING PRIMARY KEY (place_id=? AND agent=?)", "SELECT summary FROM v_discord_observed WHERE place_id = ? AND agent = ?", []any{"x", "a"}},
		{"SEARCH a USING PRIMARY KEY (thread_id=?)", "SELECT agent FROM v_discord_participants WHERE thread_id = ?", []any{"x"}},
	} {
		projectiontest.WantPlan(t, db, c.uses, c.query, c.args...)
	}
	for _, c := range []struct {
		q    interface{ sql() (string, []any) }
		uses string
	}{
		{&MessageQuery{ID: "x", Agent: "a", PlaceID: "p", Mode: route.Observer}, "SEARCH m USING INDEX sqlite_autoindex_discord_messages_1 (message_id=?)"},
		{&MessageQuery{PlaceID: "p", Before: 9, Limit: 5}, "SEARCH m USING INDEX discord_messages_by_place (place_id=? AND rowid<?)"},
		{&MessageQuery{PlaceID: "p", Agent: "a", Mode: route.Handler, Limit: 5}, "SEARCH m USING INDEX discord_messages_by_place (place_id=?)"},
		{&MessageQuery{PlaceID: "p", Agent: "a", Mode: route.Handler, Limit: 5}, "SEARCH w EXISTS USING PRIMARY KEY (message=? AND agent=?)"},
		{&MessageQuery{Agent: "a", Before: 9, Limit: 5}, "SEARCH w USING COVERING INDEX discord_verdicts_by_agent (agent=? AND message<?)"},
		{&MessageQuery{Agent: "a", Mode: route.Observer, Limit: 5}, "SEARCH w USING INDEX discord_verdicts_by_agent (agent=?)"},
		{&MessageQuery{Agent: "a", Mode: route.Handler, Before: 9, Limit: 5}, "SEARCH w USING COVERING INDEX discord_verdicts_of_handlers (agent=? AND message<?)"},
		{&MessageQuery{Before: 9, Limit: 5}, "SEARCH m USING INTEGER PRIMARY KEY (rowid<?)"},
		{&PlaceQuery{ID: "x", Threads: true, Agent: "a"}, "SEARCH p USING PRIMARY KEY (place_id=?)"},
		{&PlaceQuery{Agent: "a", Threads: true, Limit: 5}, "SEARCH a USING COVERING INDEX discord_participants_by_agent (agent=?)"},
		{&PlaceQuery{Threads: true, Before: 9, Limit: 5}, "SEARCH p USING INDEX discord_places_threads (last_at<?)"},
		{&PlaceQuery{Before: 9, Place: "x", Limit: 5}, "SEARCH p USING INDEX discord_places_by_last ((last_at,place_id)<(?,?))"},
		{&PlaceQuery{Before: 9, Limit: 5}, "SEARCH p USING INDEX discord_places_by_last (last_at<?)"},
		{&ObservedQuery{PlaceID: "p", Agent: "a", Since: 9, Limit: 5}, "SEARCH o USING PRIMARY KEY (place_id=? AND agent=?)"},
		{&ObservedQuery{PlaceID: "p"}, "SEARCH o USING PRIMARY KEY (place_id=?)"},
		{&ObservedQuery{Agent: "a", Limit: 5}, "SEARCH o USING INDEX discord_observed_by_agent (agent=?)"},
		{&PostQuery{MessageID: "x", Agent: "a"}, "SEARCH p USING INDEX sqlite_autoindex_discord_posts_1 (message_id=?)"},
		{&PostQuery{EffectID: "x", PlaceID: "p", Before: 9}, "SEARCH p USING INDEX discord_posts_by_effect (effect_id=? AND rowid<?)"},
		{&PostQuery{PlaceID: "p", Agent: "a", Purpose: "reply", Before: 9, Limit: 5}, "SEARCH p USING INDEX discord_posts_by_place (place_id=? AND rowid<?)"},
		{&PostQuery{Agent: "a", Purpose: "reply", Limit: 5}, "SEARCH p USING INDEX discord_posts_by_agent (agent=?)"},
		{&PostQuery{Purpose: "reply", Limit: 5}, "SEARCH p USING INDEX discord_posts_by_purpose (purpose=?)"},
		{&PostQuery{Before: 9, Limit: 5}, "SEARCH p USING INTEGER PRIMARY KEY (rowid<?)"},
	} {
		query, args := c.q.sql()
		if messages, is := c.q.(*MessageQuery); is {
			query, args = messages.chosen()
		}
		projectiontest.WantPlan(t, db, c.uses, query, args...)
	}
	query, args := (&MessageQuery{Before: 9, Limit: 5}).sql()
	if plan := projectiontest.Plan(t, db, query, args...); !strings.Contains(plan, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)") ||
		!strings.Contains(plan, "SEARCH v USING PRIMARY KEY (message=?)") {
		t.Errorf("words and verdicts are read by\n%s\nwant a search for each message", plan)
	}
	query, args = (&ObservedQuery{Limit: 5}).sql()
	want := "SCAN o USING INDEX discord_observed_by_seq\nSEARCH e USING INTEGER PRIMARY KEY (rowid=?)\n"
	if plan := projectiontest.Plan(t, db, query, args...); plan != want {
		t.Errorf("all records are read by\n%s\nwant, in the order of the index,\n%s", plan, want)
	}
}
