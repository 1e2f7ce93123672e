package monitor_test

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/continuations"
)

// explaining decides by the log what would be done about eden and seum, the one agent with one task, as someone who keeps them going does.
func explaining(o *monitor.Options) {
	now := o.Now
	o.Continuation = func(ctx context.Context, tx *sql.Tx, agent string) (e continuation.Explained, kept bool, err error) {
		if agent != "eden" && agent != "seum" {
			return e, false, nil
		}
		row, _, err := continuations.ByID(ctx, tx, agent)
		s := continuation.Situation{Agent: agent, Policy: continuation.DefaultPolicy(), State: row.State}
		if agent == "eden" {
			s.Waiting, s.PickableAt = 1, now().Add(24*time.Hour).UnixMilli()
		}
		e.At, e.State, e.Seq = now().UnixMilli(), row.State, row.Seq
		e.Decision = continuation.Next(&s, e.At)
		e.Text = continuation.Explain(e.Decision, e.At)
		return e, true, err
	}
}

// failing stores a prompt to eden whose run fails, and returns the seq of that.
func (b *testBundle) failing(t testing.TB) int64 {
	t.Helper()
	b.tell(t, "agent/eden", "eden", [2]string{coordination.TypeContinuationSent,
		`{"taskId":"task_a","reason":"idle","runId":"r1","stepId":"s2","measured":1,"eventRole":"orchestration.task"}`})
	b.asks(t, "r1", "eden", coordination.TypeRunFailed)
	head, err := b.db.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head.Seq
}

// The next step of an agent is explained with its reason and times; asking changes nothing.
func TestContinuationIsExplained(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t, explaining)
	b.ownTasks(t)
	b.failing(t)
	contract := newContract(t, b)
	before, err := b.db.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	contract.check(t, http.MethodGet, "/api/agents/Eden/continuation", http.StatusOK)
	got := get[monitor.ContinuationAnswer](t, b, "/api/agents/Eden/continuation", http.StatusOK)
	var state continuation.State
	err = b.db.View(t.Context(), func(tx *sql.Tx) error {
		row, _, err := continuations.ByID(t.Context(), tx, "eden")
		state = row.State
		return err
	})
	if err != nil || state.Failures != 1 || state.BackoffUntil == 0 {
		t.Fatalf("the log says %+v, %v: want a failure and a pause", state, err)
	}
	pause := time.UnixMilli(state.BackoffUntil).UTC().Format("2006-01-02T15:04:05.000Z")
	want := monitor.ContinuationAnswer{AgentID: "eden",
		Decision: monitor.DecisionAnswer{Kind: continuation.Nothing, Reason: continuation.InBackoff, LookAgainAt: pause, LookAgainAtMs: state.BackoffUntil},
		State: monitor.CareAnswer{ConsecutiveFailures: 1, Cause: state.Cause, FailedTaskID: "task_a", FailedRunID: "r1", BackoffUntil: pause,
			BackoffUntilMs: state.BackoffUntil,
			LastPrompt:     &monitor.PromptAnswer{RunID: "r1", TaskID: "task_a", Reason: continuation.Idle, At: stamp(0), AtMs: int64(at(0)), Over: true},
			LastRun:        &monitor.LastRunAnswer{RunID: "r1", At: stamp(0), AtMs: int64(at(0))},
			Tasks:          []monitor.TaskCareAnswer{{TaskID: "task_a", StepID: "s2", PromptedAt: stamp(0), PromptedAtMs: int64(at(0))}}},
		At: stamp(0), AtMs: int64(at(0)), DerivedFromSeq: before.Seq, Explanation: got.Explanation}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !strings.HasPrefix(got.Explanation, "Nothing is due for eden: prompts pause after a failure.") {
		t.Errorf("explained as %q", got.Explanation)
	}
	contract.check(t, http.MethodGet, "/api/continuation", http.StatusOK)
	list := get[struct {
		Agents []monitor.ContinuationAnswer
		Count  int
	}](t, b, "/api/continuation", http.StatusOK)
	if list.Count != 2 || list.Agents[0].AgentID != "eden" || list.Agents[1].AgentID != "seum" || list.Agents[1].Decision.Reason != continuation.Done {
		t.Errorf("%+v, want eden and seum, of whom only the configuration knows", list)
	}
	contract.check(t, http.MethodGet, "/api/agents/ruda/continuation", http.StatusNotFound)
	contract.check(t, http.MethodGet, "/api/agents/eden/continuation?min_seq=1000", http.StatusServiceUnavailable)
	contract.check(t, http.MethodGet, "/api/continuation?min_seq=1000", http.StatusServiceUnavailable)
	if after, err := b.db.Head(t.Context()); err != nil || after.Seq != before.Seq {
		t.Errorf("asking has written: %d, %v", after.Seq, err)
	}
}

// An internal error is not shown to clients.
func TestContinuationThatCannotBeExplained(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t, func(o *monitor.Options) {
		o.Continuation = func(context.Context, *sql.Tx, string) (continuation.Explained, bool, error) {
			return continuation.Explained{}, false, errors.New("secret")
		}
	})
	for _, path := range []string{"/api/continuation", "/api/agents/eden/continuation"} {
		if r := get[refusal](t, b, path, http.StatusInternalServerError); r.Code != "internal" || strings.Contains(r.Error+r.Hint, "secret") {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

// The state of the team says of whom prompts fail, and until when they pause.
func TestTeamStateKnowsFailures(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t)
	b.ownTasks(t)
	seq := b.failing(t)
	type member struct {
		ConsecutiveFailures            int
		LastFailureReason              string
		BackoffUntilMs, DerivedFromSeq int64
	}
	team := get[struct{ Agents map[string]member }](t, b, "/api/team-state", http.StatusOK).Agents
	if m := team["eden"]; m.ConsecutiveFailures != 1 || m.LastFailureReason == "" || m.BackoffUntilMs <= noon.UnixMilli() || m.DerivedFromSeq != seq {
		t.Errorf("eden: %+v, want a failure, its reason and a pause, from event %d", m, seq)
	}
	if m := team["ruda"]; m.ConsecutiveFailures != 0 || m.LastFailureReason != "" || m.BackoffUntilMs != 0 {
		t.Errorf("ruda: %+v, whose prompts have not failed", m)
	}
	newContract(t, b).check(t, http.MethodGet, "/api/team-state", http.StatusOK)
}
