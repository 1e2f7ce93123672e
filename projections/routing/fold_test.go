package routing_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// decide decides about a message by what the tables say, and appends what follows.
func (l *log) decide(t testing.TB, m route.Message, change ...func(*route.Decision)) route.Decision {
	t.Helper()
	var d route.Decision
	_, err := l.Decide(context.Background(), func(tx eventstore.Tx) (_ []eventstore.StreamAppend, err error) {
		s := route.Situation{Message: m, Bots: team, Policy: policy()}
		if s.Earlier, err = routing.Earlier(tx, m.ID); err != nil {
			return nil, err
		}
		if s.Participants, err = routing.Attendance(tx, m.Place()); err != nil {
			return nil, err
		}
		author := ""
		for _, b := range team {
			if b.UserID == m.Author.ID {
				author = b.Agent
			}
		}
		if s.Guard, err = routing.Guard(tx, m.Place(), author); err != nil {
			return nil, err
		}
		d = route.Decide(&s)
		for _, c := range change {
			c(&d)
		}
		return said(&d), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (l *log) messages(t testing.TB, q routing.MessageQuery) (lines []string) {
	t.Helper()
	for _, m := range projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]routing.Message, error) { return routing.Messages(ctx, tx, q) }) {
		line := fmt.Sprintf("%s %q:", m.ID, m.Text)
		for _, v := range m.Verdicts {
			line += fmt.Sprintf(" %s=%s:%s", v.AgentID, v.Mode, v.Reason)
		}
		lines = append(lines, line)
	}
	return lines
}

func (l *log) observed(t testing.TB, q routing.ObservedQuery) (lines []string) {
	t.Helper()
	for _, o := range projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]routing.Observed, error) {
		return routing.ObservedRecords(ctx, tx, q)
	}) {
		lines = append(lines, o.AgentID+" "+o.Record.MessageID)
	}
	return lines
}

func (l *log) places(t testing.TB, q routing.PlaceQuery) []routing.Place {
	t.Helper()
	return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]routing.Place, error) { return routing.Places(ctx, tx, q) })
}

func ids(places []routing.Place) (ids []string) {
	for _, p := range places {
		ids = append(ids, p.ID)
	}
	return ids
}

// A decision about a message is known with its text, after a restart and when the tables are rebuilt, and it is decided about once.
func TestAMessageIsKnownAsItWasDecided(t *testing.T) {
	t.Parallel()
	l := setup(t)
	m := message("51", 1, "human", channel, "<@1002> <@1003> PR #7 봐 주세요")
	l.decide(t, m, func(d *route.Decision) { d.Verdicts[1].RunID = "discord:51:eden" })
	for _, when := range []string{"live", "opened again", "rebuilt"} {
		if again := l.decide(t, m); !again.Again || !slices.Equal(again.Handlers(), []string{"eden", "seum"}) {
			t.Errorf("%s: it is decided about again: %+v", when, again)
		}
		got := projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]routing.Message, error) {
			return routing.Messages(ctx, tx, routing.MessageQuery{})
		})
		want(t, when, got, []routing.Message{{ID: "51", PlaceID: channel, ChannelID: channel, GuildID: guild, AuthorID: "2001", AuthorName: "human",
			Text: "<@1002> <@1003> PR #7 봐 주세요", Mentioned: []string{"eden", "seum"}, At: base + 1, Seq: 1, Verdicts: []routing.Verdict{
				{AgentID: "dajim", Mode: route.Observer, Reason: route.OthersMentioned, Seq: 3},
				{AgentID: "eden", AccountID: "acc-eden", Mode: route.Handler, Reason: route.ByMention, Order: route.Primary, RunID: "discord:51:eden", Seq: 1},
				{AgentID: "ruda", Mode: route.Observer, Reason: route.OthersMentioned, Seq: 3},
				{AgentID: "seum", AccountID: "acc-seum", Mode: route.Handler, Reason: route.ByMention, Order: route.Secondary, Seq: 2},
			}}})
		if when == "live" {
			l.reopen(t)
		} else {
			l.rebuild(t)
		}
	}
	if d := decided(t, l, func(tx eventstore.Tx) (*route.Decision, error) { return routing.Earlier(tx, "52") }); d != nil {
		t.Errorf("an unknown message has the decision %+v", d)
	}
}

