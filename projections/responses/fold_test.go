package responses_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/responses"
)

const (
	minute = int64(60_000)
	hour   = 60 * minute
	day    = 24 * hour
)

// A request is known with all its details, also after a restart and when the tables are rebuilt.
func TestARequestIsKnownAsItWasAskedAndAnswered(t *testing.T) {
	t.Parallel()
	l := setup(t)
	a := asks("요청 / 1")
	hop := 1
	asked := responses.Row{Request: response.Request{Context: coordination.Context{WorkSessionID: "ws_1", TaskID: "task_1", Hop: &hop,
		EventRole: coordination.RoleOrchestration}, ID: a.id, FromAgent: "ruda", TargetAgent: "eden", Original: "코드 리뷰 요청 / 1"},
		Key: a.key, Delivery: collaborate.StatusAccepted, Route: collaborate.RouteNew, ThreadName: "name of " + a.id, ChannelID: "100", GuildID: "500", SessionKey: "agent:ruda:main",
		RunID: "run_" + a.id, AcceptedAt: base + 1, Version: 1, Seq: 1, LastSeq: 1}
	l.append(t, a.requested(1))
	want(t, "asked", l.load(t, a.id), asked)
	l.append(t, a.opened(2))
	asked.ThreadID, asked.ThreadName, asked.LastSeq = "900", "[협업] 루다 → 이든", 2
	want(t, "the thread is open", l.load(t, a.id), asked)
	l.append(t, a.sent(10, "1001", "1002"), a.reminded(20, 1, "1003"), a.responded(30, "1004"))
	asked.Request = response.Request{Context: coordination.Context{WorkSessionID: "ws_1", TaskID: "task_1", Hop: &hop,
		EventRole: coordination.RoleOrchestration}, ID: a.id, ThreadID: "900", FromAgent: "ruda", FromAccount: "ruda-bot", TargetAgent: "eden",
		TargetBot: "77", MessageIDs: []string{"1001", "1002"},
		Original: "코드 리뷰 요청 / 1", SentAt: base + 9, Status: response.StatusResponded, Step: 1, LastAttemptAt: base + 20, SystemIDs: []string{"1003"},
		RespondedAt: base + 30, AnswerID: "1004"}
	asked.Delivery, asked.Version, asked.LastSeq = collaborate.StatusSent, 4, 5
	for _, when := range []string{"live", "opened again", "rebuilt"} {
		want(t, when, l.load(t, a.id), asked)
		want(t, when+": in the thread", l.lastIn(t, "900"), asked)
		want(t, when+": kept", l.between(t, "ruda", "eden", 40), collaborate.State{
			Requests: map[string]collaborate.Earlier{a.key: {RequestID: a.id, Content: "hash of " + a.id, At: base + 1, Base: base + 1, Status: collaborate.StatusSent,
				ThreadID: "900", ThreadName: "[협업] 루다 → 이든", ChannelID: "100", MessageIDs: []string{"1001", "1002"}}},
			Pairs: map[string][]int64{"eden::ruda": {base + 1}},
			Threads: map[string]collaborate.Kept{"ruda:eden": {ThreadID: "900", ThreadName: "[협업] 루다 → 이든", ChannelID: "100", CreatedAt: base + 2,
				LastUsedAt: base + 10, MessageCount: 2}}})
		if when == "live" {
			l.reopen(t)
		} else {
			l.rebuild(t)
		}
	}
	if r := l.load(t, "unheard_of"); r.Seq != 0 {
		t.Errorf("it is known: %+v", r)
	}
	if r := l.lastIn(t, ""); r.Seq != 0 {
		t.Errorf("something was asked in no thread: %+v", r)
	}
}

// What was posted in a thread in which both are already waits for no answer, and is the last that was asked there.
func TestWhatWaitsForNoAnswer(t *testing.T) {
	t.Parallel()
	l := setup(t)
	first, shared := asks("c1"), asking{id: "c2", from: "eden", target: "seum", thread: "900", route: collaborate.RouteShared, key: "k", untracked: true}
	l.append(t, first.requested(1), first.opened(2), first.sent(3, "1001"), shared.requested(4), shared.sent(5, "1002"))
	r := l.load(t, "c2")
	want(t, "status", r.Status, response.Status(""))
	want(t, "where and what", []any{r.ThreadID, r.MessageIDs, r.Delivery, r.SentAt}, []any{"900", []string{"1002"}, collaborate.StatusSent, int64(base + 4)})
	want(t, "the last in the thread", l.lastIn(t, "900").ID, "c2")
	want(t, "waits for seum", len(l.open(t, "900", "seum").Requests), 0)
	want(t, "waits for eden", len(l.open(t, "900", "eden").Requests), 1)
	l.rebuild(t)
}

