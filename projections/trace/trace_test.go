package trace_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/trace"
)

// told is a log with the story of the team, and when that ends.
func told(t testing.TB) (*sqlite.DB, int64) {
	t.Helper()
	db := setup(t)
	s := projectiontest.Tell(t, db, base)
	s.Team()
	return db, s.Now
}

// Short names of what is in the story of the team.
const (
	ask, send, late, spawn = projectiontest.TeamAsk, projectiontest.TeamSend, projectiontest.TeamLate, projectiontest.TeamSpawn
	again, turn            = send + ".r2", send + ".t1"
)

var whole = []string{
	"run " + ask,
	"  send " + send,
	"    answer " + send,
	"    retry " + again,
	"      send " + late,
	"        answer " + late,
	"    turn " + turn,
	"  spawn " + spawn,
	"    answer " + spawn,
	"      repeat " + projectiontest.TeamRepeat,
}

// What an id names is shown with what that led to and what it comes from, and nothing else, whatever it is the id of.
//
// Promise: trace
func TestTraceShowsWhatLedToWhat(t *testing.T) {
	t.Parallel()
	db, now := told(t)
	sent := []string{whole[0], whole[1], whole[2], whole[3], whole[4], whole[5], whole[6]}
	asked := []string{whole[0], whole[1], whole[3], whole[4], whole[5]}
	events, err := db.Read(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	at := func(typ, jobID string) (seq int64, id string) {
		for _, e := range events {
			if e.Type == typ && strings.Contains(string(e.Data), jobID) {
				return e.Seq, e.ID.String()
			}
		}
		t.Fatalf("no %s of %s", typ, jobID)
		return 0, ""
	}
	retried, retriedID := at(coordination.TypeA2ARetry, send)
	failed, _ := at(coordination.TypeRunFailed, send)
	for _, c := range []struct {
		name, id string
		kind     trace.Kind
		want     []string
	}{
		{"work session", projectiontest.TeamSession, trace.WorkSession, whole},
		{"work session as the API writes it", "ws:" + projectiontest.TeamSession, trace.WorkSession, whole},
		{"conversation", projectiontest.TeamConversation, trace.Conversation, sent},
		{"run", ask, trace.Run, whole},
		{"flow", send, trace.Flow, sent},
		{"beginning of a flow, whose runs begin so too", "1111", trace.Flow, sent},
		{"flow within", late, trace.Flow, asked},
		{"run within", again, trace.Run, asked},
		{"what was broken off", spawn, trace.Flow, []string{whole[0], whole[7], whole[8], whole[9]}},
		{"repeat", projectiontest.TeamRepeat, trace.Run, []string{whole[0], whole[7], whole[8], whole[9]}},
		{"event by its seq", fmt.Sprint(retried), trace.Message, sent},
		{"event by its id", retriedID, trace.Message, sent},
		{"event by the beginning of its id", strings.ToUpper(retriedID[:35]), trace.Message, sent},
		{"event of a run", fmt.Sprint(failed), trace.Message, []string{whole[0], whole[1], whole[2]}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := traced(t, db, c.id, trace.Options{Now: now})
			if diff := cmp.Diff(c.want, outline(found)); diff != "" || found.Kind != c.kind || found.Cut {
				t.Errorf("%s, cut %v\n%s", found.Kind, found.Cut, diff)
			}
		})
	}
	found := traced(t, db, fmt.Sprint(retried), trace.Options{Now: now})
	for _, n := range nodes(found) {
		for _, m := range n.Messages {
			if m.Asked != (m.Seq == retried) || m.Asked && m.ID != retriedID {
				t.Errorf("event %d of %s is marked: %v", m.Seq, n.ID, m.Asked)
			}
		}
	}
	if m := node(t, traced(t, db, fmt.Sprint(failed), trace.Options{Now: now}), trace.Run, send).Messages; len(m) != 1 || !m[0].Asked || m[0].Type != "run.failed" {
		t.Errorf("an event that is not shown otherwise: %+v", m)
	}
}

