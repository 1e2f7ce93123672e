package continuation_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
)

// every is one decision with a prompt for each reason.
func every(t *testing.T) map[string]continuation.Decision {
	t.Helper()
	reasons := []continuation.Reason{continuation.Idle, continuation.SelfDriving, continuation.StepsMissing, continuation.FromBacklog, continuation.UnblockRequest,
		continuation.StillBlocked, continuation.Zombie, continuation.SameStep, continuation.NoProgress, continuation.NoAnswer, continuation.NotDelivered,
		continuation.NobodyToAsk, continuation.DependencyGone, continuation.GatewayRestarted}
	blocked := func() *world {
		return eden(t).starts("task_a", "one").blocks("task_a", "seum", "ruda").after(time.Hour)
	}
	stuck := eden(t).starts("task_a", "one", "two")
	stuck.s.State.Tasks = map[string]continuation.Care{"task_a": {At: begin, Prompts: 2, Same: 2, StepID: "s1"}}
	slow := eden(t).starts("task_a")
	slow.s.State.Tasks = map[string]continuation.Care{"task_a": {At: begin, Prompts: 4, Same: 4, Measured: 1}}
	reminded, asked, lost, last := blocked(), blocked(), blocked(), blocked()
	reminded.s.Tasks[0].Blocked.Requests, reminded.s.Tasks[0].Blocked.LastAskedAt = 1, reminded.now-ms(10*time.Minute)
	asked.s.Tasks[0].Blocked.Requests = 3
	lost.s.Tasks[0].Blocked.Failures = 3
	last.s.Tasks[0].Blocked.Requests = 2
	alone := eden(t).starts("task_a").blocks("task_a").after(time.Hour)
	zombie := eden(t).starts("task_a", "one")
	zombie.s.Tasks[0].Backlog.Reassigned = 2
	worlds := []*world{
		eden(t).starts("task_a", "one", "two", "three").finishes("task_a", "s1").after(time.Hour),
		eden(t).starts("task_a", "one").finishes("task_a", "s1").after(time.Hour),
		eden(t).starts("task_a", "one").well(),
		eden(t).starts("task_a").well(), eden(t).adds("task_a"), blocked(), last, reminded, zombie.after(25 * time.Hour), stuck.after(time.Hour), slow.after(time.Hour),
		asked, lost, alone, eden(t).stands("task_b", "cancelled").adds("task_a", "task_b").after(time.Hour), eden(t).starts("task_a", "one").after(time.Minute).restarts(), blocked().restarts(),
	}
	decisions := map[string]continuation.Decision{}
	for _, w := range worlds {
		d := w.next()
		name := string(d.Reason)
		for decisions[name].Kind != "" {
			name += "+"
		}
		decisions[name] = d
	}
	for _, r := range reasons {
		if decisions[string(r)].Prompt == "" {
			t.Fatalf("there is no prompt for %s", r)
		}
	}
	return decisions
}

// Each cause has a text of its own, about its task.
func TestPromptsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, d := range every(t) {
		first, _, _ := strings.Cut(d.Prompt, "\n")
		if other, twice := seen[first]; twice && strings.Trim(name, "+") != strings.Trim(other, "+") {
			t.Errorf("%s begins as %s does: %s", name, other, first)
		}
		seen[first] = name
		if !strings.Contains(d.Prompt, "task_a") || strings.Contains(d.Prompt, "%!") || !strings.HasSuffix(d.Prompt, "\n") {
			t.Errorf("%s:\n%s", name, d.Prompt)
		}
	}
}

