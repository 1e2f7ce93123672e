package tasktools

import (
	"context"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

func (s *Service) cancelTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_cancel", Group: tool.GroupTasks, Label: "Cancel a task",
			Description: "Cancel one of your tasks that will not be done. Tasks that depend on it can no longer start.",
			Schema: tools.Object("", taskIDProperties,
				`"reason":{"type":"string","description":"Why the task is cancelled."}`, versionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[cancelArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return s.cancel(ctx, call, &args)
		},
	}
}

type cancelArgs struct {
	target
	Reason string `json:"reason"`
}

type cancelAnswer struct {
	endAnswer
	Cancelled   bool   `json:"cancelled"`
	CancelledAt string `json:"cancelledAt"`
	Reason      string `json:"reason,omitempty"`
}

func (s *Service) cancel(ctx context.Context, call *tools.Call, args *cancelArgs) (tool.Output, error) {
	id, err := args.named()
	if err != nil {
		return refuse(err, nil)
	}
	c := s.asks(call, "task_cancel", args.Version)
	c.counts = true
	c.find = c.findTask(id, nil, nil)
	c.decide = func(_ eventstore.Tx, t *task.Task) ([]task.Event, error) { return task.Cancel(t, c.asked, args.Reason) }
	done, err := s.change(ctx, c)
	if err != nil {
		return refuse(err, &done.Task)
	}
	answer := cancelAnswer{Cancelled: true, CancelledAt: coordination.FormatTime(done.EndedAt), Reason: done.Outcome.Reason}
	if answer.endAnswer, err = s.endAnswer(ctx, done); err != nil {
		return tool.Output{}, err
	}
	return tools.Answer(answer)
}
