package task

import (
	"cmp"

	"github.com/pronto-lab/openclawd/coordination"
)

// enter moves the task to a state if its own allows it.
func (t *Task) enter(state string, c coordination.Context) bool {
	if !leads(t.Status, state) {
		return false
	}
	t.Status = state
	t.join(c)
	return true
}

func (t *Task) update(d coordination.TaskUpdated, seq int64) bool {
	if !t.open() {
		return false
	}
	t.join(d.Context)
	if d.Action == setPriority {
		t.Priority = priority(d.Priority)
		return true
	}
	if d.StepsReplaced {
		t.Steps = plan(d.Steps).sorted()
	} else {
		t.Steps = plan(t.Steps).with(d.Steps)
	}
	t.Focus = seq
	t.addProgress(d.Progress)
	return true
}

func (t *Task) block(d coordination.TaskBlocked) bool {
	if !t.enter(coordination.StateBlocked, d.Context) {
		return false
	}
	t.Blocked = Blocked{Reason: d.Reason, By: d.UnblockedBy, Action: d.UnblockedAction, LastIndex: -1, Escalation: escalationNone}
	t.addProgress(d.Progress)
	return true
}

func (t *Task) change(typ string, d coordination.TaskState, seq, ts int64) bool {
	means := false
	switch typ {
	case coordination.TypeTaskApproved, coordination.TypeTaskResumed, coordination.TypeTaskBacklogPicked, coordination.TypeBacklogAutoPicked:
		if means = begins(typ, t.Status); means {
			t.turnTo(d, seq)
		}
	case coordination.TypeTaskCompleted, coordination.TypeTaskForceCompleted:
		means = t.complete(d, ts)
	case coordination.TypeTaskCancelled:
		if means = t.enter(coordination.StateCancelled, d.Context); means {
			t.EndedAt = max(ts, t.CreatedAt)
			t.Outcome = Outcome{Kind: coordination.StateCancelled, Reason: d.Reason, By: cmp.Or(d.DecidedBy, t.Agent)}
		}
	default:
		if means = t.open(); means {
			t.join(d.Context)
		}
	}
	if means {
		t.addProgress(d.Progress)
	}
	return means
}

// turnTo starts or resumes the task.
func (t *Task) turnTo(d coordination.TaskState, seq int64) {
	t.join(d.Context)
	t.Status = coordination.StateInProgress
	t.Blocked, t.Outcome, t.Focus = Blocked{}, Outcome{}, seq
	t.SessionKey = cmp.Or(d.SessionKey, t.SessionKey)
	t.Steps = plan(t.Steps).with(d.Steps)
}

// complete ends the task. task.completed after task.force_completed adds details to the same end.
func (t *Task) complete(d coordination.TaskState, ts int64) bool {
	if t.Status != coordination.StateCompleted {
		if !t.enter(coordination.StateCompleted, d.Context) {
			return false
		}
		t.EndedAt = max(ts, t.CreatedAt)
	}
	t.Outcome = Outcome{Kind: coordination.StateCompleted, Summary: d.Summary, By: d.DecidedBy}
	return true
}
