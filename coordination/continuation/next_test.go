package continuation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// Each reason comes before all that stand below it: with two of them at once, the upper one is decided.
func TestPriorities(t *testing.T) {
	t.Parallel()
	type reason struct {
		name   string
		kind   continuation.Kind
		reason continuation.Reason
		put    func(w *world)
	}
	quiet := func(w *world) { w.after(time.Hour) }
	reasons := []reason{
		{"disabled", continuation.Nothing, continuation.Disabled, func(w *world) { w.s.Policy.Enabled = false }},
		{"busy", continuation.Nothing, continuation.Busy, func(w *world) { w.s.Busy = true }},
		{"zombie", continuation.Recover, continuation.Zombie, func(w *world) { w.s.Tasks[0].ActiveAt = w.now - ms(25*time.Hour) }},
		{"overflow", continuation.Reset, continuation.Overflow, func(w *world) { w.s.State.Overflows = 5 }},
		{"backoff", continuation.Nothing, continuation.InBackoff, func(w *world) { w.s.State.Failures, w.s.State.BackoffUntil = 1, w.now+1 }},
		{"blocked", continuation.Ask, continuation.UnblockRequest, func(w *world) {
			now := w.now
			w.now = begin
			w.starts("task_b").blocks("task_b", "seum")
			w.now = now
		}},
		{"restart", continuation.Restart, continuation.GatewayRestarted, func(w *world) { w.s.RestartedAt = w.now }},
		{"cooldown", continuation.Nothing, continuation.Cooldown, func(w *world) {
			w.s.State.Tasks = map[string]continuation.Care{"task_a": {At: w.now}}
		}},
		{"idle", continuation.Nothing, continuation.NotIdle, func(w *world) { w.s.Tasks[0].ActiveAt = max(w.s.Tasks[0].ActiveAt, w.now-1) }},
		{"continue", continuation.Continue, continuation.Idle, func(*world) {}},
	}
	for i, upper := range reasons {
		for _, lower := range reasons[i:] {
			t.Run(upper.name+" before "+lower.name, func(t *testing.T) {
				t.Parallel()
				w := eden(t).starts("task_a")
				quiet(w)
				lower.put(w)
				upper.put(w)
				w.does(upper.kind, upper.reason)
			})
		}
	}
}

// Among what holds the agent back, the reason that counts most is told.
func TestReasonsOfNothing(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		put    func(w *world)
		reason continuation.Reason
		wait   time.Duration
	}{
		"nothing at all":                {func(*world) {}, continuation.Done, 0},
		"approval, though it is busy":   {func(w *world) { w.waitsForApproval("a").s.Busy = true }, continuation.Approval, 0},
		"approval, though it failed":    {func(w *world) { w.waitsForApproval("a").s.State.BackoffUntil = begin + 5 }, continuation.Approval, 5 * time.Millisecond},
		"a task, though another waits":  {func(w *world) { w.waitsForApproval("a").starts("b") }, continuation.NotIdle, 3 * time.Minute},
		"a task, though one is blocked": {func(w *world) { w.starts("a").blocks("a", "x").after(time.Minute).starts("b") }, continuation.NotIdle, 2 * time.Minute},
		"begins later":                  {func(w *world) { w.s.PickableAt = begin + 9 }, continuation.NotYet, 9 * time.Millisecond},
		"depends on others":             {func(w *world) { w.s.Waiting = 1 }, continuation.NotYet, 0},
		"just at work":                  {func(w *world) { w.adds("a").well() }, continuation.NotIdle, 2 * time.Minute},
		"over": {func(w *world) {
			w.s.Tasks = append(w.s.Tasks, *eden(w.t).starts("a").task("a"))
			w.s.Tasks[0].Status = "completed"
		}, continuation.Done, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := eden(t)
			row.put(w)
			w.rests(row.reason, row.wait)
		})
	}
}

