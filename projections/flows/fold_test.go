package flows_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// Given events, these are the flows, as List gives them, the last first; live, and rebuilt from the log.
func TestFold(t *testing.T) {
	t.Parallel()
	const waiting = "a send eden>seum waiting run a/1 turn 0 [1 1 0] due 1001"
	for name, c := range map[string]struct {
		events []eventstore.StreamAppend
		want   []string
	}{
		"asked for": {[]eventstore.StreamAppend{created(1, "a")}, []string{waiting}},
		"without a permit": {[]eventstore.StreamAppend{created(1, "a", dispatching)},
			[]string{"a send eden>seum dispatching [1 1 0] due 1001"}},
		"dispatched": {[]eventstore.StreamAppend{created(1, "a", dispatching), running(5, "a", "waiting", 300, "a", "seum")},
			[]string{"a send eden>seum waiting run a/1 turn 0 [1 5 0] due 300"}},
		"with an id that is no name": {[]eventstore.StreamAppend{created(1, "흐름 / 1"), moved(4, "흐름 / 1", "completed", coordination.A2AJob{})},
			[]string{"흐름 / 1 send eden>seum over run 흐름 / 1/1 turn 0 [1 4 4] ok"}},
		"a retry": {[]eventstore.StreamAppend{created(1, "a"), running(5, "a", "waiting", 300, "a.r2", "seum", func(j *coordination.A2AJob) { j.Attempt = 2 })},
			[]string{"a send eden>seum waiting run a.r2/2 turn 0 [1 5 0] due 300"}},
		"two turns": {[]eventstore.StreamAppend{created(1, "a"), running(5, "a", "turn", 300, "a.t1", "eden", turn(1, "좋아")),
			running(6, "a", "turn", 301, "a.t2", "seum", turn(2, "그럼")), running(7, "a", "announcing", 302, "a.a", "seum", turn(2, "끝"))},
			[]string{`a send eden>seum announcing run a.a/1 turn 2 [1 7 0] due 302 seum:"좋아" eden:"그럼" seum:"끝"`}},
		"completed": {[]eventstore.StreamAppend{created(1, "a"), moved(9, "a", "completed", coordination.A2AJob{LastText: "좋아"})},
			[]string{`a send eden>seum over run a/1 turn 0 [1 9 9] seum:"좋아" ok`}},
		"failed": {[]eventstore.StreamAppend{created(1, "a"), moved(9, "a", "failed", coordination.A2AJob{Outcome: "no_reply", Reason: "대기 시간 초과"})},
			[]string{"a send eden>seum over run a/1 turn 0 [1 9 9] no_reply 대기 시간 초과"}},
		"given up": {[]eventstore.StreamAppend{created(1, "a"), moved(9, "a", "abandoned", coordination.A2AJob{Reason: "stale"})},
			[]string{"a send eden>seum over run a/1 turn 0 [1 9 9] abandoned stale"}},
		"cancelled": {[]eventstore.StreamAppend{created(1, "a", dispatching), moved(9, "a", "cancelled", coordination.A2AJob{})},
			[]string{"a send eden>seum over [1 9 9] cancelled"}},
		"resumed": {[]eventstore.StreamAppend{created(1, "a"), moved(2, "a", "resumed", coordination.A2AJob{}), moved(3, "a", "resumed", coordination.A2AJob{})},
			[]string{"a send eden>seum waiting run a/1 turn 0 [1 1 0] due 1001 resumed 2"}},
		"it comes on after a restart": {[]eventstore.StreamAppend{created(1, "a"), moved(2, "a", "resumed", coordination.A2AJob{}),
			running(3, "a", "turn", 300, "a.t1", "eden", turn(1, "좋아"))}, []string{`a send eden>seum turn run a.t1/1 turn 1 [1 3 0] due 300 seum:"좋아"`}},
		"put off": {[]eventstore.StreamAppend{created(1, "a"), moved(2, "a", "resumed", coordination.A2AJob{}), running(3, "a", "waiting", 5_000, "a", "seum")},
			[]string{"a send eden>seum waiting run a/1 turn 0 [1 3 0] due 5000 resumed 1"}},
		"asked for twice": {[]eventstore.StreamAppend{created(1, "a"), created(2, "a", dispatching)}, []string{waiting}},
		"nothing moves it after its end": {[]eventstore.StreamAppend{created(1, "a"), moved(9, "a", "completed", coordination.A2AJob{}),
			running(10, "a", "turn", 300, "a.t1", "eden"), moved(11, "a", "failed", coordination.A2AJob{Outcome: "failed"}), created(12, "a")},
			[]string{"a send eden>seum over run a/1 turn 0 [1 9 9] ok"}},
		"what was not requested":     {[]eventstore.StreamAppend{running(1, "a", "turn", 300, "a.t1", "eden"), moved(2, "b", "completed", coordination.A2AJob{})}, nil},
		"what begins otherwise":      {[]eventstore.StreamAppend{moved(1, "a", "resumed", coordination.A2AJob{}), created(2, "a")}, nil},
		"what no phase is called by": {[]eventstore.StreamAppend{created(1, "a"), running(2, "a", "asleep", 300, "", "")}, []string{waiting}},
		"what an imported log says": {[]eventstore.StreamAppend{imported(created(1, "b")), created(1, "a"), imported(moved(2, "a", "failed", coordination.A2AJob{}))},
			[]string{waiting}},
		"what lies in the stream of another one": {[]eventstore.StreamAppend{created(1, "a"), in("job/a", moved(2, "b", "failed", coordination.A2AJob{})),
			in("log", moved(3, "a", "failed", coordination.A2AJob{})), in("conversation/c", created(4, "b")), in("job/c", created(5, "d"))}, []string{waiting}},
		"members of other types": {[]eventstore.StreamAppend{created(1, "a"), event(2, "job/a", coordination.TypeA2AJobRunning, map[string]any{"jobId": "a", "phase": 7}),
			event(3, "job/b", coordination.TypeA2AJobCreated, map[string]any{"jobId": "b", "kind": []int{1}})}, []string{waiting}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			for _, e := range c.events {
				l.append(t, e)
			}
			var got []string
			for _, r := range l.list(t, flows.Query{}) {
				got = append(got, brief(r))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			l.wantSameRebuilt(t)
		})
	}
}

