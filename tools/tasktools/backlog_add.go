package tasktools

import (
	"context"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/tools"
)

func (s *Service) backlogAddTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_backlog_add", Group: tool.GroupTasks, Label: "Add to a backlog",
			Description: "Add a task to your backlog, or to the backlog of another agent (assignee). task_pick_backlog starts it later; it keeps its priority. " +
				"A task that depends on others can start once they are completed.",
			Schema: tools.Object("description",
				`"description":{"type":"string","minLength":1,"description":"What to do."}`,
				`"context":{"type":"string","description":"Background information needed for the task."}`,
				priorityProperty,
				`"estimated_effort":{"type":"string","maxLength":64,"description":"small, medium or large."}`,
				`"start_date":{"type":"string","maxLength":64,"description":"Earliest start, e.g. 2026-02-28 or 2026-02-28T09:00:00Z."}`,
				`"due_date":{"type":"string","maxLength":64,"description":"Due date, in the same format."}`,
				`"depends_on":{"type":"array","maxItems":200,"items":{"type":"string","maxLength":200},"description":"Ids of tasks, of any agent, that must be completed first."}`,
				`"assignee":{"type":"string","maxLength":64,"description":"Agent that does the task. Default: you."}`,
				`"milestone_id":{"type":"string","maxLength":200,"description":"Id of its milestone."}`,
				`"milestone_item_id":{"type":"string","maxLength":200,"description":"Id of its milestone item."}`,
				workSessionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[backlogArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return s.addBacklog(ctx, call, &args)
		},
	}
}

type backlogArgs struct {
	Description     string   `json:"description"`
	Context         string   `json:"context"`
	Priority        string   `json:"priority"`
	Effort          string   `json:"estimated_effort"`
	StartDate       string   `json:"start_date"`
	DueDate         string   `json:"due_date"`
	DependsOn       []string `json:"depends_on"`
	Assignee        string   `json:"assignee"`
	MilestoneID     string   `json:"milestone_id"`
	MilestoneItemID string   `json:"milestone_item_id"`
	WorkSessionID   string   `json:"workSessionId"`
}

type backlogAnswer struct {
	taskAnswer
	Assignee     string   `json:"assignee"`
	IsCrossAgent bool     `json:"isCrossAgent"`
	Priority     string   `json:"priority"`
	CreatedAt    string   `json:"createdAt"`
	DependsOn    []string `json:"dependsOn,omitempty"`
	BacklogCount int      `json:"totalActiveTasks"` // open tasks of the assignee
}

func (s *Service) addBacklog(ctx context.Context, call *tools.Call, args *backlogArgs) (tool.Output, error) {
	workSession, err := s.workSession(args.WorkSessionID)
	if err != nil {
		return refuse(err, nil)
	}
	assignee := strings.ToLower(coordination.TrimJS(args.Assignee))
	if assignee == "" {
		assignee = call.AgentID
	}
	c := s.asks(call, "task_backlog_add", nil)
	c.counts = true
	c.find = newTask(s.o.NewTaskID())
	c.decide = func(tx eventstore.Tx, t *task.Task) ([]task.Event, error) {
		open, err := tasks.OpenOf(tx, assignee)
		if err != nil {
			return nil, err
		}
		unknown, err := unknownOf(tx, args.DependsOn)
		if err != nil {
			return nil, err
		}
		return task.AddBacklog(task.BacklogAsk{
			Asked: c.asked, TaskID: t.ID, WorkSessionID: workSession, Assignee: assignee, Known: call.Config.Workers(),
			Description: args.Description, Background: args.Context, Priority: args.Priority, Effort: args.Effort, StartDate: args.StartDate,
			DueDate: args.DueDate, DependsOn: args.DependsOn, Unknown: unknown, MilestoneID: args.MilestoneID, MilestoneItemID: args.MilestoneItemID,
			Open: open,
		})
	}
	done, err := s.change(ctx, c)
	if err != nil {
		return refuse(err, nil)
	}
	return tools.Answer(backlogAnswer{taskAnswer: done.answer(), Assignee: done.Agent, IsCrossAgent: done.Agent != call.AgentID, Priority: done.Priority,
		CreatedAt: coordination.FormatTime(done.CreatedAt), DependsOn: done.Backlog.DependsOn, BacklogCount: done.Open})
}

func unknownOf(tx eventstore.Tx, ids []string) (unknown []string, err error) {
	if len(ids) == 0 || len(ids) > task.MaxDepends { // too many are refused anyway
		return nil, nil
	}
	states, err := tasks.States(tx, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, known := states[id]; !known {
			unknown = append(unknown, id)
		}
	}
	return unknown, nil
}
