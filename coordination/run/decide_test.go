package run_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
)

const token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"

var belongs = coordination.Context{WorkSessionID: "ws_1", TaskID: "task_1", ConversationID: "c1"}

func observed() coordination.Context {
	c := belongs
	c.EventRole = coordination.RoleObservability
	return c
}

func TestStartSaysWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	q := coordination.RunQueued{Context: belongs, RunID: "r1", SessionKey: "agent:eden:main", SessionID: "meant", Model: "fake/other"}
	got := run.Start(&q, "t1", 7, 9, "fake/echo-1", "sha256:1")
	want := run.Event{Type: coordination.TypeRunStarted, Data: coordination.RunStarted{
		Context: observed(), RunID: "r1", SessionKey: "agent:eden:main", SessionID: "t1", StartedAtMs: 7, LeaseUntilMs: 9, Model: "fake/echo-1", ConfigHash: "sha256:1",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A run ends once, in one of four ways, two of which require that it started.
func TestEnd(t *testing.T) {
	t.Parallel()
	states := []run.State{run.Queued, run.Running, run.OK, run.Failed, run.Aborted, run.TimedOut}
	type pair struct{ from, to run.State }
	ends := map[pair]string{
		{run.Queued, run.Failed}: "run.failed", {run.Queued, run.Aborted}: "run.aborted",
		{run.Running, run.OK}: "run.ended", {run.Running, run.Failed}: "run.failed",
		{run.Running, run.Aborted}: "run.aborted", {run.Running, run.TimedOut}: "run.timed_out",
	}
	for _, from := range states {
		for _, to := range append(states, "", "unheard-of") {
			r := run.Result{RunID: "r1", SessionKey: "agent:eden:main", State: from, QueuedAt: 5}
			e, err := run.End(r, to, coordination.RunOver{EndedAtMs: 9})
			if e.Type != ends[pair{from, to}] {
				t.Errorf("%s ends as %q with %q, want %q", from, to, e.Type, ends[pair{from, to}])
			}
			if e.Type != "" {
				continue
			}
			want := run.CodeOver
			switch {
			case !to.Over() || to == "" || to == "unheard-of":
				want = run.CodeNoEnd
			case from == run.Queued:
				want = run.CodeNotBegun
			}
			if refusal := (*run.Refusal)(nil); !errors.As(err, &refusal) || refusal.Reason != want || refusal.HintText == "" || refusal.Text == "" {
				t.Errorf("%s ends as %q: %+v, want %s", from, to, err, want)
			}
		}
	}
}

// Who ends a run need not know what the tables know, and cannot contradict it; secrets of an answer are not written down.
func TestEndFillsIn(t *testing.T) {
	t.Parallel()
	r := run.Result{RunID: "r1", SessionKey: "agent:eden:main", SessionID: "t1", State: run.Running, QueuedAt: 5, StartedAt: 7}
	got, err := run.End(r, run.Failed, coordination.RunOver{
		Context: belongs, RunID: "other", SessionKey: "other", SessionID: "other", StartedAtMs: 1, EndedAtMs: 6, Text: "take " + token, Error: "401 for " + token,
		ErrorClass: "auth", ModelCalls: 2,
	})
	want := run.Event{Type: coordination.TypeRunFailed, Data: coordination.RunOver{
		Context: observed(), RunID: "r1", SessionKey: "agent:eden:main", SessionID: "t1", StartedAtMs: 7, EndedAtMs: 7, Text: "take ***", Error: "401 for ***",
		ErrorClass: "auth", ModelCalls: 2,
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	never := run.Result{RunID: "r1", SessionKey: "agent:eden:main", State: run.Queued, QueuedAt: 5}
	got, err = run.End(never, run.Aborted, coordination.RunOver{SessionID: "t9", EndedAtMs: 8, Reason: "stop"})
	if over, is := got.Data.(coordination.RunOver); err != nil || !is || over.SessionID != "t9" || over.StartedAtMs != 0 || over.EndedAtMs != 8 {
		t.Errorf("%+v, %v", got, err)
	}
}

// However often a run is broken off, what repeats it names the one that was asked for and who waits for it, does not reset the session again,
// and is not put off again.
func TestRetryNamesTheFirst(t *testing.T) {
	t.Parallel()
	q := coordination.RunQueued{Context: belongs, RunID: "r1", SessionKey: "agent:eden:main", Lane: "nested", OnRestart: run.OnRestartRetry, SessionID: "t1", Reset: "new", Message: "hi",
		JobID: "j1", DueAtMs: 7}
	second, is := run.Retry(q, "r2").Data.(coordination.RunQueued)
	want := q
	want.RunID, want.RetryOf, want.Earlier, want.Context = "r2", "r1", []string{"r1"}, observed()
	want.Reset, want.SessionID, want.DueAtMs = "", "", 0
	if diff := cmp.Diff(want, second); diff != "" || !is {
		t.Error(diff)
	}
	third := run.Retry(second, "r3")
	want.RunID, want.Earlier = "r3", []string{"r1", "r2"}
	if diff := cmp.Diff(run.Event{Type: coordination.TypeRunQueued, Data: want}, third); diff != "" {
		t.Error(diff)
	}
	reported := q
	reported.OnRestart = run.OnRestartReport
	if last, _ := third.Data.(coordination.RunQueued); !run.MayRetry(&q) || !run.MayRetry(&second) || run.MayRetry(&last) || run.MayRetry(&reported) {
		t.Errorf("of %d attempts there are others", run.MaxAttempts)
	}
	if q.RunID != "r1" || run.RootOf("r1", "") != "r1" || run.RootOf("r3", "r1") != "r1" {
		t.Error("the first one is", q.RunID, run.RootOf("r1", ""), run.RootOf("r3", "r1"))
	}
}

// What continuation asked for is not continued after a restart: its next prompt tells of the restart.
func TestMayResume(t *testing.T) {
	t.Parallel()
	earlier := make([]string, 99)
	for _, c := range []struct {
		what  string
		asked coordination.RunQueued
		ahead bool
		want  bool
	}{
		{"a run with steps", coordination.RunQueued{Cause: "chat"}, true, true},
		{"a prompt of continuation", coordination.RunQueued{Cause: "continuation"}, true, false},
		{"a run that does not get ahead", coordination.RunQueued{Cause: "chat", Stalled: 2}, false, false},
		{"a run that was continued very often", coordination.RunQueued{Cause: "chat", Earlier: earlier}, true, false},
	} {
		if got := run.MayResume(&c.asked, c.ahead); got != c.want {
			t.Errorf("%s: %t, want %t", c.what, got, c.want)
		}
	}
}
