package tasktools

import (
	"cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// target names the task of a call, and the version that it must have.
type target struct {
	TaskID  string `json:"task_id"`
	SameID  string `json:"taskId"`
	Version *int64 `json:"version"`
}

func (t *target) id() (string, error) {
	one, other := coordination.TrimJS(t.TaskID), coordination.TrimJS(t.SameID)
	if one != "" && other != "" && one != other {
		return "", &task.Refusal{Reason: task.CodeInvalid, Field: "task_id", Text: "task_id and taskId name different tasks", HintText: "give one of them"}
	}
	return cmp.Or(one, other), nil
}

func (t *target) named() (string, error) {
	id, err := t.id()
	if err == nil && id == "" {
		err = &task.Refusal{Reason: task.CodeInvalid, Field: "task_id", Text: "task_id is missing", HintText: "name a task; task_list shows which there are"}
	}
	return id, err
}

// defaults finds the default task of a call that names none. Its refusal says what is missing.
type defaults func(tx eventstore.Tx, agent string) (taskID string, err error)

func focused(tx eventstore.Tx, agent string) (taskID string, err error) {
	taskID, err = tasks.Active(tx, agent)
	if taskID == "" && err == nil {
		err = &task.Refusal{Reason: task.CodeNothing, Field: "task_id", Text: "you have no active task",
			HintText: "begin one with task_start or task_pick_backlog, or name one by task_id; task_list shows yours"}
	}
	return taskID, err
}

func firstBlocked(tx eventstore.Tx, agent string) (taskID string, err error) {
	taskID, err = tasks.FirstOf(tx, agent, coordination.StateBlocked)
	if taskID == "" && err == nil {
		err = &task.Refusal{Reason: task.CodeNothing, Field: "task_id", Text: "none of your tasks is blocked",
			HintText: "name the task by task_id if it is another agent's that waits for you"}
	}
	return taskID, err
}

// findTask returns the task with an id, the default one for "". may decides whether another agent's task is visible; nil hides it.
func (c *taskChange) findTask(id string, usual defaults, may func(t *task.Task) bool) func(eventstore.Tx) (*task.Task, error) {
	return func(tx eventstore.Tx) (*task.Task, error) {
		taskID := id
		if taskID == "" {
			var err error
			if taskID, err = usual(tx, c.call.AgentID); err != nil {
				return nil, err
			}
		}
		t, found, err := tasks.Load(tx, taskID)
		if err != nil {
			return nil, err
		}
		if !found || t.Agent != c.call.AgentID && (may == nil || !may(t)) {
			return nil, task.UnknownTask(taskID)
		}
		return t, nil
	}
}

const maxShown = 80

// newTask finds a task that does not exist yet.
func newTask(id string) func(eventstore.Tx) (*task.Task, error) {
	return func(eventstore.Tx) (*task.Task, error) { return &task.Task{ID: id}, nil }
}
