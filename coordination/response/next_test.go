package response_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/response"
)

// step is what is said, and when.
type step struct {
	Minute   int64
	Kind     response.Kind
	Step, Of int
	Minutes  int
}

func timeline(w *world, looks ...time.Duration) (list []step) {
	w.t.Helper()
	for _, look := range looks {
		w.now = begin + look.Milliseconds()
		for _, a := range w.does(w.posted) {
			list = append(list, step{(w.now - begin) / 60_000, a.Kind, a.Step, a.Of, a.Minutes})
		}
	}
	return list
}

func every(d, until time.Duration) (looks []time.Duration) {
	for at := time.Duration(0); at <= until; at += d {
		looks = append(looks, at)
	}
	return looks
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	whole := []step{{5, response.Remind, 1, 3, 5}, {10, response.Remind, 2, 3, 10}, {15, response.Escalate, 3, 3, 15}}
	for _, tt := range []struct {
		name   string
		policy func(*response.Policy)
		looks  []time.Duration
		want   []step
	}{
		{"every minute", nil, every(time.Minute, time.Hour), whole},
		{"every second", nil, every(time.Second, 20*time.Minute), whole},
		{"just before", nil, []time.Duration{5*time.Minute - time.Millisecond, 10*time.Minute - time.Millisecond}, []step{{9, response.Remind, 1, 3, 9}}},
		{"after a restart the last one that is due", nil, []time.Duration{12 * time.Minute, 13 * time.Minute}, []step{{12, response.Remind, 2, 3, 12}}},
		{"far too late", nil, []time.Duration{16 * time.Minute, time.Hour}, []step{{16, response.Escalate, 3, 3, 16}}},
		{"a clock that goes back", nil, []time.Duration{-time.Hour, 5 * time.Minute, time.Minute, 9 * time.Minute, 10 * time.Minute}, whole[:2]},
		{"switched off", func(p *response.Policy) { p.Enabled = false }, every(time.Minute, time.Hour), nil},
		{"two steps of a minute", func(p *response.Policy) { p.After, p.Steps = time.Minute, 2 }, every(time.Second, time.Hour),
			[]step{{1, response.Remind, 1, 2, 1}, {2, response.Escalate, 2, 2, 2}}},
		{"one step", func(p *response.Policy) { p.Steps = 1 }, every(time.Minute, time.Hour), []step{{5, response.Escalate, 1, 1, 5}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := begins(t)
			w.asks("r1", "ruda", "eden")
			if tt.policy != nil {
				tt.policy(&w.policy)
			}
			equal(t, "what is said", timeline(w, tt.looks...), tt.want)
		})
	}
}

func TestFewerStepsThanWereTaken(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.asks("r1", "ruda", "eden")
	timeline(w, 10*time.Minute)
	w.policy.Steps, w.policy.After = 2, 7*time.Minute
	equal(t, "what is said", timeline(w, 11*time.Minute, 13*time.Minute, 14*time.Minute), []step{{14, response.Escalate, 2, 2, 14}})
}

func TestNextCheckTime(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.asks("r1", "ruda", "eden")
	w.after(2 * time.Minute)
	w.asks("r2", "ruda", "seum")
	for _, want := range []time.Duration{5, 7, 10, 12, 15, 17} {
		list, at := w.state.Next(w.policy, w.now)
		if len(list) != 0 || at != begin+(want*time.Minute).Milliseconds() {
			t.Fatalf("at +%d s: %d to do, looked at again at +%d s; want none, +%d s", (w.now-begin)/1000, len(list), (at-begin)/1000, int(want)*60)
		}
		w.now = at
		if did := w.does(w.posted); len(did) != 1 {
			t.Fatalf("at +%s %d things are due, want 1", want*time.Minute, len(did))
		}
	}
	if _, at := w.state.Next(w.policy, w.now); at != 0 {
		t.Errorf("nothing more is due, but looked at again at %d", at)
	}
}

