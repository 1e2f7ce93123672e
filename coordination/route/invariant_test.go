package route_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// Two agents may exchange as much as the limit says, in both directions together and wherever. Other pairs have limits of their own.
func TestInvariant38_PairsAreLimitedExactlyAtTheThreshold(t *testing.T) {
	t.Parallel()
	w := discord(t)
	w.s.Policy.Guard.Place.Max, w.s.Policy.Guard.Turns = 100, 100
	w.s.Policy.Guard.Paired.Own = map[string]route.Limit{"seum::eden": {Max: 2, Span: time.Minute}} // in any order of ids
	says := func(from, to, place string) route.Decision {
		return w.after(time.Second).says(from, place, "@"+to+" 이건?")
	}
	for i := range 3 {
		w.want(says("ruda", "eden", channel), "eden=mentioned dropped:own_message observer:other_mentioned")
		w.want(says("eden", "ruda", fmt.Sprint(thread, i)), "ruda=mentioned dropped:own_message observer:not_participant")
	}
	w.want(says("ruda", "eden", channel), "dropped:own_message observer:other_mentioned observer:pair_limited")
	w.want(says("eden", "ruda", thread), "dropped:own_message observer:not_participant observer:pair_limited")
	w.want(says("dajim", "eden", channel), "eden=mentioned dropped:own_message observer:other_mentioned")
	w.want(says("human", "eden", channel), "eden=mentioned observer:other_mentioned")
	w.want(says("eden", "seum", channel), "seum=mentioned dropped:own_message observer:other_mentioned")
	w.want(says("seum", "eden", channel), "eden=mentioned dropped:own_message observer:other_mentioned")
	w.want(says("eden", "seum", channel), "dropped:own_message observer:other_mentioned observer:pair_limited")

	w.now = began + minute // the first of the six was a second after the beginning
	w.want(w.says("eden", channel, "@ruda"), "dropped:own_message observer:other_mentioned observer:pair_limited")
	w.want(says("ruda", "eden", channel), "eden=mentioned dropped:own_message observer:other_mentioned")
	w.want(w.says("eden", channel, "@ruda"), "dropped:own_message observer:other_mentioned observer:pair_limited")
}

// A request that was let counts for its pair, and is never held for it: the limit of requests has let it by.
func TestInvariant38_RequestsCountAndAreNotHeld(t *testing.T) {
	t.Parallel()
	w := discord(t)
	w.s.Policy.Guard.Place.Max, w.s.Policy.Guard.Turns = 100, 100
	for i := range 10 {
		m := w.after(time.Second).message("ruda", fmt.Sprint(thread, i), "@eden 이건?")
		m.Request = true
		w.want(w.hears(m), "eden=mentioned dropped:own_message observer:not_participant")
	}
	w.want(w.after(time.Second).says("eden", channel, "@ruda 이건?"), "dropped:own_message observer:other_mentioned observer:pair_limited")
}

func TestInvariant38_OwnLimitsInAnyOrder(t *testing.T) {
	t.Parallel()
	own, other := route.Limit{Max: 2, Span: time.Minute}, route.Limit{Max: 9, Span: time.Hour}
	for _, key := range []string{"a::b", "b::a"} {
		p := route.Pairs{Limit: other, Own: map[string]route.Limit{key: own}}
		if p.Of("a", "b") != own || p.Of("b", "a") != own || p.Of("a", "c") != other {
			t.Errorf("%s: %v %v %v", key, p.Of("a", "b"), p.Of("b", "a"), p.Of("a", "c"))
		}
	}
}

