package a2a_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// Whatever happens in whatever order, a flow keeps its promises at each moment, and comes to its end.
//
// Promise: flow-once
func TestFlowsKeepTheirPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := anyFlow(t)
		for n := rapid.IntRange(0, 40).Draw(t, "steps"); n > 0 && w.flow.Phase != a2a.Over; n-- {
			w.now += rapid.Int64Range(0, 400_000).Draw(t, "later")
			w.happen(t, rapid.SampledFrom(happenings).Draw(t, "what"))
			w.checkWhole(t)
			w.checkFold(t)
		}
		w.finishes(t)
		w.checkWhole(t)
	})
}

// anyFlow draws a new flow of any kind, whose first run may be refused.
func anyFlow(t *rapid.T) *world {
	w := newWorld()
	var s a2a.Step
	if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
		s = a2a.BeginSpawn(delegation(func(c *coordination.A2AJobCreated) { c.Message = "작업: " + anyText(t) }), w.now)
	} else {
		active, waiting := rapid.IntRange(0, 4).Draw(t, "active"), rapid.IntRange(0, 1).Draw(t, "waiting")
		s = a2a.Begin(exchange(func(c *coordination.A2AJobCreated) {
			c.Message, c.EffectiveTurns = anyText(t), rapid.IntRange(0, 6).Draw(t, "turns")
			c.NoAnnounce = rapid.Bool().Draw(t, "no announce")
			c.AnnounceChannel = rapid.SampledFrom([]string{"", "discord"}).Draw(t, "channel")
			if rapid.IntRange(0, 9).Draw(t, "same session") == 0 {
				c.RequesterSessionKey, c.FromAgent = c.TargetSessionKey, c.ToAgent
			}
		}), active, waiting, nil, w.now)
	}
	w.maybeRefused(t, s)
	w.checkWhole(t)
	return w
}

var happenings = []string{"answer", "answer", "answer", "answer", "failure", "stop of the run", "time-out of the run", "due, queued", "due, running", "due, over",
	"due, unknown", "another run", "permit", "posted", "not posted", "resume", "stop", "fail"}

func (w *world) happen(t *rapid.T, what string) {
	f, before := w.flow, anyText(t)
	jitter := rapid.Float64Range(0, 1).Draw(t, "jitter")
	result := func(state run.State, over coordination.RunOver) *run.Result {
		r := w.result(state, over)
		if rapid.Bool().Draw(t, "repeated") {
			r.RunID, r.RetryOf = "again", f.RunID
		}
		return r
	}
	ended := func(r *run.Result) a2a.Step { return a2a.Ended(f, r, before, jitter, w.now) }
	due := func(r *run.Result) a2a.Step { return a2a.Due(f, r, before, jitter, w.now) }
	running := &run.Result{RunID: f.RunID, State: run.Running, StartedAt: w.now - rapid.Int64Range(0, 400_000).Draw(t, "for")}
	var s a2a.Step
	switch what {
	case "answer":
		s = ended(result(run.OK, coordination.RunOver{Text: anyText(t)}))
	case "failure":
		class := rapid.SampledFrom([]string{"rate_limited", "overloaded", "auth", "internal", ""}).Draw(t, "class")
		s = ended(result(run.Failed, coordination.RunOver{ErrorClass: class, Error: anyText(t)}))
	case "stop of the run":
		s = ended(result(run.Aborted, coordination.RunOver{Reason: rapid.SampledFrom([]string{"rpc", "restart", "shutdown"}).Draw(t, "reason")}))
	case "time-out of the run":
		s = ended(result(run.TimedOut, coordination.RunOver{}))
	case "due, queued":
		s = due(&run.Result{RunID: f.RunID, State: run.Queued})
	case "due, running":
		s = due(running)
	case "due, over":
		s = due(result(run.OK, coordination.RunOver{Text: anyText(t)}))
	case "due, unknown":
		s = due(nil)
	case "another run":
		s = ended(&run.Result{RunID: "other", State: run.OK, Over: &coordination.RunOver{Text: reply}})
		if !s.Nothing() {
			t.Fatalf("the end of another run: %+v", s)
		}
	case "permit":
		s = a2a.Dispatch(f, w.now)
	case "posted":
		s = a2a.Posted(f, "", w.now)
	case "not posted":
		s = a2a.Posted(f, "503", w.now)
	case "resume":
		s = a2a.Resume(f, w.now)
	case "stop":
		s = a2a.Stop(f, "op", anyText(t), w.now)
	case "fail":
		s = a2a.Fail(f, anyText(t), w.now)
	}
	w.maybeRefused(t, s)
}

