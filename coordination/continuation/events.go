package continuation

import (
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// Event is an event of a decision. AgentID is the agent whose continuation it is.
type Event struct {
	Type    string
	AgentID string
	TaskID  string // the task of the stream; "" is the agent's own stream
	Data    any
}

// Events are appended together with the requested action, in this order: to be folded into State, and those of a task
// into that. s is the situation of the decision, runID the requested run, "" for none. Nothing has none.
func (d *Decision) Events(s *Situation, runID string) []Event {
	t := s.Task(d.TaskID)
	switch d.Kind {
	case Continue, Restart:
		return []Event{d.sent(coordination.TypeContinuationSent, t, runID)}
	case Pick:
		c := within(t)
		if s.Renewed != "" && s.Renewed != t.WorkSessionID {
			c.WorkSessionID, c.PreviousWorkSessionID = s.Renewed, t.WorkSessionID
		}
		picked := coordination.TaskState{Context: c, SessionKey: coordination.MainKey(d.Agent).String(), Progress: "Picked from backlog"}
		sent := d.continuation(t, runID)
		sent.Context, sent.Measured = c, sent.Measured+noted(t)
		return []Event{{coordination.TypeBacklogAutoPicked, d.Agent, t.ID, picked}, {coordination.TypeContinuationSent, d.Agent, "", sent}}
	case Remind:
		return []Event{d.sent(coordination.TypeResumeReminderSent, t, runID)}
	case Ask:
		return []Event{{coordination.TypeUnblockRequested, d.Agent, t.ID, coordination.Unblock{Context: within(t), TargetAgentID: d.To, RunID: runID,
			RequestCount: d.Attempt, Progress: fmt.Sprintf("[UNBLOCK] request %d of %d to %s", d.Attempt, MaxAsks, d.To)}}}
	case Escalate:
		if d.To == d.Agent {
			return []Event{d.sent(coordination.TypeContinuationSent, t, runID)}
		}
		return []Event{{coordination.TypeUnblockFailed, d.Agent, t.ID, coordination.Unblock{Context: within(t), RequestCount: t.Blocked.Requests,
			Failures: t.Blocked.Failures, Reason: string(d.Reason), Dependency: d.DependsOn, ToldAgentID: d.To, RunID: runID,
			Progress: "[UNBLOCK] " + noHelperText(t, d)}}}
	case Recover:
		return []Event{d.taken(t, runID)}
	case Reset:
		return []Event{{coordination.TypeContinuationBackoff, d.Agent, "", coordination.Continuation{
			Context: coordination.Context{EventRole: coordination.RoleOrchestration}, Reason: string(Overflow), BackoffMs: ms(ResetPause)}}}
	}
	return nil
}

// noted is how much the line of progress of a picked task counts in its measure.
func noted(t *task.Task) int {
	if len(t.Steps) == 0 {
		return 1
	}
	return 0
}

func (d *Decision) sent(typ string, t *task.Task, runID string) Event {
	return Event{typ, d.Agent, "", d.continuation(t, runID)}
}

func (d *Decision) continuation(t *task.Task, runID string) coordination.Continuation {
	return coordination.Continuation{Context: within(t), Reason: string(d.Reason), RunID: runID, StepID: d.StepID, Measured: d.Measured}
}

func (d *Decision) taken(t *task.Task, runID string) Event {
	progress := fmt.Sprintf("Moved to backlog: no activity for %.0f h", d.AgeHours)
	if d.Action == coordination.ZombieEscalated {
		progress = fmt.Sprintf("Interrupted: no activity for %.0f h, for the %s time", d.AgeHours, ordinal(d.Attempt))
	}
	return Event{coordination.TypeZombieAbandoned, d.Agent, t.ID, coordination.ZombieAbandoned{Context: within(t), AgeHours: d.AgeHours,
		ReassignCount: d.Attempt, Action: d.Action, ToldAgentID: d.To, RunID: runID, Progress: progress}}
}

// Undelivered returns the event that a request to unblock a task was not delivered, in place of the decision's events or after them. The
// next agent in turn is asked after AskAgain. err is masked.
func Undelivered(t *task.Task, target, err string) Event {
	failures := t.Blocked.Failures + 1
	return Event{coordination.TypeUnblockFailed, t.Agent, t.ID, coordination.Unblock{Context: within(t), TargetAgentID: target, Failures: failures,
		Error: coordination.Mask(err), Progress: fmt.Sprintf("[UNBLOCK] request to %s not delivered (%d of %d)", target, failures, MaxAskFailures)}}
}

// Unsent returns the event that no run could be queued for a prompt, in place of the decision's events. It has the effect of a failed
// run. err is masked.
func Unsent(s *Situation, d *Decision, err string, now int64) Event {
	c := coordination.Context{EventRole: coordination.RoleOrchestration}
	if t := s.Task(d.TaskID); t != nil {
		c = within(t)
	}
	failures := s.State.Failures + 1
	cause := CauseOf("", err)
	pause := ms(Backoff(cause, failures, Hint(err)))
	return Event{coordination.TypeContinuationBackoff, s.Agent, "", coordination.Continuation{Context: c, Reason: string(cause),
		ConsecutiveFailures: failures, BackoffMs: pause, BackoffUntilMs: now + pause, Error: coordination.Mask(err)}}
}

// Outcome returns the back-off event of a failed prompt that State already counts, at most one per failure. It is called after each such
// run, and at program start.
func Outcome(s *Situation) []Event {
	st := &s.State
	if st.Failures == 0 || st.BackoffTold {
		return nil
	}
	c := coordination.Context{TaskID: st.FailedTask, EventRole: coordination.RoleOrchestration}
	if t := s.Task(st.FailedTask); t != nil {
		c = within(t)
	}
	return []Event{{coordination.TypeContinuationBackoff, s.Agent, "", coordination.Continuation{Context: c, Reason: st.Cause, RunID: st.FailedRun,
		ConsecutiveFailures: st.Failures, BackoffMs: st.BackoffMs, BackoffUntilMs: st.BackoffUntil}}}
}

// Task returns a task of the situation, nil for none.
func (s *Situation) Task(id string) *task.Task {
	for _, t := range []*task.Task{s.Pickable, s.Stuck.First} {
		if t != nil && t.ID == id {
			return t
		}
	}
	for i := range s.Tasks {
		if s.Tasks[i].ID == id {
			return &s.Tasks[i]
		}
	}
	return nil
}

// within is the context of a task's events.
func within(t *task.Task) coordination.Context {
	return coordination.Context{TaskID: t.ID, WorkSessionID: t.WorkSessionID, EventRole: coordination.RoleOrchestration}
}
