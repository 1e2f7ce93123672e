package runner_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// Asked for at once from anywhere, a run is one.
//
// Promise: one-key
func TestInvariant29_OneKeyIsOneRun(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	var all sync.WaitGroup
	again := make(chan bool, 5)
	for i := range 5 {
		all.Go(func() {
			a := ask(t, "one key", "main", fmt.Sprint("hello ", i))
			accepted, err := h.Queue(t.Context(), a)
			if err != nil || accepted.RunID != "one key" || accepted.AcceptedAt == 0 || accepted.SessionKey != "agent:eden:main" {
				t.Errorf("got %+v, %v", accepted, err)
			}
			again <- accepted.Again
			if r := h.over("one key"); r.State != run.OK || !strings.HasPrefix(r.Over.Text, "echo: hello ") {
				t.Errorf("got %+v", r)
			}
		})
	}
	all.Wait()
	first := 0
	for range 5 {
		if !<-again {
			first++
		}
	}
	if first != 1 || len(h.transcript("main")) != 2 {
		t.Errorf("%d were the first; said was %q", first, h.transcript("main"))
	}
	h.checkSettled()
	// It is the same for ever, also for who asks something else under its name, or badly.
	unheardOf := ask(t, "one key", "main", "another")
	unheardOf.Model = "stranger/x"
	for _, a := range []run.Ask{ask(t, "one key", "main", "another"), ask(t, "one key", "other", ""), unheardOf, {}} {
		a.RunID = "one key"
		accepted := h.queue(a)
		if !accepted.Again || accepted.SessionKey != "agent:eden:main" || accepted.Now.State != run.OK || accepted.Now.Over.Text == "" {
			t.Errorf("got %+v", accepted)
		}
	}
}

func TestThereIsOnlySoMuchRoom(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{asleep: true, room: runqueue.Limits{SessionWaiting: 2, Waiting: 3}})
	for i, session := range []string{"a", "a", "b"} {
		if got := h.say(fmt.Sprint("r", i), session, "hi").Ahead; got != i%2 {
			t.Errorf("%d: %d ahead", i, got)
		}
	}
	if again := h.say("r1", "a", "hi"); !again.Again || again.Ahead != 1 || again.Now.State != run.Queued {
		t.Errorf("got %+v", again)
	}
	for session, want := range map[string]run.Busy{
		"a": {SessionKey: "agent:eden:a", Ahead: 2}, "b": {SessionKey: "agent:eden:b", Ahead: 3, All: true}, "c": {SessionKey: "agent:eden:c", Ahead: 3, All: true},
	} {
		_, err := h.Queue(t.Context(), ask(t, "too many", session, "hi"))
		var busy *run.Busy
		if !errors.As(err, &busy) || busy.OldestMs < 0 || busy.OldestMs > 60_000 {
			t.Fatalf("%s: got %v", session, err)
		}
		busy.OldestMs = 0
		if diff := cmp.Diff(want, *busy); diff != "" {
			t.Errorf("%s: %s", session, diff)
		}
	}
	h.wake()
	for i := range 3 {
		h.over(fmt.Sprint("r", i))
	}
	h.say("now", "a", "hi")
	h.ends("now", run.OK, "echo: hi")
}

func TestWhatIsNotAccepted(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{asleep: true})
	labelled := ask(t, "first", "main", "hi")
	labelled.Label = "taken"
	h.queue(labelled)
	h.patch("silent", `{"sendPolicy":"deny"}`)
	for name, c := range map[string]struct {
		session, code string
		change        func(*run.Ask)
	}{
		"denied":     {"silent", run.CodeNotAllowed, func(*run.Ask) {}},
		"label":      {"other", run.CodeInvalidAsk, func(a *run.Ask) { a.Label = "taken" }},
		"no message": {"other", run.CodeInvalidAsk, func(a *run.Ask) { a.Message = "" }},
		"no lane":    {"other", run.CodeUnknownLane, func(a *run.Ask) { a.Lane = "fast" }},
		"no model":   {"other", run.CodeUnknownModel, func(a *run.Ask) { a.Model = "stranger/x" }},
		"no such":    {"other", run.CodeUnknownModel, func(a *run.Ask) { a.Model = "x" }},
	} {
		a := ask(t, "no", c.session, "hi")
		c.change(&a)
		_, err := h.Queue(t.Context(), a)
		var refusal *run.Refusal
		if !errors.As(err, &refusal) || refusal.Reason != c.code || refusal.HintText == "" {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		if c.code == run.CodeUnknownModel && (refusal.Field != "model" || refusal.Value != a.Model || !strings.Contains(refusal.HintText, "models.list")) {
			t.Errorf("%s: got %+v", name, refusal)
		}
	}
	if _, found, err := h.Get(t.Context(), "no"); found || err != nil {
		t.Errorf("a run that was refused is there: %v", err)
	}
	// What is new begins with what was said of it.
	sub := ask(t, "sub", "subagent:u1", "hi")
	sub.Label, sub.SpawnedBy = "helper", "agent:eden:main"
	h.queue(sub)
	if s := h.session("subagent:u1"); s == nil || s.Label != "helper" || s.Spawner != "agent:eden:main" {
		t.Errorf("got %+v", s)
	}
}
