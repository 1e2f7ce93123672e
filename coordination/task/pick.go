package task

import (
	"cmp"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// PickAsk starts a task of the backlog.
type PickAsk struct {
	Asked
	Active  string            // the agent's task in progress, "" for none
	States  map[string]string // of the dependencies, by id; absent means unknown
	Renewed string            // see ApproveAsk
}

// Pick decides on task.backlog_picked. It also starts a pending task, a state that only files have.
func Pick(t *Task, a PickAsk) ([]Event, error) {
	if err := a.owner(t); err != nil {
		return nil, err
	}
	if !begins(coordination.TypeTaskBacklogPicked, t.Status) {
		return nil, wrongState(t, "picked", orOver(t, "only a task in the backlog can be picked"))
	}
	if a.Active != "" {
		return nil, &Refusal{Reason: CodeBusy, Text: coordination.Quoted(t.Agent) + " is working on task " + coordination.Quoted(a.Active),
			HintText: "complete, block or cancel that one first"}
	}
	if r := obstacle(t, a.States, a.Now); r != nil {
		return nil, r
	}
	return []Event{t.happens(coordination.TypeTaskBacklogPicked, coordination.TaskState{
		Context: t.renewed(a.Asked, a.Renewed), DecidedBy: a.decider(t), SessionKey: a.SessionKey, Progress: "Picked from backlog",
	})}, nil
}

// Pickable returns why a backlog task cannot be started now, "" if it can.
func Pickable(t *Task, states map[string]string, now int64) string {
	if r := obstacle(t, states, now); r != nil {
		return r.Text
	}
	return ""
}

// obstacle returns what prevents a task from starting: a future start date, or dependencies that are not completed. A start date that
// cannot be read, which files may have, is ignored.
func obstacle(t *Task, states map[string]string, now int64) *Refusal {
	if ms, ok := coordination.ParseTime(t.Backlog.StartDate); ok && ms > float64(now) {
		return &Refusal{Reason: CodeNotYet, Field: "start_date", Text: "task " + t.ID + " starts on " + coordination.Quoted(t.Backlog.StartDate),
			HintText: "pick another task, or wait for that day"}
	}
	var unmet []string
	for _, id := range t.Backlog.DependsOn {
		if state := states[id]; state != coordination.StateCompleted {
			unmet = append(unmet, coordination.Quoted(id)+" is "+cmp.Or(state, "unknown"))
		}
	}
	if len(unmet) == 0 {
		return nil
	}
	return &Refusal{Reason: CodeDependency, Field: "depends_on",
		Text:     "task " + t.ID + " depends on tasks that are not completed: " + strings.Join(unmet, ", "),
		HintText: "wait until they are completed; if one was cancelled, abandoned or is unknown, cancel this task and add it again without that dependency"}
}