// A message that concerns no agent is known with its reason.
func TestAMessageOfNoOneHasAReason(t *testing.T) {
	t.Parallel()
	l := setup(t)
	m := message("51", 1, "human", channel, "안녕")
	for _, e := range route.Undecided(&m) {
		l.append(t, home(e))
	}
	want(t, "messages", l.messages(t, routing.MessageQuery{}), []string{`51 "": =dropped:internal_error`})
	if d := l.decide(t, m); !d.Again || len(d.Verdicts) != 0 {
		t.Errorf("it is decided about once more: %+v", d)
	}
	l.rebuild(t)
}

// Lists select by each member, and go on from where the one before has ended.
func TestListsOfMessages(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.decide(t, message("51", 1, "human", channel, "안녕"))
	l.decide(t, message("52", 2, "human", thread, "<@1002> 네"))
	l.decide(t, message("53", 3, "ruda", channel, "<@1002> 네"))
	seq := map[string]int64{}
	for _, m := range projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]routing.Message, error) {
		return routing.Messages(ctx, tx, routing.MessageQuery{})
	}) {
		seq[m.ID] = m.Seq
	}
	for name, c := range map[string]struct {
		q    routing.MessageQuery
		want string
	}{
		"all":                          {routing.MessageQuery{}, "53 52 51"},
		"the newest":                   {routing.MessageQuery{Limit: 2}, "53 52"},
		"those before":                 {routing.MessageQuery{Limit: 2, Before: seq["52"]}, "51"},
		"one":                          {routing.MessageQuery{ID: "52"}, "52"},
		"one in another place":         {routing.MessageQuery{ID: "52", PlaceID: channel}, ""},
		"one that was not for eden":    {routing.MessageQuery{ID: "51", Agent: "eden", Mode: route.Handler}, ""},
		"of a place":                   {routing.MessageQuery{PlaceID: channel}, "53 51"},
		"of a place, handled by eden":  {routing.MessageQuery{PlaceID: channel, Agent: "EDEN", Mode: route.Handler}, "53"},
		"handled by eden":              {routing.MessageQuery{Agent: "eden", Mode: route.Handler}, "53 52"},
		"handled by eden, the one":     {routing.MessageQuery{Agent: "eden", Mode: route.Handler, Limit: 1, Before: seq["53"]}, "52"},
		"observed by eden":             {routing.MessageQuery{Agent: "eden", Mode: route.Observer}, "51"},
		"that eden knows of":           {routing.MessageQuery{Agent: "eden"}, "53 52 51"},
		"that ruda knows of, not hers": {routing.MessageQuery{Agent: "ruda"}, "52 51"},
		"of an unknown agent":          {routing.MessageQuery{Agent: "stranger"}, ""},
	} {
		var got []string
		for _, line := range l.messages(t, c.q) {
			got = append(got, strings.Fields(line)[0])
		}
		want(t, name, strings.Join(got, " "), c.want)
	}
}

