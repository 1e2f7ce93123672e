package task

import (
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
)

// Resume decides on task.resumed for a blocked or interrupted task: by its owner, an agent that it waits for, or a person. renewed is as
// in ApproveAsk.
func Resume(t *Task, a Asked, renewed string) ([]Event, error) {
	if a.By != t.Agent && !a.Human && !(t.Status == coordination.StateBlocked && slices.Contains(t.Blocked.By, a.By)) {
		return nil, UnknownTask(t.ID)
	}
	if err := a.Expects(t); err != nil {
		return nil, err
	}
	if !begins(coordination.TypeTaskResumed, t.Status) {
		return nil, wrongState(t, "resumed", orOver(t, "only a blocked or interrupted task can be resumed"))
	}
	return []Event{t.happens(coordination.TypeTaskResumed, coordination.TaskState{
		Context: t.renewed(a, renewed), DecidedBy: a.decider(t), Progress: "Task resumed",
	})}, nil
}