// maybeRefused takes a step, of which the runs may be refused.
func (w *world) maybeRefused(t *rapid.T, s a2a.Step) {
	for refusals := 0; len(s.Asks) > 0 && rapid.IntRange(0, 5).Draw(t, "refused") == 0; refusals++ {
		if refusals > 2 {
			t.Fatalf("a flow whose runs are refused asks for more: %+v", s.Asks)
		}
		s = a2a.Refused(w.flow, s, "busy", "too many", w.now)
	}
	w.take(s)
}

// finishes lets time go by, and nothing else: the end comes by that alone.
func (w *world) finishes(t *rapid.T) {
	for range 100 {
		if w.flow.Phase == a2a.Over {
			break
		}
		w.now = max(w.now, w.flow.DueAt)
		switch {
		case w.flow.Phase == a2a.Posting:
			w.take(a2a.Posted(w.flow, "503", w.now))
		case w.flow.Kind == string(a2a.Spawn):
			w.take(a2a.Due(w.flow, nil, "", 0, w.now))
		default:
			w.take(a2a.Due(w.flow, &run.Result{RunID: w.flow.RunID, State: run.Running, StartedAt: start}, reply, 0, w.now))
		}
	}
	if w.flow.Phase != a2a.Over || w.flow.DueAt != 0 || w.flow.Outcome == "" {
		t.Fatalf("no end: %s, due at %d, %q", w.flow.Phase, w.flow.DueAt, w.flow.Outcome)
	}
	again := *w.flow
	for _, s := range []a2a.Step{
		a2a.Due(&again, nil, "", 0, w.now), a2a.Ended(&again, w.result(run.OK, coordination.RunOver{Text: reply}), "", 0, w.now), a2a.Posted(&again, "", w.now),
		a2a.Dispatch(&again, w.now), a2a.Stop(&again, "op", "", w.now), a2a.Resume(&again, w.now), a2a.Fail(&again, "", w.now),
	} {
		if !s.Nothing() {
			t.Fatalf("a flow that is over goes on: %+v", s)
		}
	}
}

// checkFold checks that folding the log again gives the same flow, and that an open flow always waits for something.
func (w *world) checkFold(t *rapid.T) {
	f := &a2a.Flow{}
	for i, e := range w.events {
		if !strings.HasPrefix(e.Type, "a2a.job.") {
			continue
		}
		data, err := json.Marshal(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Apply(e.Type, data, int64(i)+1, w.flow.ChangedAt); err != nil {
			t.Fatal(err)
		}
	}
	f.Seq, f.CreatedAt = w.flow.Seq, w.flow.CreatedAt
	if diff := cmp.Diff(w.flow, f); diff != "" {
		t.Fatal(diff)
	}
	waits := f.Phase == a2a.Waiting || f.Phase == a2a.Turn || f.Phase == a2a.Announcing
	if _, asked := w.asked[f.RunID]; waits && (!asked || f.Speaker == "") || f.Phase.Open() && f.DueAt == 0 || !waits && f.Phase.Open() && f.RunID != "" ||
		(f.Phase == a2a.Posting) != (f.Post != "") {
		t.Fatalf("in phase %s it waits for %q of %q, due at %d", f.Phase, f.RunID, f.Speaker, f.DueAt)
	}
}

func anyText(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"", " \n", "NO_REPLY", "REPLY_SKIP", "ANNOUNCE_SKIP.", "네", "done", reply, second, third, "[[reply_to_current]]\n" + reply,
		strings.Repeat("가나다라마 바사아자차\n", 1_000), strings.Repeat("👩‍👩‍👧‍👦", 2_000), strings.Repeat("a", 70_000) + "끝",
		"api_key=sk-aaaaaaaaaaaaaaaaaaaaaaaa " + strings.Repeat("x ", 3_000), "\xff\xfe 깨진 글",
	}).Draw(t, "text")
}