// What an agent has observed stays when it handles something there, also where an older log says that it was told of it.
func TestBug43_DeliveredContextStays(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.decide(t, message("51", 1, "human", channel, "<@1001> 하나"))
	l.decide(t, message("52", 2, "human", channel, "<@1001> 둘"))
	d := l.decide(t, message("53", 3, "human", channel, "<@1002> 셋"))
	want(t, "handlers", d.Handlers(), []string{"eden"})
	l.decide(t, message("54", 4, "human", channel, "<@1001> 넷"))
	told, err := json.Marshal(coordination.DiscordInbound{MessageID: "55", ChannelID: channel, Decision: "handler", Reason: "mentioned", Observed: []string{"51", "52"}})
	if err != nil {
		t.Fatal(err)
	}
	l.append(t, eventstore.StreamAppend{Stream: coordination.MessageStream("55"), Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: coordination.TypeDiscordInboundHandled, AgentID: "eden", Data: told}.WithTS(base + 5)}})
	for range 2 {
		want(t, "of eden", l.observed(t, routing.ObservedQuery{Agent: "EDEN"}), []string{"eden 54", "eden 52", "eden 51"})
		want(t, "of seum here", l.observed(t, routing.ObservedQuery{Agent: "seum", PlaceID: channel, Limit: 3}), []string{"seum 54", "seum 53", "seum 52"})
		want(t, "of late", l.observed(t, routing.ObservedQuery{PlaceID: channel, Since: base + 4}), []string{"dajim 54", "eden 54", "seum 54"})
		want(t, "of all", l.observed(t, routing.ObservedQuery{Limit: 4}), []string{"dajim 54", "eden 54", "seum 54", "dajim 53"})
		want(t, "elsewhere", l.observed(t, routing.ObservedQuery{PlaceID: thread}), nil)
		l.rebuild(t)
	}
}

// However much an agent observes, it is told of the newest as many as it may be, and what was too much is gone with them.
func TestInvariant50_WhatIsObservedIsBounded(t *testing.T) {
	t.Parallel()
	l := setup(t)
	observe := func(first, n int) {
		t.Helper()
		var appends []eventstore.StreamAppend
		for i := range n {
			m := message(fmt.Sprint(first+i), int64(first+i), "human", channel, strings.Repeat("가", 100)+" PR #7")
			d := route.Decide(&route.Situation{Message: m, Bots: team, Policy: policy()})
			appends = append(appends, said(&d)...)
		}
		l.append(t, appends...)
	}
	history := func(limit int, at int64) []route.Record {
		return decided(t, l, func(tx eventstore.Tx) ([]route.Record, error) {
			h, err := routing.History(tx, channel, []string{"eden", "seum"}, limit, time.Hour, base+at)
			if err != nil {
				return nil, err
			}
			return h.Of("eden", channel, base+at), nil
		})
	}
	observe(1001, 230)
	rows := func() (n int) {
		return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (n int, err error) {
			err = tx.QueryRowContext(ctx, "SELECT count(*) FROM discord_observed WHERE agent = 'eden'").Scan(&n)
			return n, err
		})
	}
	want(t, "rows", rows(), 50)
	want(t, "with limit 0", history(0, 1300), nil)
	want(t, "with limit -1", history(-1, 1300), nil)
	want(t, "with limit 1000", len(history(1_000, 1300)), 50)
	records := history(50, 1300)
	want(t, "with limit 50", len(records), 50)
	if r := records[0]; r.MessageID != "1181" || len([]rune(r.Summary)) > 50 || !slices.Equal(r.Tokens.PRs, []int{7}) || r.Sender != "human" {
		t.Errorf("the oldest is %+v", r)
	}
	want(t, "an hour after the last but one", len(history(50, 1229+hour)), 1)
	want(t, "an hour after the last", history(50, 1230+hour), nil)
	l.decide(t, message("1300", 1300, "human", channel, "<@1002> 이제"))
	want(t, "rows of eden, once it has handled something", rows(), 50)
	observe(1301, 3)
	want(t, "after it has handled something", len(history(50, 1400)), 50)
	l.rebuild(t)
	l.reopen(t)
	observe(1401, 250)
	want(t, "rows", rows(), 50)
	l.rebuild(t)
}

// A thread that was opened after the start of the log has no participants until the log says so: that is known.
func TestNoAgentTakesPartInANewThread(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, created(1, "eden", coordination.Thread{EffectID: "collab/c1", ThreadID: otherThread, ChannelID: channel, GuildID: guild, Kind: "collab"}))
	began := time.Now().UnixMilli() // or earlier
	for id, known := range map[string]bool{idAt(began + 1): true, idAt(began - 60_000): false, thread: false, "x": false} {
		p := decided(t, l, func(tx eventstore.Tx) (route.Attendance, error) { return routing.Attendance(tx, id) })
		if (p != nil) != known || len(p) != 0 {
			t.Errorf("in thread %s %v take part; want that this is known: %v", id, p, known)
		}
	}
}

