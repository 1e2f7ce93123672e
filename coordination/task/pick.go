package task

import (
	"cmp"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// PickAsk begins a task of the backlog.
type PickAsk struct {
	Asked
	Active  string            // the task that the agent is at, "" for none
	States  map[string]string // of what it depends on, by id; what is missing is not known
	Renewed string            // as of ApproveAsk
}

// Pick decides on task.backlog_picked. A task that is pending, as files may have it, is begun likewise.
func Pick(t *Task, a PickAsk) ([]Event, error) {
	if err := a.owner(t); err != nil {
		return nil, err
	}
	if !begins(coordination.TypeTaskBacklogPicked, t.Status) {
		return nil, wrongState(t, "picked", orOver(t, "only a task of the backlog is picked"))
	}
	if a.Active != "" {
		return nil, &Refusal{Reason: CodeBusy, Text: shown(t.Agent) + " is at task " + shown(a.Active),
			Mend: "complete, block or cancel that one first"}
	}
	if r := obstacle(t, a.States, a.Now); r != nil {
		return nil, r
	}
	return []Event{t.happens(coordination.TypeTaskBacklogPicked, coordination.TaskState{
		Context: t.renewed(a.Asked, a.Renewed), DecidedBy: a.decider(t), SessionKey: a.SessionKey, Progress: "Picked from backlog",
	})}, nil
}

// Pickable says why a task of the backlog cannot be begun now, "" if it can.
func Pickable(t *Task, states map[string]string, now int64) string {
	if r := obstacle(t, states, now); r != nil {
		return r.Text
	}
	return ""
}

// obstacle is what stands against the beginning of a task: its start date has not come, or what it depends on is not completed. A start date
// that cannot be read, as files may have it, is none.
func obstacle(t *Task, states map[string]string, now int64) *Refusal {
	if ms, ok := coordination.ParseTime(t.Backlog.StartDate); ok && ms > float64(now) {
		return &Refusal{Reason: CodeNotYet, Field: "start_date", Text: "task " + t.ID + " starts on " + shown(t.Backlog.StartDate),
			Mend: "pick another task, or wait for that day"}
	}
	var unmet []string
	for _, id := range t.Backlog.DependsOn {
		if state := states[id]; state != coordination.StateCompleted {
			unmet = append(unmet, shown(id)+" is "+cmp.Or(state, "unknown"))
		}
	}
	if len(unmet) == 0 {
		return nil
	}
	return &Refusal{Reason: CodeDependency, Field: "depends_on",
		Text: "task " + t.ID + " depends on what is not completed: " + strings.Join(unmet, ", "),
		Mend: "wait until they are completed; if one was cancelled, abandoned or is unknown, cancel this task and add it again without that one"}
}
