package task

import (
	"context"

	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

func (d *Desk) cancelTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_cancel", Group: tool.GroupTasks, Label: "Cancel a task",
			Description: "End a task of yours that is not going to be done. Tasks that depend on it cannot begin then.",
			Schema: tools.Object("", taskIDProperties,
				`"reason":{"type":"string","description":"Why."}`, versionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[cancelArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return d.cancel(ctx, call, &args)
		},
	}
}

type cancelArgs struct {
	target
	Reason string `json:"reason"`
}

type cancelAnswer struct {
	ended
	Cancelled   bool   `json:"cancelled"`
	CancelledAt string `json:"cancelledAt"`
	Reason      string `json:"reason,omitempty"`
}

func (d *Desk) cancel(ctx context.Context, call *tools.Call, args *cancelArgs) (tool.Output, error) {
	id, err := args.named()
	if err != nil {
		return refuse(err, nil)
	}
	c := d.asks(call, "task_cancel", args.Version)
	c.counts = true
	c.find = c.findTask(id, nil, nil)
	c.decide = func(_ eventstore.Tx, t *task.Task) ([]task.Event, error) { return task.Cancel(t, c.asked, args.Reason) }
	done, err := d.change(ctx, c)
	if err != nil {
		return refuse(err, &done.Task)
	}
	answer := cancelAnswer{Cancelled: true, CancelledAt: iso(done.EndedAt), Reason: done.Outcome.Reason}
	if answer.ended, err = d.ended(ctx, done); err != nil {
		return tool.Output{}, err
	}
	return tools.Answer(answer)
}