func TestInvariant38_AThreadIsSuspendedAndReleased(t *testing.T) {
	t.Parallel()
	w := discord(t)
	w.s.Policy.Guard.Paired.Max = 100
	w.collaborates("ruda", "eden")
	speakers := []string{"ruda", "eden"}
	for i := range 6 {
		d := w.after(5*time.Second).says(speakers[i%2], thread, "네")
		if len(d.Handlers()) != 1 || d.Suspend != nil || d.Turn != route.BotTurn {
			t.Fatalf("message %d: %s, %+v", i+1, short(d), d.Suspend)
		}
	}
	d := w.after(time.Second).says("ruda", thread, "네")
	w.want(d, "dropped:own_message observer:not_participant observer:thread_suspended")
	until := w.now + 5*minute
	want := route.Suspension{Place: thread, Reason: route.BotRate, Until: until}
	if d.Suspend == nil || *d.Suspend != want || w.count(coordination.TypeThreadSuspended) != 1 {
		t.Fatalf("%+v with %d events", d.Suspend, w.count(coordination.TypeThreadSuspended))
	}
	d = w.after(4*time.Minute).says("eden", thread, "네")
	if w.want(d, "dropped:own_message observer:not_participant observer:thread_suspended"); d.Suspend != nil {
		t.Errorf("suspended for the second time: %+v", d.Suspend)
	}
	w.want(w.says("human", thread, "계속해"), "eden=participant ruda=participant observer:not_participant")
	w.want(w.says("eden", thread, "네"), "dropped:own_message observer:not_participant observer:thread_suspended")
	if places, next := w.s.Guard.Due(w.now); len(places) != 0 || next != until {
		t.Errorf("due %v, next %d, want %d", places, next, until)
	}
	w.now = until
	if places, next := w.s.Guard.Due(w.now); !slices.Equal(places, []string{thread}) || next != 0 {
		t.Errorf("due %v, next %d", places, next)
	}
	d = w.says("eden", thread, "네")
	w.want(d, "ruda=participant dropped:own_message observer:not_participant")
	if !d.Release || w.count(coordination.TypeThreadReleased) != 1 {
		t.Errorf("released: %v", d.Release)
	}
	if places, next := w.s.Guard.Due(w.now); len(places) != 0 || next != 0 {
		t.Errorf("still due: %v, %d", places, next)
	}
}

// A loop of one message in half a minute never comes near the limit of a minute.
func TestInvariant40_TurnBudgetStopsASlowLoop(t *testing.T) {
	t.Parallel()
	for _, between := range []time.Duration{30 * time.Second, 10 * time.Minute} {
		w := discord(t)
		w.collaborates("ruda", "eden")
		speakers := []string{"ruda", "eden"}
		for i := range 12 {
			if d := w.after(between).says(speakers[i%2], thread, "네"); len(d.Handlers()) != 1 {
				t.Fatalf("message %d: %s", i+1, short(d))
			}
		}
		d := w.after(between).says("ruda", thread, "네")
		w.want(d, "dropped:own_message observer:not_participant observer:thread_suspended")
		if d.Suspend == nil || d.Suspend.Reason != route.BotTurns {
			t.Errorf("suspended: %+v", d.Suspend)
		}
	}

	w := discord(t)
	w.collaborates("ruda", "eden")
	for i := range 40 { // a person now and then
		if d := w.after(30*time.Second).says("ruda", thread, "네"); len(d.Handlers()) != 1 {
			t.Fatalf("message %d: %s", i+1, short(d))
		}
		if i%10 == 9 {
			w.says("human", thread, "좋아")
		}
	}
}

// The same for agents that call each other in a channel.
func TestInvariant40_InChannelsToo(t *testing.T) {
	t.Parallel()
	w := discord(t)
	runs := 0
	for range 30 {
		d := w.after(30*time.Second).says("ruda", channel, "@eden 네")
		runs += len(d.Handlers())
		w.says("dajim", channel, "저는 아무도 부르지 않습니다") // is not counted
	}
	if want := 12 + 8; runs != want { // 12, then the one that is too many, 5 minutes in all, and the rest
		t.Errorf("%d runs, want %d", runs, want)
	}
}

// What openclawd posts in an agent's name uses up nothing and answers nothing.
func TestInvariant41_RemindersDoNotCount(t *testing.T) {
	t.Parallel()
	w := discord(t)
	w.collaborates("ruda", "eden")
	for range 30 {
		m := w.after(time.Second).message("ruda", thread, "[리마인더] @eden 위 요청 확인 부탁해요.")
		m.System = true
		d := w.hears(m)
		w.want(d, "eden=mentioned dropped:own_message observer:system_text")
		if d.Answers || d.Turn != route.NoTurn {
			t.Fatalf("answers: %v, turn %q", d.Answers, d.Turn)
		}
	}
	if len(w.s.Guard.Places) != 0 || len(w.s.Guard.Pairs) != 0 {
		t.Errorf("the guard has counted %+v", w.s.Guard)
	}
	if d := w.says("eden", thread, "여기 있습니다"); !d.Answers {
		t.Error("an answer is none")
	}
	if d := w.says("human", thread, "여기 있습니다"); d.Answers {
		t.Error("a person answers for an agent")
	}
	m := w.message("eden", thread, "@ruda 보고")
	m.ThreadName = route.ReportPrefix + " x"
	if d := w.hears(m); d.Answers || d.Turn != route.NoTurn {
		t.Error("a report counts")
	}
	if d := w.says("eden", channel, "끝"); d.Answers {
		t.Error("what is said in a channel answers in a thread")
	}
}