// Requests are matched in the order in which they were sent, the escalated ones among those that wait.
func TestOpenIsInTheOrderOfSending(t *testing.T) {
	t.Parallel()
	l := setup(t)
	var ids []string
	for i := range 6 {
		a := asks(fmt.Sprint("c", i))
		ms := int64(i) * minute
		l.append(t, a.requested(ms), a.sent(ms+2, fmt.Sprint(1000+i)))
		ids = append(ids, a.id)
	}
	l.append(t, asks("c1").escalated(20*minute, "2001", ""), asks("c2").responded(20*minute, "2002"), asks("c4").escalated(21*minute, "2003", "timeout"))
	s := l.open(t, "900", "eden")
	var got []string
	for _, r := range s.Requests {
		got = append(got, r.ID)
	}
	want(t, "requests", got, ids)
	want(t, "of another agent", l.open(t, "900", "seum"), response.State{})
	want(t, "in another thread", l.open(t, "901", "eden"), response.State{})
	for _, id := range []string{"c0", "c1", "c3", "c4", "c5"} {
		e, ok := s.Match(response.Message{ID: "3" + id[1:] + "000", ThreadID: "900", AgentID: "eden", At: base + 30*minute, Text: "했다"})
		if !ok || e.Data.(response.Responded).RequestID != id {
			t.Fatalf("%+v, %v; want an answer to %s", e, ok, id)
		}
		l.append(t, asks(id).responded(30*minute, e.Data.(response.Responded).MessageID))
		s = l.open(t, "900", "eden")
	}
	want(t, "nothing waits any more", s, response.State{})
}

// What came in a while after it was posted, or long after it was over, is kept: only decisions leave it out.
func TestNothingIsForgotten(t *testing.T) {
	t.Parallel()
	l := setup(t)
	late := asks("c1")
	l.append(t, late.requested(0), late.opened(1), late.sent(2, "1001"))
	answer := late.responded(3, "1002")
	answer.Events[0] = answer.Events[0].WithTS(base + 3*day) // the program was away
	l.append(t, answer, late.reminded(5*day, 1, "1003"))
	r := l.load(t, "c1")
	want(t, "what is known", []any{r.Status, r.RespondedAt, r.AnswerID, r.SystemIDs}, []any{response.StatusResponded, int64(base + 3), "1002", []string{"1003"}})

	slow := asks("c2")
	l.append(t, slow.requested(6*day), slow.sent(6*day+hour, "1004"))
	want(t, "sent after more than five minutes", l.load(t, "c2").Delivery, collaborate.StatusSent)
	want(t, "held against another one", l.between(t, "ruda", "eden", 6*day+hour).Requests, map[string]collaborate.Earlier{})
	want(t, "used last", l.between(t, "ruda", "eden", 6*day+hour).Threads["ruda:eden"].LastUsedAt, int64(base+6*day+hour))
	want(t, "a week later", l.between(t, "ruda", "eden", 13*day+hour).Threads, map[string]collaborate.Kept{})
	again := asks("c3")
	l.append(t, again.requested(14*day), again.sent(14*day+1, "1005"))
	want(t, "a thread that was not kept is not kept again", l.between(t, "ruda", "eden", 14*day+2).Threads, map[string]collaborate.Kept{})
	l.rebuild(t)
}