// Waiting for a permit, being put off, waiting in the queue and running are told apart, in milliseconds; so are what is open, and what came
// too late.
func TestTraceTellsWaitingFromWorking(t *testing.T) {
	t.Parallel()
	db, now := told(t)
	found := traced(t, db, projectiontest.TeamSession, trace.Options{Now: now})
	type times struct{ Permit, Backoff, Queue, Run, Duration int64 }
	for _, c := range []struct {
		kind trace.Kind
		id   string
		want times
	}{
		{trace.Run, ask, times{Queue: 3, Run: 7_612, Duration: 7_615}},
		{trace.Flow, send, times{Permit: 2_000, Duration: 7_720}},
		{trace.Run, send, times{Queue: 40, Run: 400, Duration: 440}},
		{trace.Run, again, times{Backoff: 1_500, Queue: 20, Run: 3_055, Duration: 4_575}},
		{trace.Flow, late, times{Duration: 3_005}},
		{trace.Run, late, times{Queue: 5, Run: 12_865, Duration: 12_870}},
		{trace.Run, turn, times{Queue: 505, Run: 200, Duration: 705}},
		{trace.Flow, spawn, times{Duration: now - base - 150}},
		{trace.Run, spawn, times{Queue: 10, Run: 7_760, Duration: 7_770}},
		{trace.Run, projectiontest.TeamRepeat, times{Queue: 20, Run: 10_000, Duration: 10_020}},
	} {
		n := node(t, found, c.kind, c.id)
		if got := (times{n.PermitMs, n.BackoffMs, n.QueueMs, n.RunMs, n.DurationMs}); got != c.want {
			t.Errorf("%s %s: %+v, want %+v", c.kind, c.id, got, c.want)
		}
		open := c.id == projectiontest.TeamRepeat || c.kind == trace.Flow && c.id == spawn
		if n.Open != open || open && n.Since == 0 {
			t.Errorf("%s %s: open %v since %d", c.kind, c.id, n.Open, n.Since)
		}
		isLate := c.kind == trace.Run && c.id == late
		if n.Late != isLate || isLate && n.LateMs != 9_865 {
			t.Errorf("%s %s: late %v, by %d", c.kind, c.id, n.Late, n.LateMs)
		}
	}
	if found.Flows != 3 || found.Runs != 7 || found.Open != 2 || found.Late != 1 || found.StartedAt != base || found.LastAt != now || found.DurationMs != now-base {
		t.Errorf("in all: %+v", found)
	}
	if s := found.Session; s == nil || s.Status != coordination.StatusActive || s.Outcome != coordination.OutcomeNoReply {
		t.Errorf("work session: %+v", found.Session)
	}
	retry := node(t, found, trace.Run, again)
	if want := (&trace.Retry{Attempt: 1, Category: "transient", Code: "rate_limit", Reason: "429", BackoffMs: 1_500,
		ReasonCode: coordination.ReasonRateLimited}); *retry.Retry != *want || retry.Attempt != 2 {
		t.Errorf("retry: %+v", retry.Retry)
	}
	if retry.ToolCalls != 1 || retry.ModelCalls != 2 || retry.InputTokens != 1_000 || retry.OutputTokens != 203 || retry.Model != "fake/m" {
		t.Errorf("what it cost: %+v", retry)
	}
	first := node(t, found, trace.Run, ask)
	if first.By != "cli" || first.Cause != "chat" || first.Question != "배포 상태를 확인해 줘" || first.Answer != "배포되었습니다" {
		t.Errorf("who asked: %+v", first)
	}
}

// The messages of a flow are those of that flow, in the order of the log, also where its events do not name it.
func TestTraceShowsWhatWasSaid(t *testing.T) {
	t.Parallel()
	db, now := told(t)
	for _, id := range []string{projectiontest.TeamSession, ask} {
		found := traced(t, db, id, trace.Options{Now: now})
		for flow, want := range map[string][]string{
			send:  {"a2a.send", "a2a.retry", "a2a.response", "a2a.response", "a2a.complete"},
			late:  {"a2a.send", "a2a.response", "a2a.complete"},
			spawn: {"a2a.spawn", "a2a.send"},
		} {
			var got []string
			for _, m := range node(t, found, trace.Flow, flow).Messages {
				got = append(got, m.Type)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s has %q, want %q", id, flow, got, want)
			}
		}
		m := node(t, found, trace.Flow, late).Messages[1]
		if m.From != "dajim" || m.To != "seum" || m.Outcome != "no_reply" || m.Reason != "대기 시간 3초 초과" {
			t.Errorf("no reply: %+v", m)
		}
		if m := node(t, found, trace.Flow, send).Messages[3]; m.Turn != 1 || m.Preview != "고마워" {
			t.Errorf("turn: %+v", m)
		}
	}
}

func line(typ, agent string, ms int, data string) string {
	return fmt.Sprintf(`{"type":%q,"agentId":%q,"ts":%d,"data":{%s}}`, typ, agent, base+ms, data)
}

