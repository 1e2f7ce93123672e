package tasktools

import (
	"context"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

func (s *Service) updateTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_update", Group: tool.GroupTasks, Label: "Update a task",
			Description: "Report progress on one of your tasks: a progress line, a change of its steps, or both. It becomes your active task. Actions: " +
				"set_steps (steps: replaces all), add_step (step_content), complete_step, start_step and skip_step (step_id), reorder_steps (steps_order). " +
				"When a step is done, the next one starts unless another is in progress.",
			Schema: tools.Object("", activeIDProperties,
				`"progress":{"type":"string","description":"What you did or found since the last report."}`,
				`"action":{"type":"string","maxLength":64,"description":"set_steps, add_step, complete_step, start_step, skip_step or reorder_steps."}`,
				`"step_content":{"type":"string","description":"For add_step: what to do in the step."}`,
				`"step_id":{"type":"string","maxLength":200,"description":"For complete_step, start_step and skip_step: id of the step, e.g. s2."}`,
				`"steps_order":{"type":"array","maxItems":1000,"items":{"type":"string","maxLength":200},"description":"For reorder_steps: the step ids in the new order."}`,
				stepsProperty, versionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[updateArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return s.update(ctx, call, &args)
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
	taskAnswer
	Updated       string                  `json:"updated"`
	ProgressCount int                     `json:"progressCount"`
	Steps         *taskfile.StepsProgress `json:"steps,omitempty"`
	CurrentStep   string                  `json:"currentStep,omitempty"` // id of the first step in progress
}

func (s *Service) update(ctx context.Context, call *tools.Call, args *updateArgs) (tool.Output, error) {
	id, err := args.id()
	if err != nil {
		return refuse(err, nil)
	}
	c := s.asks(call, "task_update", args.Version)
	c.find = c.findTask(id, focused, nil)
	c.decide = func(_ eventstore.Tx, t *task.Task) ([]task.Event, error) {
		return task.Update(t, task.UpdateAsk{Asked: c.asked, Progress: args.Progress, Action: args.Action, StepContent: args.StepContent,
			StepID: args.StepID, Order: args.StepsOrder, Steps: args.Steps})
	}
	done, err := s.change(ctx, c)
	if err != nil {
		return refuse(err, &done.Task)
	}
	answer := updateAnswer{taskAnswer: done.answer(), Updated: coordination.FormatTime(done.ActiveAt), ProgressCount: done.ProgressCount}
	answer.Steps, answer.CurrentStep = countSteps(done.Steps)
	return tools.Answer(answer)
}

// countSteps returns the counts, nil without steps, and the id of the first step in progress.
func countSteps(steps []coordination.TaskStep) (n *taskfile.StepsProgress, current string) {
	all := make([]taskfile.Step, len(steps))
	for i, s := range steps {
		if all[i] = taskfile.Step(s); s.Status == "in_progress" && current == "" {
			current = s.ID
		}
	}
	return taskfile.CountSteps(all), current
}
