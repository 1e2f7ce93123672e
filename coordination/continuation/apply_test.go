package continuation_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
)

var folded = []string{coordination.TypeContinuationSent, coordination.TypeContinuationBackoff, coordination.TypeResumeReminderSent, coordination.TypeUnblockRequested,
	coordination.TypeUnblockFailed, coordination.TypeZombieAbandoned, coordination.TypeRunEnded, coordination.TypeRunFailed, coordination.TypeRunAborted,
	coordination.TypeRunTimedOut, coordination.TypeTaskCompleted, coordination.TypeTaskForceCompleted, coordination.TypeTaskCancelled, coordination.TypeTaskBlocked,
	coordination.TypeTaskResumed, coordination.TypeTaskBacklogPicked}

func TestDataThatCannotBeReadChangesNothing(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a").after(3 * time.Minute)
	w.does(continuation.Continue, continuation.Idle)
	before := w.s.State
	for _, typ := range folded {
		if means, err := w.s.State.Apply(typ, "eden", []byte(`{"taskId":[]}`), w.now); means || err == nil || !reflect.DeepEqual(w.s.State, before) {
			t.Errorf("%s: %v, %v, %+v", typ, means, err, w.s.State)
		}
	}
	for _, typ := range []string{coordination.TypeTaskStarted, coordination.TypeA2ASend, "made.up"} {
		if means, err := w.s.State.Apply(typ, "eden", []byte(`[`), w.now); means || err != nil {
			t.Errorf("%s: %v, %v", typ, means, err)
		}
	}
}

// What a decision has made counts, be its data redacted: nothing is decided twice under one key.
func TestRedactedEventsCount(t *testing.T) {
	t.Parallel()
	for _, typ := range folded[:6] {
		var s continuation.State
		if means, err := s.Apply(typ, "eden", nil, begin); !means || err != nil || s.Decided != 1 {
			t.Errorf("%s: %v, %v, %+v", typ, means, err, s)
		}
	}
	for _, typ := range folded[6:] {
		var s continuation.State
		if means, err := s.Apply(typ, "eden", nil, begin); means || err != nil || !reflect.DeepEqual(s, continuation.State{}) {
			t.Errorf("%s: %v, %v, %+v", typ, means, err, s)
		}
	}
}

func TestCopiesOfAStateStayAsTheyAre(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a").after(3 * time.Minute)
	w.does(continuation.Continue, continuation.Idle)
	copied, care := w.s.State, w.s.State.Tasks["task_a"]
	w.well()
	w.take(w.next())
	w.happens(coordination.TypeTaskCompleted, "task_a", coordination.TaskState{Context: about("task_a")})
	if copied.Tasks["task_a"] != care || w.s.State.Tasks != nil {
		t.Errorf("%+v, %+v", copied, w.s.State)
	}
}

// The log of another gateway says less; what it says is taken over.
func TestEventsOfAnotherGateway(t *testing.T) {
	t.Parallel()
	var s continuation.State
	if _, err := s.Apply(coordination.TypeContinuationBackoff, "eden", []byte(`{"taskId":"t","reason":"billing","consecutiveFailures":2,"backoffMs":7200000}`), begin); err != nil ||
		s.Failures != 2 || s.BackoffUntil != begin+7_200_000 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := s.Apply(coordination.TypeContinuationSent, "eden", []byte(`{"taskId":"t"}`), begin); err != nil || s.Tasks["t"].At != begin || s.Prompt.RunID != "" {
		t.Errorf("%+v, %v", s, err)
	}
}

// The flow of the last request is known until something says that it has not arrived, or the task is left.
func TestTheFlowOfARequestIsKnown(t *testing.T) {
	t.Parallel()
	request := func(target, runID string) coordination.Unblock {
		return coordination.Unblock{Context: about("task_a"), TargetAgentID: target, RunID: runID}
	}
	for name, c := range map[string]struct {
		typ   string
		data  any
		asked string
	}{
		"nothing else":           {coordination.TypeResumeReminderSent, coordination.Continuation{Context: about("task_a")}, "flow 1"},
		"another request":        {coordination.TypeUnblockRequested, request("seum", "flow 2"), "flow 2"},
		"one that names no flow": {coordination.TypeUnblockRequested, request("seum", ""), ""},
		"it has not arrived":     {coordination.TypeUnblockFailed, request("ruda", ""), ""},
		"no further agent":       {coordination.TypeUnblockFailed, request("", ""), ""},
		"resumed":                {coordination.TypeTaskResumed, coordination.TaskState{Context: about("task_a")}, ""},
		"cancelled":              {coordination.TypeTaskCancelled, coordination.TaskState{Context: about("task_a")}, ""},
	} {
		w := eden(t).starts("task_a").blocks("task_a", "ruda", "seum")
		w.happens(coordination.TypeUnblockRequested, "task_a", request("ruda", "flow 1"))
		if asked := w.s.State.Tasks["task_a"].Asked; asked != "flow 1" {
			t.Fatalf("after a request by flow 1: %q", asked)
		}
		w.happens(c.typ, "task_a", c.data)
		w.again()
		if asked := w.s.State.Tasks["task_a"].Asked; asked != c.asked {
			t.Errorf("%s: the flow is %q, want %q", name, asked, c.asked)
		}
	}
}

func FuzzApply(f *testing.F) {
	for i := range folded {
		f.Add(i, `{"taskId":"t","runId":"r","reason":"same_step","measured":-3,"consecutiveFailures":-1,"backoffMs":9223372036854775807,"sessionKey":"agent:eden:main"}`)
	}
	f.Fuzz(func(t *testing.T, which int, text string) {
		w := eden(t).starts("t", "one").after(3 * time.Minute)
		w.take(w.next())
		typ := folded[(which%len(folded)+len(folded))%len(folded)]
		if _, err := w.s.State.Apply(typ, "eden", []byte(text), w.now); err != nil {
			return
		}
		w.again()
		continuation.Explain(w.next(), w.now)
	})
}
