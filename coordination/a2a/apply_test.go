package a2a_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
)

func TestApplyFoldsOnlyWhatCanBe(t *testing.T) {
	t.Parallel()
	created := json.RawMessage(`{"jobId":"j1","kind":"send","fromAgent":"eden","toAgent":"seum","phase":"waiting","dueAtMs":9}`)
	running := json.RawMessage(`{"jobId":"j1","phase":"turn","turn":1,"runId":"j1.t1","speaker":"eden","dueAtMs":20,"lastText":"hello"}`)
	f := &a2a.Flow{}
	for i, step := range []struct {
		typ     string
		data    json.RawMessage
		changed bool
	}{
		{coordination.TypeA2AJobRunning, running, false}, // it was never created
		{coordination.TypeA2AJobCreated, created, true},
		{coordination.TypeA2AJobCreated, created, false},
		{coordination.TypeA2ASend, json.RawMessage(`{}`), false},
		{coordination.TypeA2AJobResumed, json.RawMessage(`{"jobId":"j1","resumeCount":1}`), true},
		{coordination.TypeA2AJobRunning, json.RawMessage(`{"jobId":"j1","phase":"sleeping"}`), false},
		{coordination.TypeA2AJobRunning, running, true},
		{coordination.TypeA2AJobRunning, nil, false}, // redacted
		{coordination.TypeA2AJobCompleted, nil, true},
		{coordination.TypeA2AJobRunning, running, false}, // it is over
		{coordination.TypeA2AJobFailed, nil, false},
	} {
		changed, err := f.Apply(step.typ, step.data, int64(i), int64(100+i))
		if err != nil || changed != step.changed {
			t.Errorf("%d: %s: %v, %v", i, step.typ, changed, err)
		}
	}
	want := &a2a.Flow{Seq: 1, Phase: a2a.Over, RunID: "j1.t1", Speaker: "eden", CreatedAt: 101, ChangedAt: 108, Outcome: "ok", Said: []a2a.AnswerPreview{{Agent: "seum", Text: "hello"}}}
	want.JobID, want.Kind, want.FromAgent, want.ToAgent, want.A2AJobCreated.Phase, want.DueAtMs = "j1", "send", "eden", "seum", "waiting", 9
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
	for _, typ := range []string{coordination.TypeA2AJobCreated, coordination.TypeA2AJobRunning} {
		g := &a2a.Flow{}
		if typ != coordination.TypeA2AJobCreated {
			g.Phase = a2a.Waiting
		}
		if changed, err := g.Apply(typ, json.RawMessage(`{"phase":7}`), 1, 1); err == nil || changed {
			t.Errorf("%s of another shape: %v, %v", typ, changed, err)
		}
	}
}

// A flow that is only put off has not come on; one that goes on has.
func TestApplyCountsRestarts(t *testing.T) {
	t.Parallel()
	w := send(nil).resume(1_000).resume(1_000)
	if w.due(a2a.WaitMs, run.Queued, 0); w.flow.Resumed != 2 || w.flow.ChangedAt != w.now {
		t.Errorf("put off: %d restarts, changed at %d", w.flow.Resumed, w.flow.ChangedAt)
	}
	if w.says(reply, ""); w.flow.Phase != a2a.Turn || w.flow.Resumed != 0 {
		t.Errorf("gone on: %d restarts", w.flow.Resumed)
	}
}

// A flow of which is not known any more what was asked for ends, and says so as far as it is known to whom.
func TestRedactedFlowsEnd(t *testing.T) {
	t.Parallel()
	nameless := &a2a.Flow{}
	if _, err := nameless.Apply(coordination.TypeA2AJobCreated, nil, 1, start); err != nil || !nameless.Redacted {
		t.Fatal(nameless, err)
	}
	nameless.JobID, nameless.RunID = jobID, jobID
	known := send(nil).flow
	known.Redacted, known.Message = true, ""
	child := spawn(nil).flow
	child.Redacted, child.Message = true, ""
	for name, c := range map[string]struct {
		flow         *a2a.Flow
		events, asks int
	}{"nameless": {nameless, 1, 0}, "known": {known, 3, 0}, "a sub-agent": {child, 3, 1}} {
		ended := &run.Result{RunID: jobID, State: run.OK, Over: &coordination.RunOver{Text: reply}}
		for _, s := range []a2a.Step{
			a2a.Ended(c.flow, ended, "", 0, start), a2a.Due(c.flow, ended, "", 0, start), a2a.Fail(c.flow, "why", start), a2a.Resume(c.flow, start),
		} {
			if !s.Over || len(s.Events) != c.events || len(s.Asks) != c.asks {
				t.Errorf("%s: %+v", name, s)
			}
		}
		if s := a2a.Stop(c.flow, "op", "", start); !s.Over || s.StopRun != jobID {
			t.Errorf("%s, stopped: %+v", name, s)
		}
	}
}
