package task

import (
	"context"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

func (d *Desk) updateTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_update", Group: tool.GroupTasks, Label: "Update a task",
			Description: "Say how a task of yours goes: a line of progress, a change of its steps, or both. The task becomes your active one. Actions: " +
				"set_steps (steps: all anew), add_step (step_content), complete_step, start_step and skip_step (step_id), reorder_steps (steps_order). " +
				"When a step is done the next one is in progress, if no other is.",
			Schema: tools.Object("", activeIDProperties,
				`"progress":{"type":"string","description":"What was done, or found out, since the last time."}`,
				`"action":{"type":"string","maxLength":64,"description":"set_steps, add_step, complete_step, start_step, skip_step or reorder_steps."}`,
				`"step_content":{"type":"string","description":"What is done in the step, for add_step."}`,
				`"step_id":{"type":"string","maxLength":200,"description":"The step, such as s2, for complete_step, start_step and skip_step."}`,
				`"steps_order":{"type":"array","maxItems":1000,"items":{"type":"string","maxLength":200},"description":"The ids of steps in the order wanted, for reorder_steps."}`,
				stepsProperty, versionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[updateArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return d.update(ctx, call, &args)
		},
	}
}

type updateArgs struct {
	target
	Progress    string         `json:"progress"`
	Action      string         `json:"action"`
	StepContent string         `json:"step_content"`
	StepID      string         `json:"step_id"`
	StepsOrder  []string       `json:"steps_order"`
	Steps       []task.NewStep `json:"steps"`
}

type updateAnswer struct {
	told
	Updated       string     `json:"updated"`
	ProgressCount int        `json:"progressCount"`
	Steps         *stepCount `json:"steps,omitempty"`
	CurrentStep   string     `json:"currentStep,omitempty"` // id of the first one that is in progress
}

// stepCount says how the steps of a task stand.
type stepCount struct {
	Total      int `json:"total"`
	Done       int `json:"done"`
	InProgress int `json:"inProgress"`
	Pending    int `json:"pending"`
	Skipped    int `json:"skipped"`
}

func (d *Desk) update(ctx context.Context, call *tools.Call, args *updateArgs) (tool.Output, error) {
	id, err := args.id()
	if err != nil {
		return refuse(err, nil)
	}
	c := d.asks(call, "task_update", args.Version)
	c.find = c.findTask(id, focused, nil)
	c.decide = func(_ eventstore.Tx, t *task.Task) ([]task.Event, error) {
		return task.Update(t, task.UpdateAsk{Asked: c.asked, Progress: args.Progress, Action: args.Action, StepContent: args.StepContent,
			StepID: args.StepID, Order: args.StepsOrder, Steps: args.Steps})
	}
	done, err := d.change(ctx, c)
	if err != nil {
		return refuse(err, &done.Task)
	}
	answer := updateAnswer{told: done.told(), Updated: iso(done.ActiveAt), ProgressCount: done.ProgressCount}
	answer.Steps, answer.CurrentStep = countSteps(done.Steps)
	return tools.Answer(answer)
}

// countSteps is how steps stand, nil for none, and the id of the first that is in progress.
func countSteps(steps []coordination.TaskStep) (n *stepCount, current string) {
	if len(steps) == 0 {
		return nil, ""
	}
	n = &stepCount{Total: len(steps)}
	for i := range steps {
		switch steps[i].Status {
		case "done":
			n.Done++
		case "skipped":
			n.Skipped++
		case "in_progress":
			if n.InProgress++; current == "" {
				current = steps[i].ID
			}
		default:
			n.Pending++
		}
	}
	return n, current
}