// A request whose thread is gone is decided again: it is under way again, counts once, and its thread is another one.
func TestDecidedAgain(t *testing.T) {
	t.Parallel()
	l := setup(t)
	a := asks("c1")
	a.route = collaborate.RouteReused
	l.append(t, asks("c0").requested(0), asks("c0").opened(1), asks("c0").sent(2, "1"), a.requested(10), a.failed(20, "", true, "ruda:eden"))
	want(t, "failed", l.load(t, "c1").Delivery, collaborate.StatusFailed)
	want(t, "kept", len(l.between(t, "ruda", "eden", 20).Threads), 0)
	a.again, a.route, a.thread, a.forgets = true, collaborate.RouteNew, "901", "ruda:eden"
	l.append(t, a.requested(20))
	r := l.load(t, "c1")
	want(t, "under way", []any{r.Delivery, r.Code, r.Route, r.ThreadID, r.AcceptedAt}, []any{collaborate.StatusAccepted, "", collaborate.RouteNew, "", int64(base + 10)})
	s := l.between(t, "ruda", "eden", 21)
	want(t, "counted", s.Pairs, map[string][]int64{"eden::ruda": {base, base + 10}})
	want(t, "in the other direction", l.between(t, "eden", "ruda", 21).Pairs, s.Pairs)
	l.append(t, a.opened(30), a.sent(31, "1001"))
	r = l.load(t, "c1")
	want(t, "sent", []any{r.Delivery, r.ThreadID, r.Status}, []any{collaborate.StatusSent, "901", response.StatusPending})
	l.rebuild(t)
}

// Why a request was not delivered is known.
func TestWhatWasNotDelivered(t *testing.T) {
	t.Parallel()
	l := setup(t)
	denied, lost, blind := asks("c1"), asks("c2"), asks("c3")
	effect := "collab/c2"
	l.append(t, denied.requested(1), denied.failed(2, "denied", false, ""), lost.requested(3),
		event(4, coordination.WorkStream(effect), coordination.TypeDiscordDeliveryUnknown, "ruda", coordination.DiscordOutbound{EffectID: effect, ChannelID: "100",
			Purpose: delivery.Request, CollabID: "c2", ErrorCode: collaborate.CodeUnknown, Error: "the answer was lost"}),
		blind.requested(5), blind.sent(6, "1001"),
		event(7, coordination.WorkStream("collab/c3/remind/1"), coordination.TypeDiscordDeliveryUnknown, "ruda", coordination.DiscordOutbound{
			EffectID: "collab/c3/remind/1", Purpose: delivery.Reminder, CollabID: "c3", ErrorCode: collaborate.CodeUnknown}))
	said := func(id string) []any {
		r := l.load(t, id)
		return []any{r.Delivery, r.Code, r.Error, r.Status}
	}
	want(t, "the name that its thread was to have", l.load(t, "c1").ThreadName, "name of c1")
	want(t, "denied", said("c1"), []any{collaborate.StatusFailed, "denied", "Discord says no", response.Status("")})
	want(t, "lost", said("c2"), []any{collaborate.StatusUnknown, collaborate.CodeUnknown, "the answer was lost", response.Status("")})
	want(t, "its reminder was lost", said("c3"), []any{collaborate.StatusSent, "", "", response.StatusPending})
	l.append(t, blind.failed(8, "not_found", false, ""))
	want(t, "nothing can be posted there any more", said("c3"), []any{collaborate.StatusFailed, "not_found", "Discord says no", response.StatusFailed})
	l.rebuild(t)
}