// What a flow was asked for with is in its row; ByID finds it, and nothing else.
func TestRowSaysWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	l := setup(t)
	at := l.append(t, created(1, "a", payload("question", "q1", "h1"), requester("Agent:Eden:Main"), func(c *coordination.A2AJobCreated) {
		c.ParentConversationID, c.TaskID, c.FromAgent = "c-0", "task_1", "Eden"
	}))
	want := flows.Row{
		Seq: at.Events[0].Seq, JobID: "a", Kind: a2a.Send, Phase: a2a.Waiting, FromAgent: "eden", ToAgent: "seum", RequesterSessionKey: "agent:eden:main",
		RequesterRunID: "r0", TargetSessionKey: "agent:seum:a2a:c-a", ConversationID: "c-a", ParentConversation: "c-0", WorkSessionID: "ws_1", TaskID: "task_1",
		Preview: "안녕 세움", Intent: "question", PayloadType: "question", RunID: "a", Attempt: 1, EffectiveTurns: 2, DueAt: base + 1_001, CreatedAt: base + 1,
		ChangedAt: base + 1,
	}
	if diff := cmp.Diff([]flows.Row{want}, l.list(t, flows.Query{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, id := range []string{"a", "b"} {
		if r, found := l.byID(t, id); found != (id == "a") || found && r.Seq != want.Seq {
			t.Errorf("%s: %v, %+v", id, found, r)
		}
	}
}

// Lists are of what is asked for, the last first, page by page.
func TestListsAndCounts(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, created(1, "a"), created(2, "b", between("seum", "eden"), dispatching), created(3, "c", spawn, requester("agent:eden:work")),
		created(4, "d", func(c *coordination.A2AJobCreated) { c.WorkSessionID = "ws_2" }), created(5, "e"), created(6, "f"))
	l.append(t, moved(7, "a", "completed", coordination.A2AJob{}), moved(8, "e", "failed", coordination.A2AJob{Outcome: "blocked"}),
		moved(9, "f", "completed", coordination.A2AJob{}))
	third := l.list(t, flows.Query{})[2].Seq
	for name, c := range map[string]struct {
		q    flows.Query
		want []string
	}{
		"all":                        {flows.Query{}, []string{"f", "e", "d", "c", "b", "a"}},
		"a page":                     {flows.Query{Limit: 2}, []string{"f", "e"}},
		"the next":                   {flows.Query{Limit: 2, Before: third}, []string{"c", "b"}},
		"open":                       {flows.Query{Open: true}, []string{"d", "c", "b"}},
		"sends":                      {flows.Query{Kind: a2a.Send}, []string{"f", "e", "d", "b", "a"}},
		"spawns":                     {flows.Query{Kind: a2a.Spawn}, []string{"c"}},
		"from":                       {flows.Query{From: "Seum"}, []string{"b"}},
		"to":                         {flows.Query{To: "seum", Open: true}, []string{"d", "c"}},
		"of a conversation":          {flows.Query{ConversationID: "c-e"}, []string{"e"}},
		"of a work session":          {flows.Query{WorkSessionID: "ws_2"}, []string{"d"}},
		"open ones of a session":     {flows.Query{RequesterSessionKey: "agent:Eden:Main", Open: true}, []string{"d", "b"}},
		"of a work session, earlier": {flows.Query{WorkSessionID: "ws_1", Before: third, Limit: 1}, []string{"c"}},
		"none":                       {flows.Query{From: "dajim"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, l.ids(t, c.q)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	want := []flows.Tally{
		{Kind: a2a.Send, Phase: a2a.Dispatching, Flows: 1}, {Kind: a2a.Send, Phase: a2a.Over, Outcome: "blocked", Flows: 1},
		{Kind: a2a.Send, Phase: a2a.Over, Outcome: "ok", Flows: 2}, {Kind: a2a.Send, Phase: a2a.Waiting, Flows: 1},
		{Kind: a2a.Spawn, Phase: a2a.Waiting, Flows: 1},
	}
	if diff := cmp.Diff(want, projectiontest.Read(t, l, flows.Count)); diff != "" {
		t.Errorf("counts, -want +got:\n%s", diff)
	}
}

// A decision sees a flow with all that was asked for, as the events after that have left it.
func TestLoad(t *testing.T) {
	t.Parallel()
	l := setup(t)
	if f := l.load(t, "a"); f != nil {
		t.Errorf("there is %+v", f)
	}
	hop := 3
	full := func(c *coordination.A2AJobCreated) {
		c.Hop, c.IdempotencyKey, c.Fingerprint, c.MaxFlows, c.AnnounceChannel = &hop, "k", "f", 3, "discord"
	}
	wait := created(1, "a", full)
	posting := running(6, "a", "posting", 300, "a.a", "seum", turn(2, "끝"), func(j *coordination.A2AJob) { j.Post, j.Reason = "알립니다", "explicit_skip" })
	again := running(7, "a", "posting", 900, "", "", func(j *coordination.A2AJob) { j.Attempt, j.Turn = 2, 2 })
	var want a2a.Flow
	for _, a := range []eventstore.StreamAppend{wait, running(5, "a", "turn", 200, "a.t1", "eden", turn(1, "좋아")), posting, again,
		moved(8, "a", "resumed", coordination.A2AJob{})} {
		e := a.Events[0]
		at := l.append(t, a)
		if _, err := want.Apply(e.Type, e.Data, at.Events[0].Seq, e.TS); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, l.load(t, "a")); diff != "" {
			t.Errorf("after %s, -want +got:\n%s", e.Type, diff)
		}
	}
	l.rebuild(t)
	if diff := cmp.Diff(&want, l.load(t, "a")); diff != "" {
		t.Errorf("rebuilt, -want +got:\n%s", diff)
	}
	if want.Post != "알립니다" || want.EndedEarly != "explicit_skip" || len(want.Said) != 2 || want.Resumed != 1 {
		t.Errorf("this test is none: %+v", want)
	}
}

// A flow is known by its stream also when all of its events are redacted; its texts are gone.
func TestRedactedFlow(t *testing.T) {
	t.Parallel()
	l := setup(t)
	first := l.append(t, created(1, "a", dispatching))
	second := l.append(t, running(2, "a", "posting", 300, "", "", func(j *coordination.A2AJob) { j.Post = "알립니다" }))
	for _, r := range []eventstore.Result{first, second} {
		if err := l.Redact(t.Context(), r.Events[0].Seq); err != nil {
			t.Fatal(err)
		}
	}
	f := l.load(t, "a")
	if f == nil || !f.Redacted || f.Message != "" || f.Post != "" || f.JobID != "a" || f.ToAgent != "seum" || f.Phase != a2a.Posting {
		t.Errorf("redacted: %+v", f)
	}
	l.rebuild(t)
	if f = l.load(t, "a"); f == nil || !f.Redacted || f.JobID != "a" || f.ToAgent != "" || f.Phase != a2a.Waiting || f.RunID != "a" {
		t.Errorf("rebuilt: %+v", f)
	}
	if got := l.gate(t, "seum"); got != "0 active, 0 waiting" {
		t.Errorf("permits of who is not known: %s", got)
	}
	l.append(t, moved(3, "a", "resumed", coordination.A2AJob{}))
	if got := l.gate(t, "seum"); got != "1 active, 0 waiting" {
		t.Errorf("permits once an event says who it is: %s", got)
	}
	last := l.append(t, moved(4, "a", "cancelled", coordination.A2AJob{Reason: "stop"}))
	if err := l.Redact(t.Context(), last.Events[0].Seq); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := l.ids(t, flows.Query{Open: true}); got != nil {
			t.Errorf("open: %v", got)
		}
		if f := l.load(t, "a"); f == nil || f.Phase != a2a.Over || f.Outcome != "cancelled" {
			t.Errorf("over: %+v", f)
		}
		if got := l.gate(t, "seum"); got != "0 active, 0 waiting" {
			t.Error(got)
		}
		l.rebuild(t)
	}
}

// Jobs are visible to a fresh manager on the same store.
func TestInvariant22_JobsAreVisibleToAFreshManager(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.db")
	storetest.Copy(t, emptyLog, path)
	l := openAt(t, path)
	l.append(t, created(1, "a"), created(2, "b", dispatching), created(3, "c", spawn), created(4, "d"))
	l.append(t, running(5, "a", "turn", 300, "a.t1", "eden", turn(1, "좋아")), moved(6, "d", "failed", coordination.A2AJob{Outcome: "no_reply"}))
	rows, flow := l.list(t, flows.Query{}), l.load(t, "a")
	l.close(t)
	fresh := openAt(t, path)
	defer fresh.close(t)
	if diff := cmp.Diff(rows, fresh.list(t, flows.Query{})); diff != "" || len(rows) != 4 {
		t.Errorf("%d flows, -before +fresh:\n%s", len(rows), diff)
	}
	if diff := cmp.Diff(flow, fresh.load(t, "a")); diff != "" || flow.Turn != 1 {
		t.Errorf("-before +fresh:\n%s", diff)
	}
	if got := fresh.gate(t, "seum"); got != "1 active, 1 waiting b" {
		t.Error(got)
	}
}

// Flows of kind send that are open count for their target, each once: as active, or as waiting where they have no permit. The first that
// asked is the next.
func TestPermits(t *testing.T) {
	t.Parallel()
	l := setup(t)
	want := func(target, gate string) {
		t.Helper()
		if got := l.gate(t, target); got != gate {
			t.Errorf("%s: %s, want %s", target, got, gate)
		}
	}
	want("seum", "0 active, 0 waiting")
	l.append(t, created(1, "a"), created(2, "b"), created(3, "c", dispatching), created(4, "d", dispatching), created(5, "e", dispatching, between("eden", "dajim")),
		created(6, "f", spawn))
	want("seum", "2 active, 2 waiting c")
	want("SEUM", "2 active, 2 waiting c")
	for next, except := range map[string][]string{"d": {"c"}, "c": {"d"}, "": {"d", "c"}} {
		got := deciding(t, l, func(tx eventstore.Tx) (string, error) { return flows.Next(tx, "seum", except...) })
		if got != next {
			t.Errorf("next but %v: %q, want %q", except, got, next)
		}
	}
	want("dajim", "0 active, 1 waiting e")
	l.append(t, moved(7, "a", "completed", coordination.A2AJob{}), running(7, "c", "waiting", 300, "c", "seum"))
	want("seum", "2 active, 1 waiting d")
	l.append(t, moved(8, "d", "failed", coordination.A2AJob{Outcome: "blocked"}), moved(8, "d", "failed", coordination.A2AJob{}))
	want("seum", "2 active, 0 waiting")
	l.append(t, moved(9, "b", "completed", coordination.A2AJob{}), moved(9, "c", "cancelled", coordination.A2AJob{}), moved(9, "c", "cancelled", coordination.A2AJob{}))
	want("seum", "0 active, 0 waiting")
	want("dajim", "0 active, 1 waiting e")
}

// Sub-agents count for the session that started them as long as they are not over.
func TestChildren(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, created(1, "a", spawn), created(2, "b", spawn, requester("AGENT:eden:main")), created(3, "c", spawn, requester("agent:eden:other")), created(4, "d"))
	if n := l.children(t, "agent:eden:main"); n != 2 {
		t.Errorf("%d children", n)
	}
	if n := l.children(t, "Agent:Eden:Other"); n != 1 {
		t.Errorf("%d children of the other", n)
	}
	l.append(t, moved(5, "a", "completed", coordination.A2AJob{}))
	if n := l.children(t, "agent:eden:main"); n != 1 {
		t.Errorf("%d children are left", n)
	}
}
