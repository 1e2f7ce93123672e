package task

import (
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// BacklogAsk adds a task to a backlog.
type BacklogAsk struct {
	Asked
	TaskID, WorkSessionID   string // of the new task
	Assignee                string // "" is the requester
	Known                   []string
	Description, Background string
	Priority                string
	Effort                  string
	StartDate, DueDate      string // YYYY-MM-DD or RFC 3339
	DependsOn               []string
	Unknown                 []string // those of DependsOn without a task
	MilestoneID             string
	MilestoneItemID         string
	Open                    int // tasks of the assignee that are not over
}

// AddBacklog decides on task.backlog_added. A person must name an assignee.
func AddBacklog(a BacklogAsk) ([]Event, error) {
	assignee, err := a.assignee()
	if err != nil {
		return nil, err
	}
	if a.Open >= MaxOpen {
		return nil, full(assignee)
	}
	data := coordination.TaskBacklogAdded{
		Context:  coordination.Context{TaskID: a.TaskID, WorkSessionID: a.WorkSessionID, EventRole: coordination.RoleOrchestration},
		Assignee: assignee, IsCrossAgent: assignee != a.By, Priority: priority(a.Priority), CreatedBy: coordination.Mask(a.By), SessionKey: a.SessionKey,
		Progress: "Added to backlog",
	}
	if data.IsCrossAgent {
		data.Progress = line("Added to backlog by " + data.CreatedBy)
	}
	if err := a.describe(&data); err != nil {
		return nil, err
	}
	if err := a.schedule(&data); err != nil {
		return nil, err
	}
	adder := a.By
	if a.Human {
		adder = assignee
	}
	return []Event{{coordination.TypeTaskBacklogAdded, adder, data}}, nil
}

func (a BacklogAsk) assignee() (string, error) {
	assignee, err := name("assignee", strings.ToLower(a.Assignee))
	switch {
	case err != nil:
		return "", err
	case assignee == "" && a.Human:
		return "", invalid("assignee", "assignee is missing", "name the agent that is to do it")
	case assignee == "" || assignee == a.By && !a.Human:
		return a.By, nil
	case !slices.Contains(a.Known, assignee):
		return "", unknownAgent("assignee", assignee)
	}
	return assignee, nil
}

func (a BacklogAsk) describe(data *coordination.TaskBacklogAdded) (err error) {
	if data.Description, err = needed("description", a.Description, MaxText, sayWork); err != nil {
		return err
	}
	if data.Background, err = text("context", a.Background, MaxText); err != nil {
		return err
	}
	if data.MilestoneID, err = name("milestone_id", a.MilestoneID); err != nil {
		return err
	}
	data.MilestoneItemID, err = name("milestone_item_id", a.MilestoneItemID)
	return err
}

func (a BacklogAsk) schedule(data *coordination.TaskBacklogAdded) (err error) {
	switch effort := coordination.TrimJS(a.Effort); effort {
	case "", "small", "medium", "large":
		data.EstimatedEffort = effort
	default:
		return invalid("estimated_effort", "estimated_effort is "+coordination.Quoted(effort), "use small, medium or large")
	}
	if data.StartDate, err = date("start_date", a.StartDate); err != nil {
		return err
	}
	if data.DueDate, err = date("due_date", a.DueDate); err != nil {
		return err
	}
	if err := checkDates(data.StartDate, data.DueDate); err != nil {
		return err
	}
	if data.DependsOn, err = names("depends_on", a.DependsOn, MaxDepends, false); err != nil {
		return err
	}
	if slices.Contains(data.DependsOn, a.TaskID) {
		return invalid("depends_on", "a task cannot depend on itself", "name other tasks")
	}
	if len(a.Unknown) > 0 {
		return &Refusal{Reason: CodeUnknown, Field: "depends_on", Text: "it depends on unknown tasks: " + coordination.Quoted(strings.Join(a.Unknown, ", ")),
			HintText: "name existing tasks; list them with task_list, scope all"}
	}
	return nil
}