func TestAnAnswerEndsIt(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.asks("r1", "ruda", "eden")
	equal(t, "what is said", timeline(w, 5*time.Minute), []step{{5, response.Remind, 1, 3, 5}})
	equal(t, "answered", w.hears(w.from("eden")), "r1")
	equal(t, "status", w.status("r1"), response.StatusResponded)
	equal(t, "what is said", timeline(w, every(time.Minute, time.Hour)...), []step(nil))
}

func TestAnswersAfterTheEscalation(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.asks("r1", "ruda", "eden")
	timeline(w, every(time.Minute, 15*time.Minute)...)
	equal(t, "status", w.status("r1"), response.StatusEscalated)
	e, ok := w.after(time.Hour).state.Match(w.from("eden"))
	if d, is := e.Data.(response.Responded); !ok || !is || !d.Late || d.WorkSessionID != "ws_1" || d.EventRole != coordination.RoleOrchestration || e.AgentID != "ruda" {
		t.Fatalf("%+v, want a late answer to r1, in its work session", e)
	}
	w.happens(e)
	equal(t, "status", w.status("r1"), response.StatusRespondedLate)
	equal(t, "the next message", w.hears(w.from("eden")), "")

	old := begins(t)
	old.asks("r1", "ruda", "eden")
	timeline(old, 15*time.Minute)
	equal(t, "a day later", old.after(response.Keep).hears(old.from("eden")), "")
}

func TestAnEscalationThatIsNotPosted(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.asks("r1", "ruda", "eden")
	w.now = begin + (15 * time.Minute).Milliseconds()
	nonce := ""
	for i := range response.MaxEscalate {
		did := w.does(func(response.Action) (string, string) { return "", "unavailable" })
		if len(did) != 1 || did[0].Kind != response.Escalate || !response.SystemNonce(did[0].Nonce) || nonce != "" && did[0].Nonce != nonce {
			t.Fatalf("try %d: %+v, want the escalation under one nonce", i+1, did)
		}
		nonce = did[0].Nonce
		equal(t, "status", w.status("r1"), response.StatusEscalated)
		if early := w.after(response.EscalateWait - time.Millisecond).does(w.posted); len(early) != 0 {
			t.Fatalf("%+v, want a pause", early)
		}
		w.after(time.Millisecond)
	}
	if did := w.does(w.posted); len(did) != 0 {
		t.Errorf("%+v, want no more tries", did)
	}

	posted := begins(t)
	posted.asks("r1", "ruda", "eden")
	posted.now = begin + (15 * time.Minute).Milliseconds()
	posted.does(func(response.Action) (string, string) { return "", "timeout" })
	if did := posted.after(time.Minute).does(posted.posted); len(did) != 1 {
		t.Fatalf("%+v, want the second try", did)
	}
	if did := posted.after(time.Hour).does(posted.posted); len(did) != 0 {
		t.Errorf("%+v, want nothing after it was posted", did)
	}
}

func TestQuietEscalation(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.policy.Notify = false
	w.asks("r1", "ruda", "eden")
	w.now = begin + (15 * time.Minute).Milliseconds()
	did := w.does(func(response.Action) (string, string) { return "", "" })
	if len(did) != 1 || !did[0].Quiet {
		t.Fatalf("%+v, want a quiet escalation", did)
	}
	if again := w.after(time.Hour).does(w.posted); len(again) != 0 || w.status("r1") != response.StatusEscalated {
		t.Errorf("%+v, %s", again, w.status("r1"))
	}
}

// A reminder that cannot be posted is not repeated: the next one follows.
func TestAReminderThatIsNotPosted(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.asks("r1", "ruda", "eden")
	w.now = begin + (5 * time.Minute).Milliseconds()
	w.does(func(response.Action) (string, string) { return "", "unavailable" })
	equal(t, "at once", len(w.does(w.posted)), 0)
	equal(t, "what is said", timeline(w, 10*time.Minute), []step{{10, response.Remind, 2, 3, 10}})
}

func TestWhatCanNeverBePosted(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.asks("r1", "ruda", "eden")
	w.happens(w.state.Find("r1").Impossible("not_found"))
	r := w.state.Find("r1")
	if r.Status != response.StatusFailed || r.Reason != "not_found" {
		t.Errorf("%+v, want failed, not_found", r)
	}
	equal(t, "what is said", timeline(w, every(time.Minute, time.Hour)...), []step(nil))
	equal(t, "answered", w.hears(w.from("eden")), "")
}