// Lists select by each member, and go on from where the one before has ended.
func TestLists(t *testing.T) {
	t.Parallel()
	l := setup(t)
	c1, c2, c4 := asks("c1"), asks("c2"), asks("c4")
	c2.thread = "901"
	c3 := asking{id: "c3", from: "eden", target: "seum", thread: "900", route: collaborate.RouteNamed, key: "k"}
	other := c4.requested(4)
	other.Events[0].Data = json.RawMessage(`{"collabId":"c4","key":"k4","fromAgent":"ruda","toAgent":"seum","workSessionId":"ws_2"}`)
	l.append(t, c1.requested(1), c1.opened(1), c2.requested(2), c3.requested(3), other, c1.sent(5, "1001"), c1.responded(6, "1002"), c2.sent(7, "1003"),
		c4.failed(8, "denied", false, ""))
	for name, c := range map[string]struct {
		q    responses.Query
		want []string
	}{
		"all":               {responses.Query{}, []string{"c4 failed ", "c3 accepted ", "c2 sent pending", "c1 sent responded"}},
		"the newest":        {responses.Query{Limit: 2}, []string{"c4 failed ", "c3 accepted "}},
		"those before":      {responses.Query{Limit: 2, Before: 4}, []string{"c2 sent pending", "c1 sent responded"}},
		"one":               {responses.Query{CollabID: "c2"}, []string{"c2 sent pending"}},
		"in a thread":       {responses.Query{ThreadID: "900"}, []string{"c3 accepted ", "c1 sent responded"}},
		"of an agent":       {responses.Query{From: "Ruda"}, []string{"c4 failed ", "c2 sent pending", "c1 sent responded"}},
		"to an agent":       {responses.Query{Target: "SEUM"}, []string{"c4 failed ", "c3 accepted "}},
		"of one to another": {responses.Query{From: "ruda", Target: "eden", Limit: 1}, []string{"c2 sent pending"}},
		"of a work session": {responses.Query{WorkSession: "ws_1"}, []string{"c3 accepted ", "c2 sent pending", "c1 sent responded"}},
		"pending":           {responses.Query{Status: response.StatusPending}, []string{"c2 sent pending"}},
		"failed":            {responses.Query{Delivery: collaborate.StatusFailed}, []string{"c4 failed "}},
		"all that can be": {responses.Query{ThreadID: "900", WorkSession: "ws_1", From: "ruda", Target: "eden", Status: response.StatusResponded,
			Delivery: collaborate.StatusSent, Before: 9}, []string{"c1 sent responded"}},
		"one of another":      {responses.Query{CollabID: "c2", From: "eden"}, nil},
		"of an unknown agent": {responses.Query{From: "stranger"}, nil},
		"sent, of an agent":   {responses.Query{From: "ruda", Delivery: collaborate.StatusSent, Before: 3}, []string{"c1 sent responded"}},
		"in no thread of his": {responses.Query{ThreadID: "901", From: "eden"}, nil},
	} {
		list := func(q responses.Query) (lines []string) {
			for _, r := range projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]responses.Row, error) { return responses.List(ctx, tx, q) }) {
				lines = append(lines, fmt.Sprintf("%s %s %s", r.ID, r.Delivery, r.Status))
			}
			return lines
		}
		want(t, name, list(c.q), c.want)
		whole := c.q
		whole.Limit = 0
		want(t, "count of "+name, projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (int, error) { return responses.Count(ctx, tx, c.q) }), len(list(whole)))
	}
	want(t, "threads", projectiontest.Read(t, l, responses.Threads), map[string]collaborate.Kept{"ruda:eden": {ThreadID: "900", ThreadName: "[협업] 루다 → 이든",
		ChannelID: "100", CreatedAt: base + 1, LastUsedAt: base + 5, MessageCount: 1}})
}

// What makes no sense changes nothing: imported events, those of other streams, what cannot be read, what follows on nothing, threads of reports.
func TestWhatMakesNoSenseChangesNothing(t *testing.T) {
	t.Parallel()
	l := setup(t)
	with := func(a eventstore.StreamAppend, change func(*eventstore.StreamAppend)) eventstore.StreamAppend {
		a.Events = slices.Clone(a.Events)
		change(&a)
		return a
	}
	imported := func(a *eventstore.StreamAppend) { a.Events[0].Actor = eventstore.ActorImport }
	in := func(stream string) func(*eventstore.StreamAppend) {
		return func(a *eventstore.StreamAppend) { a.Stream = stream }
	}
	of := func(data string) func(*eventstore.StreamAppend) {
		return func(a *eventstore.StreamAppend) { a.Events[0].Data = json.RawMessage(data) }
	}
	a := asks("c1")
	l.append(t, with(a.requested(1), imported), a.responded(2, "9"), a.failed(3, "denied", false, ""), a.escalated(4, "8", ""),
		with(a.requested(5), in("log")), with(a.requested(6), in("thread/900")), with(a.requested(7), in(coordination.CollabStream("c2"))),
		with(a.requested(8), of(`{"collabId":"c1","key":7}`)), with(a.requested(9), of(`{"key":"k"}`)), with(a.sent(10, "9"), in(coordination.WorkStream("collab/c1"))),
		with(a.opened(11), in("thread/900")), with(a.opened(12), in(coordination.WorkStream("collab/c2"))), with(a.opened(13), imported),
		with(a.opened(14), of(`{"threadId":"900","reuseKey":"ruda:eden","reportOf":"conv_1"}`)), with(a.opened(15), of(`{"threadId":900}`)))
	known := func() []string { return l.dump(t)[1:] } // without the checkpoint
	want(t, "known", known(), []string{})
	l.append(t, a.requested(20), a.opened(21), a.sent(22, "1001"))
	before := known()
	l.append(t, with(a.responded(23, "9"), imported), with(a.responded(24, "9"), in("thread/900")),
		with(a.failed(25, "denied", false, "ruda:eden"), in(coordination.WorkStream("collab/c1"))))
	want(t, "changed", known(), before)
	l.append(t, with(a.responded(26, "9"), of(`{"collabId":"c1","messageId":7}`)), with(a.failed(27, "x", false, ""), of(`{"collabId":"c2","errorCode":"x"}`)))
	r := l.load(t, "c1")
	want(t, "how it stands", []any{r.Status, r.Delivery}, []any{response.StatusPending, collaborate.StatusSent})
	l.rebuild(t)
}