// idAt is an id of Discord that was made at a time, ms since 1970.
func idAt(ms int64) string {
	const epoch, shift = 1420070400000, 22
	return strconv.FormatInt((ms-epoch)<<shift, 10)
}

// Threads, who takes part, and what was posted.
func TestThreads(t *testing.T) {
	t.Parallel()
	l := setup(t)
	none := decided(t, l, func(tx eventstore.Tx) (route.Attendance, error) { return routing.Attendance(tx, thread) })
	if none != nil {
		t.Errorf("in an unknown thread %v take part", none)
	}
	l.append(t, created(1, "eden", coordination.Thread{EffectID: "collab/c1", ThreadID: thread, ChannelID: channel, GuildID: guild, Name: "[협업] 이든 ↔ 세움", Kind: "collab"}),
		sent(2, "eden", coordination.DiscordOutbound{EffectID: "collab/c1", ThreadID: thread, ChannelID: channel, GuildID: guild, MessageID: "61", AccountID: "acc-eden",
			Purpose: "request", CollabID: "c1"}))
	empty := decided(t, l, func(tx eventstore.Tx) (route.Attendance, error) { return routing.Attendance(tx, thread) })
	if empty == nil || len(empty) != 0 {
		t.Errorf("in a thread that was opened %v take part", empty)
	}
	for _, e := range (route.Attendance{}).Collaborating(thread, team[1], team[2], base+3, route.HistoryTTL) {
		l.append(t, home(e))
	}
	l.decide(t, message("62", 4, "human", thread, "<@1004> 도와줘"))
	l.append(t, event(5, coordination.ThreadStream(thread), coordination.TypeThreadParticipantExpired, "seum", coordination.ThreadParticipant{ThreadID: thread,
		AgentID: "seum", Reason: "silence"}))
	l.decide(t, message("63", 6, "human", channel, "안녕"))
	direct := route.Message{ID: "64", ChannelID: "600000000000000001", AccountID: "acc-eden", Text: "나야", At: base + 7, Author: route.Author{ID: "2001", Name: "human"}}
	p := policy()
	p.Direct, p.AllowFrom = route.Open, []string{"*"}
	d := route.Decide(&route.Situation{Message: direct, Bots: team, Policy: p})
	l.append(t, said(&d)...)
	inThread := routing.Place{ID: thread, GuildID: guild, ChannelID: channel, Thread: true, Name: "[협업] 이든 ↔ 세움", Kind: "collab", LastID: "62", LastAt: base + 4}
	for range 2 {
		want(t, "places", l.places(t, routing.PlaceQuery{}), []routing.Place{
			{ID: "600000000000000001", ChannelID: "600000000000000001", AccountID: "acc-eden", LastID: "64", LastAt: base + 7},
			{ID: channel, GuildID: guild, ChannelID: channel, LastID: "63", LastAt: base + 6}, inThread})
		want(t, "the newest", ids(l.places(t, routing.PlaceQuery{Limit: 1})), []string{"600000000000000001"})
		want(t, "those before", ids(l.places(t, routing.PlaceQuery{Before: base + 6})), []string{thread})
		want(t, "threads", l.places(t, routing.PlaceQuery{Threads: true}), []routing.Place{inThread})
		want(t, "threads of seum, who has left", ids(l.places(t, routing.PlaceQuery{Agent: "Seum", Threads: true})), []string{thread})
		want(t, "threads of ruda", ids(l.places(t, routing.PlaceQuery{Agent: "ruda"})), nil)
		want(t, "one", ids(l.places(t, routing.PlaceQuery{ID: thread, Agent: "eden"})), []string{thread})
		want(t, "one of another agent", ids(l.places(t, routing.PlaceQuery{ID: thread, Agent: "ruda"})), nil)
		want(t, "participants", projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]routing.Participant, error) {
			return routing.Participants(ctx, tx, thread)
		}), []routing.Participant{
			{ThreadID: thread, AgentID: "eden", BotUserID: "1002", Reason: "collaborate", Since: base + 3, LastAt: base + 4},
			{ThreadID: thread, AgentID: "seum", BotUserID: "1003", Reason: "collaborate", Since: base + 3, Left: base + 5, LastAt: base + 4},
			{ThreadID: thread, AgentID: "dajim", BotUserID: "1004", Reason: "mentioned", Since: base + 4, LastAt: base + 4}})
		present := decided(t, l, func(tx eventstore.Tx) ([]string, error) {
			p, err := routing.Attendance(tx, thread)
			return p.Of(thread, base+6, route.HistoryTTL), err
		})
		want(t, "who takes part", present, []string{"dajim", "eden"})
		want(t, "marks", projectiontest.Read(t, l, routing.Marks), []routing.Mark{{"600000000000000001", "", "acc-eden", "64"}, {channel, guild, "", "63"}, {thread, guild, "", "62"}})
		l.rebuild(t)
	}
}