// Reminders are said by the bot of the agent who asks, so that the target does not take them for its own words.
func TestBug37_RemindersByTheBotThatHasAsked(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.asks("r1", "seum", "ruda") // ruda's is the default bot
	for _, at := range []time.Duration{5 * time.Minute, 15 * time.Minute} {
		w.now = begin + at.Milliseconds()
		for _, a := range w.does(w.posted) {
			equal(t, "the bot of the "+string(a.Kind), a.AccountID, "seum-bot")
		}
	}
}

// Events that come twice, or late, take nothing back.
func TestRemindersAreFoldedOnce(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.asks("r1", "ruda", "eden")
	var events []response.Event
	for _, at := range []time.Duration{5 * time.Minute, 10 * time.Minute} {
		w.now = begin + at.Milliseconds()
		list, _ := w.state.Next(w.policy, w.now)
		events = append(events, w.state.Find("r1").Done(list[0], w.snowflake(), ""))
		w.happens(events[len(events)-1])
	}
	before := w.stored()
	for _, e := range events {
		if w.after(time.Second).happens(e) || w.stored() != before {
			t.Errorf("%+v is folded twice", e)
		}
	}
}

func TestStateIsBounded(t *testing.T) {
	t.Parallel()
	w := begins(t)
	for i := range 50 {
		w.asks("r"+strings.Repeat("x", i), "ruda", "eden")
		w.hears(w.from("eden"))
		w.after(time.Hour)
	}
	if n := len(w.state.Requests); n > 26 {
		t.Errorf("%d requests are kept, want those of a day", n)
	}
	pending := begins(t)
	pending.asks("old", "ruda", "eden")
	pending.after(72*time.Hour).asks("new", "ruda", "seum")
	equal(t, "a request that is not over stays", pending.status("old"), response.StatusPending)
}

func TestApply(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.asks("r1", "ruda", "eden")
	before := w.stored()
	for _, tt := range []struct{ name, typ, data string }{
		{"unknown type", "a2a.send", `{"collabId":"r2"}`},
		{"redacted", coordination.TypeA2ACollaborateSent, ``},
		{"not tracked", coordination.TypeA2ACollaborateSent, `{"collabId":"r2","threadId":"1","toAgent":"eden"}`},
		{"no thread", coordination.TypeA2ACollaborateSent, `{"collabId":"r2","toAgent":"eden","tracked":true}`},
		{"unknown request", coordination.TypeA2ACollaborateResponded, `{"collabId":"r2","messageId":"5"}`},
		{"reminder of an unknown request", coordination.TypeCollabReminded, `{"collabId":"r2","attempt":1}`},
		{"escalation of an unknown request", coordination.TypeCollabEscalated, `{"collabId":"r2","attempt":3}`},
		{"failure of an unknown request", coordination.TypeA2ACollaborateFailed, `{"collabId":"r2","errorCode":"timeout"}`},
	} {
		if means, err := w.state.Apply(tt.typ, []byte(tt.data), w.now); means || err != nil || w.stored() != before {
			t.Errorf("%s: %v, %v, want nothing to change", tt.name, means, err)
		}
	}
	for _, typ := range []string{coordination.TypeA2ACollaborateSent, coordination.TypeA2ACollaborateResponded, coordination.TypeCollabReminded,
		coordination.TypeCollabEscalated, coordination.TypeA2ACollaborateFailed} {
		if _, err := w.state.Apply(typ, []byte(`{"collabId":7}`), w.now); err == nil || w.stored() != before {
			t.Errorf("%s with a number for an id: %v, want an error and no change", typ, err)
		}
	}
	long := response.Sent{RequestID: "r3", ThreadID: here, TargetAgent: "eden", Tracked: true, Original: strings.Repeat("가", 600) + "sk-0123456789abcdef0123"}
	w.happens(response.Event{Type: coordination.TypeA2ACollaborateSent, Data: long})
	equal(t, "what is kept of it", w.state.Find("r3").Original, strings.Repeat("가", response.MaxOriginal))
}