// A redaction removes the text and, after a rebuild, its effects; that something was asked, sent, answered is still known from its stream.
func TestRedactionTakesTheWords(t *testing.T) {
	t.Parallel()
	l := setup(t)
	answered, waiting, escalated, failed := asks("c1"), asks("요청 / 2"), asks("c3"), asks("c4")
	l.append(t, answered.requested(1), answered.opened(2), answered.sent(3, "1001"), answered.reminded(4, 1, "1002"), answered.responded(5, "1003"),
		waiting.requested(6), waiting.sent(7, "1004"),
		escalated.requested(8), escalated.sent(9, "1005"), escalated.reminded(10, 1, "1006"), escalated.escalated(11, "1007", ""),
		failed.requested(12), failed.failed(13, "denied", false, ""))
	for _, seq := range []int64{1, 4, 5, 6, 7, 8, 10, 11, 12, 13} {
		if err := l.Redact(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
	said := func(id string) []any {
		r := l.load(t, id)
		return []any{r.Delivery, r.Status, r.FromAgent, r.TargetAgent, r.Step, r.Original}
	}
	want(t, "answered", said("c1"), []any{collaborate.StatusSent, response.StatusResponded, "ruda", "eden", 1, "코드 리뷰 c1"})
	want(t, "all of it redacted", said(waiting.id), []any{collaborate.StatusSent, response.Status(""), "ruda", "", 0, ""})
	want(t, "the thread of what is redacted", l.load(t, "c1").ThreadID, "900")
	want(t, "escalated", said("c3"), []any{collaborate.StatusSent, response.StatusEscalated, "ruda", "eden", 1, "코드 리뷰 c3"})
	want(t, "it is not reported again", l.load(t, "c3").Told, true)
	want(t, "failed", said("c4"), []any{collaborate.StatusFailed, response.Status(""), "ruda", "", 0, ""})
	want(t, "counted", l.between(t, "ruda", "eden", 20).Pairs, map[string][]int64{})
	want(t, "held against others", l.between(t, "ruda", "eden", 20).Requests, map[string]collaborate.Earlier{})
	want(t, "matched again", l.open(t, "900", "eden").Requests != nil, true)
	e, ok := stateOf(l.open(t, "900", "eden")).Match(response.Message{ID: "2000", ThreadID: "900", AgentID: "eden", At: base + 20, Text: "했다"})
	if !ok || e.Data.(response.Responded).RequestID != "c3" {
		t.Errorf("%+v, %v; want an answer to the unanswered one", e, ok)
	}
}

func stateOf(s response.State) *response.State { return &s }

// What is read for a decision is bounded, however much was asked.
func TestWhatIsReadIsBounded(t *testing.T) {
	t.Parallel()
	l := setup(t)
	const asked = 300
	var appends []eventstore.StreamAppend
	for i := range asked {
		a := asks(fmt.Sprint("c", i))
		ms := int64(i) * hour / 10
		appends = append(appends, a.requested(ms), a.sent(ms+1, fmt.Sprint(100_000+2*i)))
		if i < asked-1 {
			appends = append(appends, a.responded(ms+2, fmt.Sprint(100_001+2*i)))
		}
	}
	for part := range slices.Chunk(appends, 100) {
		l.append(t, part...)
	}
	now := int64(asked-1)*hour/10 + 3
	s := l.open(t, "900", "eden")
	want(t, "requests of the thread", len(s.Requests), 201)
	want(t, "the one that waits", s.Requests[200].ID, fmt.Sprint("c", asked-1))
	between := l.between(t, "ruda", "eden", now)
	want(t, "requests of the last five minutes", len(between.Requests), 1)
	want(t, "times of the last hour", len(between.Pairs["eden::ruda"]), 10)
	want(t, "in order", slices.IsSorted(between.Pairs["eden::ruda"]), true)
	want(t, "an hour", time.Duration(between.Pairs["eden::ruda"][9]-between.Pairs["eden::ruda"][0])*time.Millisecond < time.Hour, true)
}