// Of an imported log, which has no runs and flows of ours, the tree is made of its messages: conversations, and those that came from them.
func TestTraceOfAnImportedLog(t *testing.T) {
	t.Parallel()
	db := setup(t)
	const in = `"workSessionId":"ws_old"`
	importing(t, db,
		line("a2a.send", "eden", 0, in+`,"conversationId":"conv-a","fromAgent":"eden","toAgent":"seum","message":"상태는?","runId":"unknown"`),
		line("a2a.spawn", "seum", 10, in+`,"conversationId":"conv-b","parentConversationId":"conv-a","fromAgent":"seum","toAgent":"seum","message":"찾아줘","depth":1`),
		line("a2a.spawn_result", "seum", 20, in+`,"conversationId":"conv-b","parentConversationId":"conv-a","fromAgent":"seum","toAgent":"seum","status":"accepted"`),
		line("a2a.spawn", "seum", 25, in+`,"conversationId":"conv-c","parentConversationId":"conv-b","fromAgent":"seum","toAgent":"dajim","message":"더"`),
		line("a2a.complete", "seum", 90, in+`,"conversationId":"conv-b","parentConversationId":"conv-a","fromAgent":"seum","toAgent":"seum","announced":true`),
		line("a2a.response", "seum", 100, in+`,"conversationId":"conv-a","fromAgent":"seum","toAgent":"eden","message":"[outcome] blocked: 응답을 받지 못했습니다","outcome":"no_reply"`),
		line("a2a.complete", "eden", 110, in+`,"conversationId":"conv-a","fromAgent":"eden","toAgent":"seum"`),
		line("a2a.send", "eden", 120, in+`,"fromAgent":"eden","toAgent":"dajim","message":"참고"`),
		line("task.started", "eden", 130, in+`,"taskId":"task_1"`),
		line("a2a.send", "eden", 140, `"workSessionId":"ws_else","conversationId":"conv-d","fromAgent":"eden","toAgent":"seum","message":"다른 일"`),
	)
	conversations := []string{"conversation conv-a", "  conversation conv-b", "    conversation conv-c"}
	for id, want := range map[string][]string{
		"ws_old": append(slices.Clone(conversations), "thread pair:dajim_eden"),
		"conv-a": conversations,
		"conv-b": conversations,
		"6":      conversations,
		"9":      {"message 9"},
	} {
		found := traced(t, db, id, trace.Options{Now: base + 1_000})
		got := outline(found)
		if id == "9" && len(got) == 1 && strings.HasPrefix(got[0], "message ") {
			continue // it is called by its id
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
	found := traced(t, db, "ws_old", trace.Options{Now: base + 1_000})
	a, b, c := node(t, found, trace.Conversation, "conv-a"), node(t, found, trace.Conversation, "conv-b"), node(t, found, trace.Conversation, "conv-c")
	if a.Outcome != "no_reply" || a.Open || a.DurationMs != 110 || a.From != "eden" || a.To != "seum" || len(a.Messages) != 3 {
		t.Errorf("a: %+v", a)
	}
	if b.Outcome != "done" || b.Open || c.Outcome != "waiting" || !c.Open || c.Since != base+25 || c.DurationMs != 975 {
		t.Errorf("b: %+v\nc: %+v", b, c)
	}
	if found.Runs != 0 || found.Flows != 0 || found.Conversations != 4 || found.Messages != 8 || found.Open != 2 {
		t.Errorf("in all: %+v", found)
	}
}

// An id that names nothing is refused with what was looked for, and with what begins so, or nearly so.
func TestTraceOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	db, now := told(t)
	for id, want := range map[string]trace.NotFoundError{
		"stranger":                    {ID: "stranger"},
		"":                            {},
		" \x00 ":                      {ID: "\x00"},
		"999999":                      {ID: "999999"},
		"22222222-2222-4222-8222-3":   {ID: "22222222-2222-4222-8222-3", Near: []trace.Candidate{{Kind: trace.Flow, ID: late}}},
		"ask-of-the-week":             {ID: "ask-of-the-week", Near: []trace.Candidate{{Kind: trace.Run, ID: ask}}},
		"c1-m":                        {}, // enough
		"c1-":                         {ID: "c1-"},
		strings.Repeat("x", 600):      {ID: strings.Repeat("x", 512)},
		projectiontest.TeamSession[:]: {}, // all of it
	} {
		_, err := tracing(t, db, id, trace.Options{Now: now})
		var missing *trace.NotFoundError
		if !errors.As(err, &missing) {
			if want.ID != "" || err != nil {
				t.Errorf("%q: %v", id, err)
			}
			continue
		}
		if diff := cmp.Diff(&want, missing); diff != "" || !errors.Is(err, fs.ErrNotExist) || missing.Hint() == "" {
			t.Errorf("%q: %s", id, diff)
		}
	}
	projectiontest.Tell(t, db, now).Queue("main", coordination.RunQueued{RunID: "ask-of-the-night", SessionKey: "agent:main:main", Message: "?"})
	_, err := tracing(t, db, "ask-of", trace.Options{Now: now})
	var several *trace.NotFoundError
	if !errors.As(err, &several) || !several.Ambiguous || len(several.Near) != 2 {
		t.Errorf("several: %v", err)
	}
}

// A trace has only so many nodes and messages, and says that there are more.
func TestTraceIsBounded(t *testing.T) {
	t.Parallel()
	db, now := told(t)
	for n := 1; n <= len(whole); n++ {
		for _, id := range []string{projectiontest.TeamSession, ask} {
			found := traced(t, db, id, trace.Options{Now: now, Nodes: n})
			if got := len(nodes(found)); got > n || found.Cut != (n < len(whole)) {
				t.Errorf("%s: %d nodes of at most %d, cut %v", id, got, n, found.Cut)
			}
		}
	}
	for n := 1; n <= 11; n++ {
		for _, id := range []string{projectiontest.TeamSession, ask} {
			if found := traced(t, db, id, trace.Options{Now: now, Messages: n}); found.Messages > n || found.Cut != (n < 10) {
				t.Errorf("%s: %d messages of at most %d, cut %v", id, found.Messages, n, found.Cut)
			}
		}
	}
}

// What was said long ago in a conversation that has gone on since is found all the same.
func TestTraceFindsAnOldFlowInALongConversation(t *testing.T) {
	t.Parallel()
	db, now := told(t)
	s := projectiontest.Tell(t, db, now)
	for i := range 60 {
		s.After(1).Say("", coordination.TypeA2ASend, "main", coordination.A2ASend{Context: coordination.Context{ConversationID: projectiontest.TeamConversation},
			FromAgent: "main", ToAgent: "seum", Message: fmt.Sprint("more ", i)})
	}
	found := traced(t, db, send, trace.Options{Now: now, Messages: 20})
	if n := node(t, found, trace.Flow, send); len(n.Messages) != 5 || found.Cut {
		t.Errorf("%d messages, cut %v", len(n.Messages), found.Cut)
	}
	found = traced(t, db, projectiontest.TeamConversation, trace.Options{Now: now, Messages: 20})
	if n := node(t, found, trace.Conversation, projectiontest.TeamConversation); len(n.Messages) == 0 || n.Messages[len(n.Messages)-1].Preview != "more 59" || !found.Cut {
		t.Errorf("the newest of the conversation: %+v, cut %v", n.Messages, found.Cut)
	}
}

// A redacted event keeps its place in the tree.
func TestTraceOfRedactedEvents(t *testing.T) {
	t.Parallel()
	db, now := told(t)
	for seq := int64(1); seq <= 8; seq++ {
		if err := db.Redact(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(whole, outline(traced(t, db, ask, trace.Options{Now: now}))); diff != "" {
		t.Error(diff)
	}
}

// A log may claim that things come from themselves, or from what is not there. Its trace ends, and shows each once.
func TestTraceOfCircles(t *testing.T) {
	t.Parallel()
	db := setup(t)
	s := projectiontest.Tell(t, db, base)
	flow := func(id, requester string) {
		s.After(1).Say(coordination.JobStream(id), coordination.TypeA2AJobCreated, "eden", coordination.A2AJobCreated{JobID: id, Kind: "send", FromAgent: "eden",
			ToAgent: "eden", Phase: "waiting", RequesterSessionKey: "agent:eden:main", RequesterRunID: requester, TargetSessionKey: "agent:eden:main",
			Context: coordination.Context{WorkSessionID: "ws", ConversationID: "c-" + id, ParentConversationID: "c-" + id}})
	}
	run := func(id, job, retryOf, parent string) {
		s.After(1).Queue("eden", coordination.RunQueued{RunID: id, SessionKey: "agent:eden:main", JobID: job, RetryOf: retryOf, Message: "?",
			Context: coordination.Context{WorkSessionID: "ws", ParentRunID: parent}})
	}
	run("r1", "", "r1", "r3")
	run("r2", "", "", "r1")
	run("r3", "", "", "r2")
	flow("j1", "j1")
	run("j1", "j1", "", "")
	run("lost", "j9", "r9", "r8")
	for _, id := range []string{"ws", "r1", "r2", "r3", "j1", "lost"} {
		found := traced(t, db, id, trace.Options{Now: base + 100})
		seen := map[string]int{}
		for _, n := range nodes(found) {
			seen[string(n.Kind)+n.ID]++
		}
		want := map[string][]string{"ws": {"runr1", "runr2", "runr3", "flowj1", "runj1", "runlost"}, "j1": {"flowj1", "runj1"}, "lost": {"runlost"}}[id]
		if want == nil {
			want = []string{"runr1", "runr2", "runr3"}
		}
		for _, w := range want {
			if seen[w] != 1 {
				t.Errorf("%s: %s is there %d times in %q", id, w, seen[w], outline(found))
			}
		}
		if len(seen) != len(want) {
			t.Errorf("%s: %v, want %v", id, seen, want)
		}
	}
	if n := node(t, traced(t, db, "lost", trace.Options{}), trace.Run, "lost"); n.Missing == "" {
		t.Error("it does not say that what it comes from is not there")
	}
}

// What a run was refused is shown with the run, whatever was asked for: a missing answer has no other trace. So is a flow that the run had
// asked for when it was stopped.
func TestTraceShowsWhatARunWasRefused(t *testing.T) {
	t.Parallel()
	db := setup(t)
	s := projectiontest.Tell(t, db, base)
	refuse := func(run, conversation, reason string) {
		s.Say("", coordination.TypeA2AForbidden, "eden", coordination.A2ARefusal{FromAgent: "eden", ToAgent: "dajim", Code: "policy_denied", Reason: reason,
			Context: coordination.Context{WorkSessionID: "ws_refused", ConversationID: conversation, ParentRunID: run}})
	}
	flow := func(id, run string) {
		in := coordination.Context{WorkSessionID: "ws_else", ConversationID: "conv"}
		s.Say(coordination.JobStream(id), coordination.TypeA2AJobCreated, "eden", coordination.A2AJobCreated{Context: in, JobID: id, Kind: "send", FromAgent: "eden",
			ToAgent: "seum", Phase: "waiting", RequesterSessionKey: "agent:eden:main", RequesterRunID: run, TargetSessionKey: "agent:seum:a2a:conv", Message: "?"})
		s.Say("", coordination.TypeA2ASend, "eden", coordination.A2ASend{Context: in, FromAgent: "eden", ToAgent: "seum", JobID: id, Message: "?"})
	}
	refuse("", "", "a client without a run")
	s.Queue("eden", coordination.RunQueued{RunID: "asker", SessionKey: "agent:eden:main", Message: "?"})
	flow("flow-1", "asker")
	refuse("asker", "", "no pair")
	refuse("asker", "conv", "no pair here")
	s.Queue("eden", coordination.RunQueued{RunID: "other", SessionKey: "agent:eden:s", Message: "?"})
	refuse("other", "", "not this one")
	s.End("eden", coordination.TypeRunAborted, coordination.RunOver{RunID: "asker", SessionKey: "agent:eden:main"})
	flow("flow-2", "asker")
	refuse("asker", "", "too late")

	for id, want := range map[string][]string{
		"asker":      {"run asker", "  send flow-1", "  send flow-2"},
		"ws_refused": {"thread pair:dajim_eden", "run asker", "run other"},
	} {
		found := traced(t, db, id, trace.Options{Now: s.Now})
		if diff := cmp.Diff(want, outline(found)); diff != "" || found.Cut {
			t.Errorf("%s: cut %v\n%s", id, found.Cut, diff)
		}
		var reasons []string
		for _, m := range node(t, found, trace.Run, "asker").Messages {
			reasons = append(reasons, m.Reason)
		}
		if want := []string{"no pair", "no pair here", "too late"}; !slices.Equal(reasons, want) {
			t.Errorf("%s: refused %q, want %q", id, reasons, want)
		}
	}
	if n := node(t, traced(t, db, "asker", trace.Options{Now: s.Now}), trace.Flow, "flow-1"); len(n.Messages) != 1 {
		t.Errorf("of the flow: %+v", n.Messages)
	}
}