// Marks are those of places with recent messages; for a thread without messages it is the thread itself.
func TestMarks(t *testing.T) {
	t.Parallel()
	l := setup(t)
	marks := func() []routing.Mark { return projectiontest.Read(t, l, routing.Marks) }
	want(t, "of nothing", marks(), nil)
	l.decide(t, message("51", 0, "human", channel, "옛날"))
	l.append(t, created(1+hour, "eden", coordination.Thread{EffectID: "e1", ThreadID: thread, ChannelID: channel, GuildID: guild}))
	l.append(t, sent(1+hour, "eden", coordination.DiscordOutbound{EffectID: "e2", ChannelID: otherChannel, GuildID: guild, MessageID: "70"}))
	l.append(t, event(1+hour, coordination.ThreadStream("12"), coordination.TypeThreadSuspended, "", coordination.Thread{ThreadID: "12", UntilMs: base + hour}))
	want(t, "of a thread", marks(), []routing.Mark{{thread, guild, "", thread}, {channel, guild, "", "51"}})
	m := message("100", 7*24*hour, "human", otherThread, "이제")
	l.decide(t, m)
	m.ID = "99"
	l.decide(t, m)
	want(t, "a week after the first", marks(), []routing.Mark{{otherThread, guild, "", "100"}, {thread, guild, "", thread}, {channel, guild, "", "51"}})
	l.decide(t, message("101", 7*24*hour+1, "human", otherThread, "지금"))
	want(t, "later", marks(), []routing.Mark{{otherThread, guild, "", "101"}, {thread, guild, "", thread}})
}

// A place is suspended until an event says that it no longer is.
func TestSuspended(t *testing.T) {
	t.Parallel()
	l := setup(t)
	type suspended struct {
		Places string
		Next   int64
	}
	at := func(ms int64) suspended {
		return decided(t, l, func(tx eventstore.Tx) (suspended, error) {
			places, next, err := routing.Suspended(tx, base+ms)
			return suspended{strings.Join(places, " "), max(0, next-base)}, err
		})
	}
	suspend := func(ms int64, place string, until int64) {
		l.append(t, event(ms, coordination.ThreadStream(place), coordination.TypeThreadSuspended, "", coordination.Thread{ThreadID: place, ChannelID: channel,
			Reason: "bot_rate", UntilMs: base + until}))
	}
	want(t, "nothing", at(1), suspended{})
	suspend(1, thread, 100)
	suspend(2, channel, 50)
	suspend(3, otherThread, 300)
	want(t, "all", at(49), suspended{"", 50})
	want(t, "one", at(50), suspended{channel, 100})
	want(t, "two", at(100), suspended{thread + " " + channel, 300})
	want(t, "all but one", at(100), suspended{thread + " " + channel, 300})
	p := l.places(t, routing.PlaceQuery{ID: channel})
	if len(p) != 1 || p[0].Thread || p[0].SuspendedUntil != base+50 || p[0].SuspendedFor != "bot_rate" {
		t.Errorf("the channel is %+v", p)
	}
	if p = l.places(t, routing.PlaceQuery{ID: thread}); len(p) != 1 || !p[0].Thread || p[0].ChannelID != channel {
		t.Errorf("the thread is %+v", p)
	}
	l.append(t, home(route.Released(channel, base+101)))
	want(t, "released", at(101), suspended{thread, 300})
	l.rebuild(t)
	l.reopen(t)
	want(t, "after a restart", at(101), suspended{thread, 300})
}