func TestStepsAreMarked(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a", "one", "two", "three", "four").finishes("task_a", "s1").after(time.Hour)
	w.s.Tasks[0].Steps[2].Status = "skipped"
	got := w.next().Prompt
	for _, want := range []string{"Steps (2 of 4 done):\n- [x] (s1) one\n- [>] (s2) two\n- [-] (s3) three\n- [ ] (s4) four\nCurrent step: (s2) two\n",
		"Description: tile the roof\n", "Priority: high\n", `task_update (task_id "task_a", action "complete_step", step_id)`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestTheHelperIsToldAllAndMayResume(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a").blocks("task_a", "seum").after(time.Hour)
	got := w.next().Prompt
	for _, want := range []string{"[Unblock request 1 of 3] Agent eden", "Blocked because: no tiles\n", "What is needed: buy tiles\n", "Latest progress: [BLOCKED] no tiles\n",
		`task_resume (task_id "task_a"): you may`, `sessions_send (agentId "eden", message)`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	w.s.Tasks[0].Blocked.Requests = 2
	if got := w.next(); !strings.HasPrefix(got.Prompt, "[ESCALATION]") || got.Prompt == "" || !got.Visible {
		t.Errorf("%+v", got)
	}
}

// However long a task is, what is said of it is not.
func TestPromptsAreBounded(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a", make([]string, 200)...).starts("task_b").blocks("task_b", "seum")
	for i := range w.s.Tasks {
		long := strings.Repeat("지붕 ", 20_000)
		t := &w.s.Tasks[i]
		t.Description, t.Background, t.Progress, t.Blocked.Reason, t.Blocked.Action = long, long, long, long, long
		for j := range t.Steps {
			t.Steps[j].Content, t.Steps[j].Status = long, "done"
		}
		if len(t.Steps) > 0 {
			t.Steps[150].Status = "in_progress"
		}
	}
	for range 100 {
		w.s.Tasks = append(w.s.Tasks, w.s.Tasks[1])
	}
	summary := w.after(time.Minute).restarts().next()
	w.after(time.Hour).s.RestartedAt = 0
	ask := w.next()
	w.s.Tasks = w.s.Tasks[:1]
	for _, d := range []continuation.Decision{summary, ask, w.next()} {
		if n := len(d.Prompt); n > 100<<10 || n < 1000 || !utf8.ValidString(d.Prompt) {
			t.Errorf("%s has %d bytes", d.Reason, n)
		}
	}
	if got := w.next().Prompt; !strings.Contains(got, "... 130 before\n") || !strings.Contains(got, "... 30 more\n") || !strings.Contains(got, "- [>] (s151)") {
		t.Errorf("%.3000s", got)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for name, d := range every(t) {
		got := continuation.Explain(d, begin)
		if !strings.Contains(got, "eden") || !strings.HasSuffix(got, ".") || strings.Contains(got, "  ") {
			t.Errorf("%s: %s", name, got)
		}
		seen[got] = true
	}
	for _, r := range []continuation.Reason{continuation.Disabled, continuation.Done, continuation.Approval, continuation.Busy, continuation.InBackoff, continuation.Cooldown,
		continuation.NotIdle, continuation.Blocked, continuation.NotYet, continuation.Told, continuation.Interrupted} {
		got := continuation.Explain(continuation.Decision{Kind: continuation.Nothing, Reason: r, Agent: "eden"}, begin)
		if seen[got] {
			t.Errorf("%s is explained as another reason: %s", r, got)
		}
		seen[got] = true
	}
	w := eden(t).starts("task_a")
	const want = "Nothing is due for eden: it was active recently. The next check is in 3m0s, at 2026-09-21T14:16:20Z, or after any event before that."
	if got := continuation.Explain(w.next(), w.now); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	w.s.State.Overflows = 5
	if got := continuation.Explain(w.next(), w.now); got != "The main session of eden is reset: its context was too long 5 times in a row." {
		t.Error(got)
	}
	zombie := continuation.Decision{Kind: continuation.Recover, Reason: continuation.Zombie, Agent: "eden", TaskID: "t", Attempt: 1, AgeHours: 24.4, Action: coordination.ZombieMovedToBacklog}
	if got := continuation.Explain(zombie, begin); got != "Task t of eden returns to the backlog: it had no progress for 24 h, for the 1st time." {
		t.Error(got)
	}
}

// What asks what is wrong names the step and the task.
func TestTheStepAndTheTaskAreNamed(t *testing.T) {
	t.Parallel()
	want := "[Stuck] You were told to go on with step s1 of task task_a 2 times, and it is still not done."
	if first, _, _ := strings.Cut(every(t)[string(continuation.SameStep)].Prompt, "\n"); first != want {
		t.Errorf("%s\nwant\n%s", first, want)
	}
}
