package continuation_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
)

// Two loops that handled the end of one run sent two prompts; here the second finds the first.
func TestBug27_TheEndOfARunIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a", "one", "two").ends(coordination.TypeRunEnded, coordination.RunOver{RunID: "r1"})
	d, same := w.next(), w.next()
	if d.Key != same.Key || d.Prompt != same.Prompt {
		t.Errorf("the same cause has the keys %s and %s", d.Key, same.Key)
	}
	w.take(d)
	w.happens(coordination.TypeRunEnded, "", coordination.RunOver{RunID: "r1", SessionKey: "agent:eden:main"})
	w.s.Busy = false
	w.rests(continuation.Busy, 5*time.Minute)
}

// A prompt whose run takes long holds back the next one for as long as the run takes.
func TestBug28_ALongRunIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a", "one").after(3 * time.Minute)
	w.does(continuation.Continue, continuation.Idle)
	w.after(3*time.Hour).rests(continuation.Busy, 0)
}

// What prompts tell agents to call has the parameters that they name.
func TestBug29_PromptsNameParametersThatThereAre(t *testing.T) {
	t.Parallel()
	parameters := map[string][]string{
		"task_update":   {"task_id", "action", "steps", "step_id", "progress"},
		"task_complete": {"task_id", "summary"},
		"task_block":    {"task_id", "reason", "unblock_by", "unblock_action"},
		"task_resume":   {"task_id"},
		"task_cancel":   {"task_id", "reason"},
		"sessions_send": {"agentId", "message"},
	}
	calls := regexp.MustCompile(`\b(task_(?:update|complete|block|resume|cancel)|sessions_send) \(([^)]*)\)`)
	words := regexp.MustCompile(`^ ?(\w+)`)
	named := map[string]bool{}
	for name, d := range every(t) {
		for _, call := range calls.FindAllStringSubmatch(d.Prompt, -1) {
			for _, argument := range strings.Split(call[2], ",") {
				parameter := words.FindStringSubmatch(argument)
				known := false
				for _, p := range parameters[call[1]] {
					known = known || parameter != nil && parameter[1] == p
				}
				if !known {
					t.Errorf("%s: %s has no parameter %q", name, call[1], argument)
				}
				named[call[1]] = true
			}
		}
		if strings.Contains(d.Prompt, "target=") || strings.Contains(d.Prompt, "result=") {
			t.Errorf("%s: %s", name, d.Prompt)
		}
	}
	if len(named) != len(parameters) {
		t.Errorf("only %v are named", named)
	}
}

// The run's own error reports a context overflow; transcripts are not read.
func TestBug31_OverflowIsSeenInTheEndOfTheRun(t *testing.T) {
	t.Parallel()
	for _, over := range []coordination.RunOver{{ErrorClass: "context_exceeded"}, {Error: "HTTP 400: maximum context length is 8192 tokens"}} {
		w := eden(t).starts("task_a").after(3 * time.Minute)
		w.does(continuation.Continue, continuation.Idle)
		w.ends(coordination.TypeRunFailed, over).rests(continuation.InBackoff, 30*time.Minute)
	}
}

// A restart is told once, with all tasks, and not again soon.
func TestBug32_OneSummaryOfARestart(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a", "one").starts("task_b", "one").starts("task_c").blocks("task_c", "seum").after(time.Minute)
	d := w.restarts().does(continuation.Restart, continuation.GatewayRestarted)
	for _, id := range []string{"task_a", "task_b", "task_c"} {
		if !strings.Contains(d.Prompt, id) {
			t.Errorf("%s is not in\n%s", id, d.Prompt)
		}
	}
	w.after(time.Minute).restarts().ends(coordination.TypeRunAborted, coordination.RunOver{Reason: "restart"}) // soon after the first time
	if d := w.next(); d.Kind == continuation.Restart {
		t.Errorf("%+v", d)
	}
	w.after(5*time.Minute).does(continuation.Ask, continuation.UnblockRequest)
	w.does(continuation.Continue, continuation.Idle)
	w.after(time.Minute).restarts().ends(coordination.TypeRunAborted, coordination.RunOver{Reason: "restart"})
	w.does(continuation.Restart, continuation.GatewayRestarted)
}

func TestNoSummaryForActiveAgents(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a", "one").after(time.Minute).restarts()
	w.after(time.Second).well().does(continuation.Continue, continuation.SelfDriving)
	idle := eden(t).adds("task_a").after(time.Minute).restarts()
	idle.does(continuation.Pick, continuation.FromBacklog)
	idle.s.Busy = false
	idle.after(5*time.Minute).does(continuation.Continue, continuation.Idle)
}

// What began only after the restart was not broken off by it.
func TestNoSummaryOfWhatBeganLater(t *testing.T) {
	t.Parallel()
	w := eden(t).restarts().after(time.Minute).starts("task_a", "one")
	if d := w.next(); d.Kind == continuation.Restart {
		t.Errorf("%+v", d)
	}
	w.after(3*time.Minute).does(continuation.Continue, continuation.Idle)
}

// What was picked and could not be told is told later.
func TestBug34_APickThatFailsIsToldAgain(t *testing.T) {
	t.Parallel()
	w := eden(t).adds("task_a")
	w.does(continuation.Pick, continuation.FromBacklog)
	w.fails("timeout", "").rests(continuation.InBackoff, time.Minute)
	w.after(time.Minute).rests(continuation.NotIdle, 2*time.Minute)
	w.after(2*time.Minute).does(continuation.Continue, continuation.Idle)
}