// The thread of reports is the one that was opened last for a conversation in a channel, until it is no more.
func TestReports(t *testing.T) {
	t.Parallel()
	l := setup(t)
	open := func(ms int64, id string) {
		l.append(t, created(ms, "", coordination.Thread{EffectID: fmt.Sprint("report ", ms), ThreadID: id, ChannelID: channel, GuildID: guild, Kind: "report",
			ReportOf: "c1", ReuseKey: "report:c1"}))
	}
	of := func(conversation, channel string) string {
		return decided(t, l, func(tx eventstore.Tx) (string, error) { return routing.ReportOf(tx, conversation, channel) })
	}
	is := func(id string) bool {
		return decided(t, l, func(tx eventstore.Tx) (bool, error) { return routing.IsReport(tx, id) })
	}
	want(t, "before", of("c1", channel), "")
	want(t, "is", is(thread), false)
	open(1, thread)
	want(t, "opened", of("c1", channel), thread)
	want(t, "is", is(thread), true)
	want(t, "in another channel", of("c1", otherChannel), "")
	want(t, "of another conversation", of("c2", channel), "")
	want(t, "of none", of("", channel), "")
	open(2, otherThread)
	want(t, "opened again", of("c1", channel), otherThread)
	gone := coordination.DiscordOutbound{EffectID: "report 3", ChannelID: channel, ThreadID: otherThread, Step: "post", ErrorClass: "unavailable"}
	l.append(t, event(3, coordination.WorkStream("report 3"), coordination.TypeDiscordSendFailed, "", gone))
	want(t, "after a failure", of("c1", channel), otherThread)
	gone.ErrorClass = "not_found"
	l.append(t, imported(event(4, coordination.WorkStream("report 3"), coordination.TypeDiscordSendFailed, "", gone)),
		in("work/other", event(5, "", coordination.TypeDiscordSendFailed, "", gone)))
	want(t, "after the failure of something else", of("c1", channel), otherThread)
	l.append(t, event(6, coordination.WorkStream("report 3"), coordination.TypeDiscordSendFailed, "", gone))
	want(t, "after it was found to be no more", of("c1", channel), thread)
	want(t, "is still", is(otherThread), true)
	gone = coordination.DiscordOutbound{EffectID: "report 3", ChannelID: channel, ThreadID: thread, ErrorClass: "forbidden", Forgets: "report:c1"}
	l.append(t, event(7, coordination.WorkStream("report 3"), coordination.TypeDiscordSendFailed, "", gone))
	want(t, "after the other one was forgotten", of("c1", channel), "")
	want(t, "places", len(l.places(t, routing.PlaceQuery{Threads: true})), 2)
	l.rebuild(t)
}

