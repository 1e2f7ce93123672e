package task

import "github.com/pronto-lab/openclawd/coordination"

// Cancel decides on task.cancelled.
func Cancel(t *Task, a Asked, reason string) ([]Event, error) {
	if err := a.owner(t); err != nil {
		return nil, err
	}
	if !leads(t.Status, coordination.StateCancelled) {
		return nil, wrongState(t, "cancelled", over)
	}
	reason, err := text("reason", reason, MaxText)
	if err != nil {
		return nil, err
	}
	return []Event{t.happens(coordination.TypeTaskCancelled, coordination.TaskState{
		Context: t.context(a), Reason: reason, DecidedBy: a.decider(t), Progress: after("Task cancelled", reason),
	})}, nil
}