// Handlers and observers are all that see a message. As many handle it as are mentioned, or one.
func TestInvariant48_HandlersAndObserversAreAll(t *testing.T) {
	t.Parallel()
	for mentioned := range 1 << 4 {
		w := discord(t)
		text, n := "안녕", 0
		for i, agent := range []string{"ruda", "eden", "seum", "dajim"} {
			if mentioned&(1<<i) != 0 {
				text, n = text+" @"+agent, n+1
			}
		}
		for _, place := range []string{channel, thread} {
			want := n
			if n == 0 && place == channel {
				want = 1
			}
			d := w.says("human", place, text)
			if n := modes(d, route.Handler); n != want {
				t.Errorf("%s: %d handle it, want %d", text, n, want)
			}
			if modes(d, route.Handler)+modes(d, route.Observer) != 4 {
				t.Errorf("%s: %s", text, short(d))
			}
		}
	}
}

func modes(d route.Decision, mode route.Mode) (n int) {
	for _, v := range d.Verdicts {
		if v.Mode == mode {
			n++
		}
	}
	return n
}

func TestInvariant49_ReportsCauseNoRun(t *testing.T) {
	t.Parallel()
	for _, author := range []string{"human", "ruda", "reporter", "foreign"} {
		for _, change := range []func(*route.Message){
			func(m *route.Message) { m.ThreadID = "700000000000000099" },
			func(m *route.Message) { m.ThreadID, m.ThreadName = thread, "[리포트] a2a.response · 12:00" },
			func(m *route.Message) { m.Author.ID = userID("reporter") },
		} {
			w := discord(t)
			w.s.Policy.ForeignBots = route.ForeignYes
			w.collaborates("ruda", "eden")
			m := w.message(author, channel, "@eden @ruda @seum 보세요")
			change(&m)
			d := w.hears(m)
			if n := modes(d, route.Handler) + modes(d, route.Observer); n != 0 || len(d.Enrol) != 0 || d.Turn != route.NoTurn {
				t.Errorf("%s: %s, enrolled %v", author, short(d), d.Enrol)
			}
			if e, _ := inbound(w.events[0]); e.Reason != string(route.SinkPost) && e.Reason != string(route.SinkThread) {
				t.Errorf("%s: the reason that is stored is %q", author, e.Reason)
			}
		}
	}
}

func TestInvariant50_WhatObserversKeep(t *testing.T) {
	t.Parallel()
	w := discord(t)
	long := strings.Repeat("길고 긴 이야기 ", 40)
	for i := range 200 {
		w.after(time.Second).says("human", channel, fmt.Sprintf("@ruda %d번 %s #%d https://x.dev/%d", i, long, i+1, i))
		for _, e := range w.events {
			d, _ := inbound(e)
			if text, _ := json.Marshal(e.Data); e.Type == coordination.TypeDiscordInboundObserved &&
				(d.Text != "" || utf8.RuneCountInString(d.Summary) > 50 || strings.Contains(string(text), strings.TrimSpace(long[:len(long)/5]))) {
				t.Fatalf("observers keep %s", text)
			}
			if e.Type == coordination.TypeDiscordInboundHandled && len(d.Text) < len(long) {
				t.Fatalf("the handler keeps %q", d.Text)
			}
		}
	}
	w.says("human", thread, "다른 곳")
	for agent, want := range map[string]int{"ruda": 0, "eden": 50, "seum": 50, "dajim": 50} {
		if n := w.history.Len(agent, channel); n != want {
			t.Errorf("%s has observed %d here, want %d", agent, n, want)
		}
	}
	w.after(time.Second).says("human", channel, "@dajim 루다가 뭐래?")
	seen := w.history.Of("dajim", channel, w.now)
	if len(seen) != 50 || !strings.HasPrefix(seen[0].Summary, "@루다 150번") || seen[49].Tokens.PRs[0] != 200 || seen[49].Sender != "human" {
		t.Errorf("dajim remembers %d messages once it was told: %+v", len(seen), seen[:min(1, len(seen))])
	}

	w.now = began + 24*hour + 100_000 // the first hundred are too old
	if n := len(w.history.Of("eden", channel, w.now)); n != 50 {
		t.Errorf("%d are young enough, want 50", n)
	}
	w.now = began + 24*hour + 180_000 // up to the 180th
	if n := len(w.history.Of("eden", channel, w.now)); n != 21 {
		t.Errorf("%d are young enough, want 21", n)
	}
	w.history.Forget(w.now)
	if n := w.history.Len("eden", channel); n != 21 {
		t.Errorf("%d are kept, want 21", n)
	}
}