// A post is known by its message, and the first that tells of it counts.
func TestPosts(t *testing.T) {
	t.Parallel()
	l := setup(t)
	first := coordination.DiscordOutbound{EffectID: "run/r1", ChannelID: channel, GuildID: guild, MessageID: "61", AccountID: "acc-eden", Purpose: "reply", RunID: "r1"}
	second := coordination.DiscordOutbound{EffectID: "collab/c1", ChannelID: channel, ThreadID: thread, MessageID: "62", AccountID: "acc-ruda", Purpose: "reminder",
		CollabID: "c1", System: true}
	again := first
	again.RunID, again.Found = "r2", true
	l.append(t, sent(1, "eden", first), sent(2, "ruda", second), sent(3, "eden", again))
	reply := routing.Post{MessageID: "61", PlaceID: channel, AgentID: "eden", AccountID: "acc-eden", Purpose: "reply", EffectID: "run/r1", RunID: "r1", At: base + 1, Seq: 1}
	reminder := routing.Post{MessageID: "62", PlaceID: thread, ThreadID: thread, AgentID: "ruda", AccountID: "acc-ruda", Purpose: "reminder", EffectID: "collab/c1",
		CollabID: "c1", System: true, At: base + 2, Seq: 2}
	for name, c := range map[string]struct {
		q    routing.PostQuery
		want []routing.Post
	}{
		"all":               {routing.PostQuery{}, []routing.Post{reminder, reply}},
		"the newest":        {routing.PostQuery{Limit: 1}, []routing.Post{reminder}},
		"those before":      {routing.PostQuery{Before: 2}, []routing.Post{reply}},
		"one":               {routing.PostQuery{MessageID: "61"}, []routing.Post{reply}},
		"of a place":        {routing.PostQuery{PlaceID: thread}, []routing.Post{reminder}},
		"of an agent":       {routing.PostQuery{Agent: "EDEN"}, []routing.Post{reply}},
		"for a purpose":     {routing.PostQuery{Purpose: "reminder"}, []routing.Post{reminder}},
		"of work":           {routing.PostQuery{EffectID: "run/r1"}, []routing.Post{reply}},
		"of work elsewhere": {routing.PostQuery{EffectID: "run/r1", PlaceID: thread}, nil},
	} {
		want(t, name, projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]routing.Post, error) { return routing.Posts(ctx, tx, c.q) }), c.want)
	}
	for id, wanted := range map[string]routing.Post{"61": reply, "62": reminder, "63": {}} {
		l.deciding(t, func(tx eventstore.Tx) error {
			p, found, err := routing.PostOf(tx, id)
			want(t, "post "+id, p, wanted)
			want(t, "found "+id, found, wanted.MessageID != "")
			return err
		})
	}
	l.rebuild(t)
}

// What makes no sense changes nothing: imported events, those of other streams, what cannot be read, what is about nothing.
func TestWhatMakesNoSenseChangesNothing(t *testing.T) {
	t.Parallel()
	m := message("51", 1, "ruda", thread, "<@1002> 네")
	d := route.Decide(&route.Situation{Message: m, Bots: team, Policy: policy(), Participants: route.Attendance{}})
	good := said(&d)
	place := coordination.Thread{ThreadID: thread, ChannelID: channel, UntilMs: base + hour, Reason: "bot_rate"}
	good = append(good, event(2, coordination.ThreadStream(thread), coordination.TypeThreadSuspended, "", place), home(route.Released(thread, base+3)),
		event(4, coordination.ThreadStream(thread), coordination.TypeThreadParticipantExpired, "eden", coordination.ThreadParticipant{ThreadID: thread, AgentID: "eden"}),
		created(5, "", coordination.Thread{EffectID: "e", ThreadID: thread}), sent(6, "eden", coordination.DiscordOutbound{EffectID: "e", ChannelID: channel, MessageID: "61"}),
		event(7, coordination.WorkStream("e"), coordination.TypeDiscordSendFailed, "", coordination.DiscordOutbound{EffectID: "e", ThreadID: thread, Forgets: "k"}))
	l := setup(t)
	before := projectiontest.Dump(t, l, routing.Definition())[1:]
	for _, a := range good {
		l.append(t, imported(clone(a)))
		for _, stream := range []string{"log", "agent/eden", "discord/52", "thread/12", "work/other"} {
			l.append(t, in(stream, clone(a)))
		}
		broken := clone(a)
		broken.Events[0].Data = json.RawMessage(`{"messageId":51,"threadId":["` + thread + `"],"effectId":7}`)
		l.append(t, broken)
		blank := clone(a)
		blank.Events[0].Data = json.RawMessage(`{}`)
		l.append(t, blank)
	}
	l.append(t, event(9, coordination.MessageStream("51"), coordination.TypeTaskStarted, "eden", coordination.TaskStarted{}))
	want(t, "tables", projectiontest.Dump(t, l, routing.Definition())[1:], before)
	l.append(t, good...)
	if len(l.messages(t, routing.MessageQuery{})) != 1 || len(l.places(t, routing.PlaceQuery{})) != 2 {
		t.Error("nor does what makes sense")
	}
	l.rebuild(t)
}

