package task

import (
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Operated is what a person's change of a task has led to.
type Operated struct {
	Task
	Changed   bool   // false: it was so already
	Successor string // of Reassign: the id of the other agent's task
}

// Priorities are the priorities of tasks, most urgent first.
func Priorities() []string { return []string{"urgent", "high", "medium", "low"} }

// setPriority is the action of a task.updated that changes the priority alone.
const setPriority = "set_priority"

// Stop decides on task.cancelled for a person. A task that waits for approval is rejected, which needs a reason. A cancelled task needs
// nothing.
func Stop(t *Task, a Asked, reason string) ([]Event, error) {
	switch t.Status {
	case coordination.StateCancelled:
		return nil, a.Expects(t)
	case coordination.StatePendingApproval:
		return Reject(t, ApproveAsk{Asked: a}, reason)
	}
	return Cancel(t, a, reason)
}

// Unblock decides on task.resumed for a person, with a note for the owner, which may be "". A task in progress needs nothing. renewed is
// as in ApproveAsk.
func Unblock(t *Task, a Asked, renewed, note string) ([]Event, error) {
	if t.Status == coordination.StateInProgress {
		return nil, a.Expects(t)
	}
	note, err := text("reason", note, MaxText)
	if err != nil {
		return nil, err
	}
	events, err := Resume(t, a, renewed)
	if err != nil {
		return nil, err
	}
	if data, is := events[0].Data.(coordination.TaskState); is {
		data.Reason, data.Progress = note, after("Task resumed by "+coordination.Mask(a.By), note)
		events[0].Data = data
	}
	return events, nil
}

// Prioritise decides on task.updated with another priority, which neither moves the focus of the owner nor counts as progress. A task that has it needs nothing.
func Prioritise(t *Task, a Asked, priority string) ([]Event, error) {
	if err := a.owner(t); err != nil {
		return nil, err
	}
	if priority = coordination.TrimJS(priority); !slices.Contains(Priorities(), priority) {
		return nil, invalid("priority", "priority is "+coordination.Quoted(priority), "use "+strings.Join(Priorities(), ", "))
	}
	if !t.open() {
		return nil, wrongState(t, "given another priority", over)
	}
	if priority == t.Priority {
		return nil, nil
	}
	return []Event{t.happens(coordination.TypeTaskUpdated, coordination.TaskUpdated{
		Context: t.context(a), ProgressCount: t.ProgressCount, Action: setPriority, Priority: priority, DecidedBy: a.decider(t),
	})}, nil
}

// ReassignAsk gives a task to another agent.
type ReassignAsk struct {
	Asked
	To       string   // the other agent
	Known    []string // configured agents that have tasks
	NewID    string   // of the task that the other agent gets
	Waiting  []string // open tasks that depend on this one
	OpenOfTo int      // tasks of the other agent that are not over
}

// Reassign decides that the task ends for its owner and begins, in the same work session, in the backlog of another agent: an agent's
// tasks are its own, with its files, focus and plans. created are the events of the new task. A task of that agent needs nothing.
func Reassign(t *Task, a ReassignAsk) (ended, created []Event, err error) {
	if err := a.owner(t); err != nil {
		return nil, nil, err
	}
	to, err := named("to", strings.ToLower(a.To), "name the agent that is to do it")
	switch {
	case err != nil:
		return nil, nil, err
	case !slices.Contains(a.Known, to):
		return nil, nil, unknownAgent("to", to)
	case !leads(t.Status, coordination.StateCancelled):
		return nil, nil, wrongState(t, "reassigned", over)
	case to == t.Agent:
		return nil, nil, nil
	case t.Status == coordination.StatePendingApproval:
		return nil, nil, wrongState(t, "reassigned", "approve or reject it first")
	case len(a.Waiting) > 0:
		return nil, nil, &Refusal{Reason: CodeDependency, Field: "task_id", HintText: "end or change those first",
			Text: "other tasks wait for task " + t.ID + ": " + coordination.Quoted(strings.Join(a.Waiting, ", "))}
	}
	created, err = AddBacklog(BacklogAsk{
		Asked: Asked{By: a.By, Human: a.Human, SessionKey: a.SessionKey, Now: a.Now}, TaskID: a.NewID,
		WorkSessionID: t.context(a.Asked).WorkSessionID, Assignee: to, Known: a.Known, Description: t.Description, Background: t.handedOver(),
		Priority: t.Priority, Effort: t.Backlog.Effort, StartDate: t.Backlog.StartDate, DueDate: t.Backlog.DueDate, DependsOn: t.Backlog.DependsOn,
		MilestoneID: t.Backlog.MilestoneID, MilestoneItemID: t.Backlog.MilestoneItemID, Open: a.OpenOfTo,
	})
	if err != nil {
		return nil, nil, err
	}
	ended, err = Cancel(t, a.Asked, "Reassigned by "+a.By+" to "+to+" as "+a.NewID)
	return ended, created, err
}

// handedOver is what the next owner has to know: the background, where the task came from, and what is left of its steps.
func (t *Task) handedOver() string {
	parts := []string{}
	if t.Background != "" {
		parts = append(parts, t.Background)
	}
	begin := "This was task " + t.ID + " of " + t.Agent + "."
	if t.Blocked.Reason != "" {
		begin += " It was blocked: " + coordination.Head(t.Blocked.Reason, MaxStepText)
	}
	if t.Progress != "" {
		begin += " Its last line of progress: " + coordination.Head(t.Progress, MaxStepText)
	}
	parts = append(parts, begin)
	var left []string
	for _, s := range t.Steps {
		if s.Status != stepDone && s.Status != stepSkipped {
			left = append(left, "- "+s.Content)
		}
	}
	if len(left) > 0 {
		parts = append(parts, "Steps left:\n"+strings.Join(left, "\n"))
	}
	text := strings.Join(parts, "\n\n")
	return strings.ToValidUTF8(text[:min(len(text), MaxText)], "")
}

// rejectedBy begins the line of progress of a rejected task.
const rejectedBy = "Task rejected by "

// IsRejection reports whether a task.cancelled rejected a task that waited for approval.
func IsRejection(d coordination.TaskState) bool { return strings.HasPrefix(d.Progress, rejectedBy) }
