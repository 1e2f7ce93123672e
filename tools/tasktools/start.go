package tasktools

import (
	"context"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/tools"
)

func (s *Service) startTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_start", Group: tool.GroupTasks, Label: "Start a task",
			Description: "Start a task before you work on something. It becomes your active task: your delegations and messages from now on belong " +
				"to it. Give the steps if there are several; the first step is then in progress. Report progress with task_update, and finish " +
				"with task_complete.",
			Schema: tools.Object("description",
				`"description":{"type":"string","minLength":1,"description":"What to do."}`,
				`"context":{"type":"string","description":"Background information needed for the task."}`,
				priorityProperty,
				`"requires_approval":{"type":"boolean","description":"true: the task waits until another agent (a lead if the team has leads) approves it."}`,
				`"simple":{"type":"boolean","description":"true: the task needs no steps."}`,
				stepsProperty, workSessionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[startArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return s.start(ctx, call, &args)
		},
	}
}

// ownersOnly restricts a tool to agents that have tasks.
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
	taskAnswer
	RequiresApproval bool    `json:"requiresApproval"`
	Started          *string `json:"started"` // null: it waits for approval
	CreatedAt        string  `json:"createdAt"`
	Priority         string  `json:"priority"`
	TotalActiveTasks int     `json:"totalActiveTasks"`
	Simple           bool    `json:"simple,omitempty"`
	StepsCount       int     `json:"stepsCount,omitempty"`
}

func (s *Service) start(ctx context.Context, call *tools.Call, args *startArgs) (tool.Output, error) {
	workSession, err := s.workSession(args.WorkSessionID)
	if err != nil {
		return refuse(err, nil)
	}
	c := s.asks(call, "task_start", nil)
	c.counts = true
	c.find = newTask(s.o.NewTaskID())
	c.decide = func(tx eventstore.Tx, t *task.Task) ([]task.Event, error) {
		open, err := tasks.OpenOf(tx, call.AgentID)
		if err != nil {
			return nil, err
		}
		return task.Start(task.StartAsk{
			Asked: c.asked, TaskID: t.ID, WorkSessionID: workSession, Description: args.Description, Background: args.Context, Priority: args.Priority,
			RequiresApproval: args.RequiresApproval, Simple: args.Simple, Steps: args.Steps, Open: open,
		})
	}
	done, err := s.change(ctx, c)
	if err != nil {
		return refuse(err, nil)
	}
	answer := startAnswer{taskAnswer: done.answer(), RequiresApproval: args.RequiresApproval, CreatedAt: coordination.FormatTime(done.CreatedAt), Priority: done.Priority,
		TotalActiveTasks: done.Open, Simple: done.Simple, StepsCount: len(done.Steps)}
	if !args.RequiresApproval {
		answer.Started = &answer.CreatedAt
	}
	return tools.Answer(answer)
}