func clone(a eventstore.StreamAppend) eventstore.StreamAppend {
	a.Events = slices.Clone(a.Events)
	return a
}

// A redaction removes the text at once. After a rebuild the tables know no more than what type, agent and stream say.
func TestRedactionTakesTheWords(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.decide(t, message("51", 1, "human", thread, "<@1002> 비밀"))
	l.decide(t, message("52", 2, "human", channel, "<@1001> 비밀"))
	l.append(t, sent(3, "eden", coordination.DiscordOutbound{EffectID: "run/r1", ChannelID: channel, MessageID: "61"}))
	suspend := event(4, coordination.ThreadStream(channel), coordination.TypeThreadSuspended, "", coordination.Thread{ThreadID: channel, ChannelID: channel, UntilMs: base + 9})
	l.append(t, suspend, home(route.Released(channel, base+10)), suspend)
	head, err := l.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for seq := int64(1); seq <= head.Seq; seq++ {
		if err := l.Redact(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "messages, at once", l.messages(t, routing.MessageQuery{}), []string{
		`52 "": dajim=observer:other_mentioned eden=observer:other_mentioned ruda=handler:mentioned seum=observer:other_mentioned`,
		`51 "": dajim=observer:other_mentioned eden=handler:mentioned ruda=observer:other_mentioned seum=observer:other_mentioned`})
	want(t, "records, at once", l.observed(t, routing.ObservedQuery{}), nil)
	h := decided(t, l, func(tx eventstore.Tx) (*route.History, error) {
		return routing.History(tx, channel, []string{"eden"}, 50, time.Hour, base+5)
	})
	want(t, "history, at once", h.Len("eden", channel), 0)
	l.refold(t)
	want(t, "messages, rebuilt", l.messages(t, routing.MessageQuery{}), []string{`52 "": =observer: ruda=handler:`, `51 "": =observer: eden=handler:`})
	if d := l.decide(t, message("51", 1, "human", thread, "<@1002> 비밀")); !d.Again {
		t.Error("what is redacted is decided about again")
	}
	want(t, "places", ids(l.places(t, routing.PlaceQuery{})), []string{thread, channel})
	present := decided(t, l, func(tx eventstore.Tx) ([]string, error) {
		p, err := routing.Attendance(tx, thread)
		return p.Of(thread, base+6, route.HistoryTTL), err
	})
	want(t, "who takes part", present, []string{"eden"})
	l.rebuild(t)
}

// What is folded in a transaction is gone with it if it fails.
func TestATransactionThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.decide(t, message("51", 1, "human", channel, "<@1001> 하나"))
	before := projectiontest.Dump(t, l, routing.Definition())
	d := route.Decide(&route.Situation{Message: message("52", 2, "human", channel, "<@1002> 둘"), Bots: team, Policy: policy()})
	refused := event(3, "log", coordination.TypeTaskStarted, "eden", coordination.TaskStarted{})
	refused.Expect = eventstore.Exactly(7)
	if _, err := l.Append(t.Context(), append(said(&d), refused)...); err == nil {
		t.Fatal("an append that expects another version was taken")
	}
	want(t, "tables", projectiontest.Dump(t, l, routing.Definition()), before)
	l.decide(t, message("53", 3, "human", channel, "<@1002> 셋"))
	want(t, "of seum", l.observed(t, routing.ObservedQuery{Agent: "seum"}), []string{"seum 53", "seum 51"})
	l.rebuild(t)
}
