package task

import (
	"cmp"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/task"
)

// target is which task a call means, and the version that it must have.
type target struct {
	TaskID  string `json:"task_id"`
	SameID  string `json:"taskId"`
	Version *int64 `json:"version"`
}

// id is the task that is named, "" for none.
func (t *target) id() (string, error) {
	one, other := coordination.TrimJS(t.TaskID), coordination.TrimJS(t.SameID)
	if one != "" && other != "" && one != other {
		return "", &task.Refusal{Reason: task.CodeInvalid, Field: "task_id", Text: "task_id and taskId name different tasks", Mend: "give one of them"}
	}
	return cmp.Or(one, other), nil
}

// named is the task that a call names, which has to.
func (t *target) named() (string, error) {
	id, err := t.id()
	if err == nil && id == "" {
		err = &task.Refusal{Reason: task.CodeInvalid, Field: "task_id", Text: "task_id is missing", Mend: "name a task; task_list shows which there are"}
	}
	return id, err
}

// usual finds the task that an agent means who names none. Its refusal says what there is none of.
type usual func(tx eventstore.Tx, agent string) (taskID string, err error)

// focused is the task that an agent has in focus; where there is none, the first of those that it has in progress.
func focused(tx eventstore.Tx, agent string) (taskID string, err error) {
	taskID, err = projection.Active(tx, agent)
	if taskID == "" && err == nil {
		err = &task.Refusal{Reason: task.CodeNothing, Field: "task_id", Text: "you have no active task",
			Mend: "begin one with task_start or task_pick_backlog, or name one by task_id; task_list shows yours"}
	}
	return taskID, err
}

// firstBlocked is the first of an agent's tasks that are blocked.
func firstBlocked(tx eventstore.Tx, agent string) (taskID string, err error) {
	taskID, err = projection.FirstOf(tx, agent, coordination.StateBlocked)
	if taskID == "" && err == nil {
		err = &task.Refusal{Reason: task.CodeNothing, Field: "task_id", Text: "none of your tasks is blocked",
			Mend: "name the task by task_id if it is another agent's that waits for you"}
	}
	return taskID, err
}

// findTask gives the task of an id, the usual one for "". That of another agent is known to the caller if may says so; nil never does.
func (c *change) findTask(id string, usual usual, may func(t *task.Task) bool) func(eventstore.Tx) (*task.Task, error) {
	return func(tx eventstore.Tx) (*task.Task, error) {
		taskID := id
		if taskID == "" {
			var err error
			if taskID, err = usual(tx, c.call.AgentID); err != nil {
				return nil, err
			}
		}
		t, found, err := projection.Load(tx, taskID)
		if err != nil {
			return nil, err
		}
		if !found || t.Agent != c.call.AgentID && (may == nil || !may(t)) {
			return nil, unknownTask(taskID)
		}
		return t, nil
	}
}

// maxShown is how many characters of an id a refusal shows.
const maxShown = 80

// unknownTask says that there is no such task, or none that the agent may know of.
func unknownTask(id string) *task.Refusal {
	return &task.Refusal{Reason: task.CodeUnknown, Field: "task_id", Text: fmt.Sprintf("there is no task %q", coordination.Head(coordination.Mask(id), maxShown)),
		Mend: "task_list shows your tasks"}
}

// newTask finds a task that is not there yet.
func newTask(id string) func(eventstore.Tx) (*task.Task, error) {
	return func(eventstore.Tx) (*task.Task, error) { return &task.Task{ID: id}, nil }
}
