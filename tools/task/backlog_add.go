package task

import (
	"context"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/tools"
)

func (d *Desk) backlogAddTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_backlog_add", Group: tool.GroupTasks, Label: "Add to a backlog",
			Description: "Put a task into your backlog, or into another agent's (assignee): to be begun later, with task_pick_backlog. It keeps its priority. " +
				"One that depends on others can begin when they are completed.",
			Schema: tools.Object("description",
				`"description":{"type":"string","minLength":1,"description":"What is to be done."}`,
				`"context":{"type":"string","description":"What one has to know for it."}`,
				priorityProperty,
				`"estimated_effort":{"type":"string","maxLength":64,"description":"small, medium or large."}`,
				`"start_date":{"type":"string","maxLength":64,"description":"Not before, as 2026-02-28 or with a time as 2026-02-28T09:00:00Z."}`,
				`"due_date":{"type":"string","maxLength":64,"description":"Until when, likewise."}`,
				`"depends_on":{"type":"array","maxItems":200,"items":{"type":"string","maxLength":200},"description":"Ids of the tasks, of any agent, that have to be completed before."}`,
				`"assignee":{"type":"string","maxLength":64,"description":"The agent whose task it is; you if absent."}`,
				`"milestone_id":{"type":"string","maxLength":200,"description":"The milestone that it belongs to."}`,
				`"milestone_item_id":{"type":"string","maxLength":200,"description":"The item of the milestone."}`,
				workSessionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[backlogArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return d.addBacklog(ctx, call, &args)
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
	told
	Assignee     string   `json:"assignee"`
	IsCrossAgent bool     `json:"isCrossAgent"`
	Priority     string   `json:"priority"`
	CreatedAt    string   `json:"createdAt"`
	DependsOn    []string `json:"dependsOn,omitempty"`
	BacklogCount int      `json:"totalActiveTasks"` // tasks of the assignee that are not over
}

func (d *Desk) addBacklog(ctx context.Context, call *tools.Call, args *backlogArgs) (tool.Output, error) {
	workSession, err := d.workSession(args.WorkSessionID)
	if err != nil {
		return refuse(err, nil)
	}
	assignee := strings.ToLower(coordination.TrimJS(args.Assignee))
	if assignee == "" {
		assignee = call.AgentID
	}
	c := d.asks(call, "task_backlog_add", nil)
	c.counts = true
	c.find = newTask(d.o.NewTaskID())
	c.decide = func(tx eventstore.Tx, t *task.Task) ([]task.Event, error) {
		open, err := projection.OpenOf(tx, assignee)
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
	done, err := d.change(ctx, c)
	if err != nil {
		return refuse(err, nil)
	}
	return tools.Answer(backlogAnswer{told: done.told(), Assignee: done.Agent, IsCrossAgent: done.Agent != call.AgentID, Priority: done.Priority,
		CreatedAt: iso(done.CreatedAt), DependsOn: done.Backlog.DependsOn, BacklogCount: done.Open})
}

// unknownOf are those of some ids that no task has.
func unknownOf(tx eventstore.Tx, ids []string) (unknown []string, err error) {
	if len(ids) == 0 || len(ids) > task.MaxDepends { // too many are refused, whichever they are
		return nil, nil
	}
	states, err := projection.States(tx, ids)
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