func TestTheFocusIsGoneOnWith(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a").starts("task_b").after(time.Hour)
	if d := w.next(); d.TaskID != "task_b" {
		t.Errorf("%+v", d)
	}
	w.s.Tasks[0].Focus = w.s.Tasks[1].Focus
	if d := w.next(); d.TaskID != "task_a" {
		t.Errorf("%+v", d)
	}
}

func TestPickJoinsTheWorkSessionOfTheTask(t *testing.T) {
	t.Parallel()
	w := eden(t).adds("task_a")
	w.s.Renewed = "ws_2"
	d := w.does(continuation.Pick, continuation.FromBacklog)
	got := w.task("task_a")
	if got.Status != coordination.StateInProgress || got.WorkSessionID != "ws_2" || got.PreviousWorkSessionID != "ws_1" || got.SessionKey != "agent:eden:main" {
		t.Errorf("%+v", got)
	}
	// The line of progress of its start is no progress.
	if c := w.s.State.Tasks["task_a"]; c.Measured != got.ProgressCount || c.Prompts != 1 || d.To != "eden" {
		t.Errorf("%+v, %d lines", c, got.ProgressCount)
	}
}

// Events of a decision say where they belong, whatever it is.
func TestEventsAreOfOneTaskAndAgent(t *testing.T) {
	t.Parallel()
	w := eden(t)
	if d := w.next(); d.Events(&w.s, "") != nil {
		t.Errorf("%+v", d)
	}
	w.starts("task_a").blocks("task_a", "seum").after(time.Hour)
	d := w.next()
	events := d.Events(&w.s, "r1")
	data, is := events[0].Data.(coordination.Unblock)
	if len(events) != 1 || events[0].TaskID != "task_a" || events[0].AgentID != "eden" || !is || data.RunID != "r1" || data.TargetAgentID != "seum" ||
		data.WorkSessionID != "ws_1" || data.EventRole != coordination.RoleOrchestration {
		t.Errorf("%+v", events)
	}
}

// While the last plan for the task in focus waits for approval, the agent is not told to go on, and the task is not taken away: with the decision
// it goes on.
func TestAPlanThatWaitsHoldsItsTask(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a", "one").well()
	w.s.Planned = []string{"task_a"}
	w.rests(continuation.Approval, 0)
	if text := continuation.Explain(w.next(), w.now); !strings.Contains(text, "the plan for its task waits for approval") {
		t.Errorf("%s", text)
	}
	w.adds("task_b")
	w.after(48*time.Hour).rests(continuation.Approval, 0)
	w.restarts().rests(continuation.Approval, 0)
	w.s.Planned, w.s.RestartedAt = nil, 0
	w.does(continuation.Recover, continuation.Zombie)
}

// A plan for another task holds nothing.
func TestAPlanForAnotherTaskHoldsNothing(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a", "one")
	w.s.Planned = []string{"task_b"}
	w.well().does(continuation.Continue, continuation.SelfDriving)
}

// Where the summary after a restart is refused again and again, others are asked all the same, and the lead is told.
func TestARefusedSummaryHoldsNoRequestBack(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a", "one").blocks("task_a", "seum").restarts()
	for range 20 {
		d := w.next()
		switch {
		case d.Kind == continuation.Nothing && d.LookAgainAt > 0:
			w.now = d.LookAgainAt
		case d.To == "eden":
			refused := continuation.Unsent(&w.s, &d, "send blocked by session policy", w.now)
			w.happens(refused.Type, refused.TaskID, refused.Data)
		case d.Kind != continuation.Nothing:
			w.take(d)
		}
	}
	if asked, told := w.tells(continuation.Ask), w.tells(continuation.Escalate); len(asked) != 3 || len(told) != 1 || told[0].To != "main" {
		t.Errorf("%d requests, %d times it is told; want 3, and the lead told once", len(asked), len(told))
	}
}

