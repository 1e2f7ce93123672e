package monitor

import (
	"context"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor/push"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// FileNews is a change of a file. File names are the original's, through which it announces tasks.
type FileNews struct {
	Event string `json:"event"` // add, change, unlink
	File  string `json:"file"`
}

// StepNews is sent beside the FileNews of a task with steps.
type StepNews struct {
	FileNews
	StepsProgress *taskfile.StepsProgress `json:"stepsProgress"`
	StepCount     int                     `json:"stepCount"`
}

// PlanNews is a change of a plan.
type PlanNews struct {
	FileNews
	PlanID string `json:"planId"`
	Status string `json:"status"` // set by the event
}

// taskNews builds the messages about tasks kept here and about plans, one set per event: the task changed, its current
// steps, and whether the agent focused or left it. If another gateway stores the tasks, the file watcher sends them.
func (v *view) taskNews(ctx context.Context, seqs []int64, events map[int64]*eventstore.Event) (news []push.Message, err error) {
	if v.OwnTasks == nil {
		return nil, nil
	}
	read := map[string]*tasks.Row{}
	for _, seq := range seqs {
		e := events[seq]
		if e == nil || e.Actor == eventstore.ActorImport {
			continue
		}
		if !ofTask(e.Type) {
			news = append(news, planNews(e)...)
			continue
		}
		record := v.record(e)
		row, known := read[record.TaskID]
		if !known {
			if row, _, err = tasks.Brief(ctx, v.tx, record.TaskID); err != nil {
				return nil, err
			}
			read[record.TaskID] = row
		}
		if row != nil {
			news = append(news, newsOf(e.Type, row)...)
		}
	}
	return news, nil
}

// planNews formats a plan's event; nothing for other events.
func planNews(e *eventstore.Event) []push.Message {
	_, id, of := strings.Cut(e.Stream, "/") // as made by coordination.PlanStream
	told := PlanNews{FileNews{"change", id + ".json"}, id, ""}
	switch e.Type {
	case coordination.TypePlanSubmitted:
		told.Event, told.Status = "add", plan.Pending
	case coordination.TypePlanApproved:
		told.Status = plan.Approved
	case coordination.TypePlanRejected:
		told.Status = plan.Rejected
	default:
		of = false
	}
	if !of {
		return nil
	}
	return []push.Message{{Type: "plan_update", AgentID: e.AgentID, Data: told}}
}

// ofTask reports whether events of a type are in a task's stream.
func ofTask(typ string) bool {
	family, _, _ := strings.Cut(typ, ".")
	switch family {
	case "task", "delegation", "unblock", "zombie", "backlog":
		return true
	}
	return false
}

// newsOf formats a task's event with the task's current state.
func newsOf(typ string, row *tasks.Row) []push.Message {
	told := FileNews{"change", row.ID + ".md"}
	switch typ {
	case coordination.TypeTaskStarted, coordination.TypeTaskBacklogAdded:
		told.Event = "add"
	case coordination.TypeTaskCompleted, coordination.TypeTaskCancelled:
		told.Event = "unlink"
	}
	news := []push.Message{{Type: "task_update", AgentID: row.AgentID, TaskID: row.ID, Data: told}}
	if steps := row.StepsProgress; steps != nil && told.Event != "unlink" {
		news = append(news, push.Message{Type: "task_step_update", AgentID: row.AgentID, TaskID: row.ID, Data: StepNews{told, steps, steps.Total}})
	}
	if turns(typ) {
		news = append(news, push.Message{Type: "agent_update", AgentID: row.AgentID, Data: FileNews{"change", "CURRENT_TASK.md"}})
	}
	return news
}

// turns reports whether an event type means that an agent focused or left a task.
func turns(typ string) bool {
	switch typ {
	case coordination.TypeTaskStarted, coordination.TypeTaskUpdated, coordination.TypeTaskApproved, coordination.TypeTaskResumed,
		coordination.TypeTaskBacklogPicked, coordination.TypeBacklogAutoPicked,
		coordination.TypeTaskBlocked, coordination.TypeTaskCompleted, coordination.TypeTaskCancelled, coordination.TypeZombieAbandoned:
		return true
	}
	return false
}
