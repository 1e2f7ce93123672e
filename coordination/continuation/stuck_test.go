package continuation_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
)

// A task of the backlog that can never start is told of once, wherever it comes from, and nothing more is done about it.
func TestImpossibleTaskIsReportedOnce(t *testing.T) {
	t.Parallel()
	for status, words := range map[string]string{"cancelled": "which is cancelled", "abandoned": "which is abandoned", "failed": "which is failed"} {
		w := eden(t).stands("task_b", "in_progress").adds("task_a", "task_b").after(time.Hour)
		w.rests(continuation.NotYet, 0)
		w.stands("task_b", status)
		neverBegins(t, w, "task_b", "it depends on task_b, "+words)
	}
	neverBegins(t, eden(t).adds("task_a", "task_b").after(time.Hour), "task_b", "it depends on task_b, which is unknown")
	neverBegins(t, eden(t).adds("task_a", "task_a").after(time.Hour), "task_a", "it depends on itself")
	neverBegins(t, eden(t).adds("task_a", " ").after(time.Hour), "no task", "it depends on no task, which is unknown")
}

func neverBegins(t *testing.T, w *world, dependsOn, words string) {
	t.Helper()
	d := w.does(continuation.Escalate, continuation.DependencyGone)
	if d.To != "main" || d.TaskID != "task_a" || !d.Visible || !strings.Contains(d.Prompt, words) || !strings.Contains(continuation.Explain(d, w.now), words) {
		t.Errorf("want it told to main that %s:\n%+v\n%s", words, d, continuation.Explain(d, w.now))
	}
	events := d.Events(&w.s, "run")
	if said := events[0].Data.(coordination.Unblock); len(events) != 1 || events[0].Type != coordination.TypeUnblockFailed || said.Reason != "dependency_gone" ||
		said.Dependency != dependsOn || said.ToldAgentID != "main" || said.TargetAgentID != "" || said.Progress != "[UNBLOCK] "+words {
		t.Errorf("%+v", events)
	}
	if left := w.task("task_a"); left.Status != coordination.StateBacklog || left.Blocked.Escalation != "" {
		t.Errorf("told of, the task is %+v", left)
	}
	w.rests(continuation.Told, 0)
	w.restarts().after(30 * 24 * time.Hour)
	w.rests(continuation.Told, 0)
}

// The report waits, so that the agent that ended the dependency can also end the dependent task.
func TestWhoEndsATaskHasTimeToEndWhatDependsOnIt(t *testing.T) {
	t.Parallel()
	w := eden(t).adds("task_a", "task_b").after(time.Minute)
	w.rests(continuation.NotYet, 2*time.Minute)
	w.after(time.Hour).stands("task_b", "cancelled")
	w.s.Stuck.Since = w.now
	w.rests(continuation.NotYet, 3*time.Minute)
	w.after(3*time.Minute-time.Millisecond).rests(continuation.NotYet, time.Millisecond)
	w.after(time.Millisecond).does(continuation.Escalate, continuation.DependencyGone)
}

// It is the last thing that is done about an agent, and waits for what holds everything; it does not wait for approval.
func TestImpossibleTaskIsReportedLast(t *testing.T) {
	t.Parallel()
	stuck := func() *world { return eden(t).adds("task_a", "task_b").after(time.Hour) }
	stuck().adds("task_c").does(continuation.Pick, continuation.FromBacklog)
	stuck().starts("task_c", "one").after(3*time.Minute).does(continuation.Continue, continuation.Idle)
	stuck().starts("task_c").blocks("task_c", "seum").after(3*time.Minute).does(continuation.Ask, continuation.UnblockRequest)
	stuck().waitsForApproval("task_c").does(continuation.Escalate, continuation.DependencyGone)
	busy := stuck()
	busy.s.Busy = true
	busy.does(continuation.Nothing, continuation.Busy)
	alone := stuck()
	alone.s.Lead = ""
	if d := alone.does(continuation.Escalate, continuation.DependencyGone); d.To != "" || d.Prompt == "" {
		t.Errorf("without a lead it is told to %q, want people alone: %q", d.To, d.Prompt)
	}
}

// Each task is told of by itself, also one more thing that it waits for in vain; one that was told of hides no other, and what still may begin is
// waited for.
func TestEachImpossibleTaskIsReported(t *testing.T) {
	t.Parallel()
	w := eden(t).stands("task_y", "cancelled").adds("task_a", "task_x", "task_y").adds("task_b", "task_y").adds("task_c", "task_z").stands("task_z", "blocked").after(time.Hour)
	w.does(continuation.Escalate, continuation.DependencyGone)
	w.does(continuation.Escalate, continuation.DependencyGone)
	w.rests(continuation.NotYet, 0)
	if told := w.tells(continuation.Escalate); told[0].DependsOn != "task_x" || told[1].TaskID != "task_b" || !strings.Contains(told[0].Prompt, "can never start: 1\n") ||
		strings.Contains(told[1].Prompt, "can never start: 0\n") {
		t.Errorf("%+v", told)
	}
	w.stands("task_x", "completed") // it was found again: what is left was not told of
	w.does(continuation.Escalate, continuation.DependencyGone)
	if d := w.sent[2]; d.TaskID != "task_a" || d.DependsOn != "task_y" {
		t.Errorf("%+v", d)
	}
	w.stands("task_z", "cancelled").does(continuation.Escalate, continuation.DependencyGone)
	w.rests(continuation.Told, 0)
	w.stands("task_y", "completed").does(continuation.Pick, continuation.FromBacklog) // repaired by hand
}

// A report about a backlog task prevents neither requests nor reports once the task has started and is blocked.
func TestReportedBacklogTaskIsNotAbandoned(t *testing.T) {
	t.Parallel()
	w := eden(t).adds("task_a", "task_b").after(time.Hour)
	w.does(continuation.Escalate, continuation.DependencyGone)
	w.stands("task_b", "completed").does(continuation.Pick, continuation.FromBacklog)
	w.well().blocks("task_a", "seum").after(3*time.Minute).does(continuation.Ask, continuation.UnblockRequest)
	for w.next().Kind != continuation.Escalate {
		if d := w.next(); d.Kind != continuation.Nothing {
			w.take(d)
		} else if w.s.Busy {
			w.after(time.Minute).well()
		} else if d.LookAgainAt == 0 {
			t.Fatalf("no report: %s", continuation.Explain(d, w.now))
		} else {
			w.now = d.LookAgainAt
		}
	}
	w.does(continuation.Escalate, continuation.NoAnswer)
	if asked := w.tells(continuation.Ask); len(asked) != 3 || slices.IndexFunc(asked, func(d continuation.Decision) bool { return d.TaskID != "task_a" }) >= 0 {
		t.Errorf("asked %+v", asked)
	}
}

// What files have in the place of a dependency is told as it may be told.
func TestDependenciesAreDescribed(t *testing.T) {
	t.Parallel()
	const secret = "sk-ant-api03-" + "abcdefghijklmnopqrstuvwxyz0123456789"
	w := eden(t).adds("task_a", secret+"\n"+strings.Repeat("x", 5_000)).after(time.Hour)
	d := w.does(continuation.Escalate, continuation.DependencyGone)
	if strings.Contains(d.Prompt, secret) || strings.Contains(d.DependsOn, "\n") || len(d.DependsOn) > 400 || d.DependsOn == "" {
		t.Errorf("%q", d.DependsOn)
	}
	w.rests(continuation.Told, 0)
}