// Times from a clock that was far ahead hold no prompt back once the clock is right.
func TestAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	for name, put := range map[string]func(w *world){
		"a prompt": func(w *world) {
			w.after(time.Hour).does(continuation.Continue, continuation.Idle)
			w.s.Busy = false
		},
		"its end": func(w *world) {
			w.after(time.Hour).does(continuation.Continue, continuation.Idle)
			w.ends(coordination.TypeRunAborted, coordination.RunOver{Reason: "rpc"})
		},
		"a failure": func(w *world) {
			w.after(time.Hour).does(continuation.Continue, continuation.Idle)
			w.fails("auth", "")
		},
		"a request": func(w *world) {
			w.blocks("task_a", "seum").after(time.Hour).does(continuation.Ask, continuation.UnblockRequest)
		},
		"the task": func(*world) {},
		"a reminder": func(w *world) {
			w.blocks("task_a", "seum").after(time.Hour).does(continuation.Ask, continuation.UnblockRequest)
			w.after(3*time.Minute).does(continuation.Remind, continuation.StillBlocked)
			w.s.Busy = false
		},
	} {
		w := eden(t).starts("task_a", "one")
		put(w)
		if w.next().Kind != continuation.Nothing {
			t.Fatalf("%s: there is something to do before", name)
		}
		before := len(w.sent)
		w.after(-year)
		for range 10 { // it goes on, and comes to rest
			if d := w.next(); d.Kind != continuation.Nothing {
				w.take(d)
			}
		}
		if d := w.next(); len(w.sent) == before || len(w.sent) > before+3 || d.Kind != continuation.Nothing {
			t.Errorf("%s: %d things are done once the clock is set right: %s", name, len(w.sent)-before, continuation.Explain(d, w.now))
		}
	}
}

// A clock set back a little causes no second prompt.
func TestAClockThatIsCorrected(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a", "one").after(time.Hour)
	w.does(continuation.Continue, continuation.Idle)
	w.fails("auth", "").after(-30 * time.Minute)
	w.does(continuation.Nothing, continuation.InBackoff)
}

// In a file a task may wait for its own agent, which is not asked for help.
func TestAnAgentIsNotAskedToHelpItself(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a", "one").blocks("task_a", "eden").after(3 * time.Minute)
	w.does(continuation.Escalate, continuation.NobodyToAsk)
}

// A run that ended before the task started says nothing about the task.
func TestTasksStartedAfterTheRunAreNotContinued(t *testing.T) {
	t.Parallel()
	w := eden(t).well().after(time.Minute).starts("task_a", "one")
	w.rests(continuation.NotIdle, 3*time.Minute)
	w.after(3*time.Minute).does(continuation.Continue, continuation.Idle)
}

func TestWhatIsBlockedIsNamed(t *testing.T) {
	t.Parallel()
	if d := eden(t).starts("task_a", "one").blocks("task_a", "seum").next(); d.Kind != continuation.Nothing || d.Reason != continuation.Blocked || d.TaskID != "task_a" {
		t.Errorf("%+v", d)
	}
}

// What a decision writes into the progress of a task can be shown in other languages.
func TestLinesOfDecisionsHaveCodes(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a").blocks("task_a", "seum")
	w.s.Tasks[0].Blocked.Requests = 3
	for name, d := range map[string]continuation.Decision{
		"returned":    {Kind: continuation.Recover, Action: coordination.ZombieMovedToBacklog, AgeHours: 25},
		"interrupted": {Kind: continuation.Recover, Action: coordination.ZombieEscalated, AgeHours: 26, Attempt: 3},
		"asked":       {Kind: continuation.Ask, To: "seum", Attempt: 2},
		"no answer":   {Kind: continuation.Escalate, Reason: continuation.NoAnswer},
		"no way":      {Kind: continuation.Escalate, Reason: continuation.NotDelivered},
		"no helper":   {Kind: continuation.Escalate, Reason: continuation.NobodyToAsk},
	} {
		d.Agent, d.TaskID = "eden", "task_a"
		var text string
		switch data := d.Events(&w.s, "")[0].Data.(type) {
		case coordination.Unblock:
			text = data.Progress
		case coordination.ZombieAbandoned:
			text = data.Progress
		}
		if line := task.ReadLine(text); text == "" || line.Code == "" {
			t.Errorf("%s: %q has no code", name, text)
		}
	}
}
