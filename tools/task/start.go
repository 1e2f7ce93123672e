package task

import (
	"context"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/tools"
)

func (d *Desk) startTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_start", Group: tool.GroupTasks, Label: "Start a task",
			Description: "Start a task of yours before you work at something. It becomes your active task: what you delegate and tell others from now on " +
				"belongs to it. Give the steps if there are several; the first one is in progress at once. Tell how it goes with task_update, and end " +
				"it with task_complete.",
			Schema: tools.Object("description",
				`"description":{"type":"string","minLength":1,"description":"What is to be done."}`,
				`"context":{"type":"string","description":"What one has to know for it."}`,
				priorityProperty,
				`"requires_approval":{"type":"boolean","description":"true: the task waits until another agent, a lead if there is one, approves it."}`,
				`"simple":{"type":"boolean","description":"true: it is done at one go, and needs no steps."}`,
				stepsProperty, workSessionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[startArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return d.start(ctx, call, &args)
		},
	}
}

// ownersOnly forbids a tool to who has no tasks of its own.
func ownersOnly() tools.Who {
	return tools.Who{NotFrom: []coordination.KeyKind{coordination.KeySubagent}, NotUtility: true}
}

type startArgs struct {
	Description      string         `json:"description"`
	Context          string         `json:"context"`
	Priority         string         `json:"priority"`
	RequiresApproval bool           `json:"requires_approval"`
	Simple           bool           `json:"simple"`
	Steps            []task.NewStep `json:"steps"`
	WorkSessionID    string         `json:"workSessionId"`
}

type startAnswer struct {
	told
	RequiresApproval bool    `json:"requiresApproval"`
	Started          *string `json:"started"` // null: it waits for approval
	CreatedAt        string  `json:"createdAt"`
	Priority         string  `json:"priority"`
	TotalActiveTasks int     `json:"totalActiveTasks"`
	Simple           bool    `json:"simple,omitempty"`
	StepsCount       int     `json:"stepsCount,omitempty"`
}

func (d *Desk) start(ctx context.Context, call *tools.Call, args *startArgs) (tool.Output, error) {
	workSession, err := d.workSession(args.WorkSessionID)
	if err != nil {
		return refuse(err, nil)
	}
	c := d.asks(call, "task_start", nil)
	c.counts = true
	c.find = newTask(d.o.NewTaskID())
	c.decide = func(tx eventstore.Tx, t *task.Task) ([]task.Event, error) {
		open, err := projection.OpenOf(tx, call.AgentID)
		if err != nil {
			return nil, err
		}
		return task.Start(task.StartAsk{
			Asked: c.asked, TaskID: t.ID, WorkSessionID: workSession, Description: args.Description, Background: args.Context, Priority: args.Priority,
			RequiresApproval: args.RequiresApproval, Simple: args.Simple, Steps: args.Steps, Open: open,
		})
	}
	done, err := d.change(ctx, c)
	if err != nil {
		return refuse(err, nil)
	}
	answer := startAnswer{told: done.told(), RequiresApproval: args.RequiresApproval, CreatedAt: iso(done.CreatedAt), Priority: done.Priority,
		TotalActiveTasks: done.Open, Simple: done.Simple, StepsCount: len(done.Steps)}
	if !args.RequiresApproval {
		answer.Started = &answer.CreatedAt
	}
	return tools.Answer(answer)
}
