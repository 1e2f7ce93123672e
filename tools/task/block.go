package task

import (
	"context"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

func (d *Desk) blockTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_block", Group: tool.GroupTasks, Label: "Block a task",
			Description: "Say that a task of yours cannot go on before other agents have done something. It waits until you, or one of them, call " +
				"task_resume; they are asked to help.",
			Schema: tools.Object("reason unblock_by", activeIDProperties,
				`"reason":{"type":"string","minLength":1,"description":"What is missing."}`,
				`"unblock_by":{"type":"array","minItems":1,"maxItems":100,"items":{"type":"string","maxLength":64},"description":"Ids of agents that can help; agents_list shows which there are."}`,
				`"unblock_action":{"type":"string","description":"What they are to do."}`,
				versionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[blockArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return d.block(ctx, call, &args)
		},
	}
}

type blockArgs struct {
	target
	Reason string   `json:"reason"`
	By     []string `json:"unblock_by"`
	Action string   `json:"unblock_action"`
}

type blockAnswer struct {
	told
	Blocked         bool     `json:"blocked"`
	BlockedReason   string   `json:"blockedReason"`
	UnblockedBy     []string `json:"unblockedBy"`
	UnblockedAction string   `json:"unblockedAction,omitempty"`
	Message         string   `json:"message"`
}

func (d *Desk) block(ctx context.Context, call *tools.Call, args *blockArgs) (tool.Output, error) {
	id, err := args.id()
	if err != nil {
		return refuse(err, nil)
	}
	c := d.asks(call, "task_block", args.Version)
	c.find = c.findTask(id, focused, nil)
	c.decide = func(_ eventstore.Tx, t *task.Task) ([]task.Event, error) {
		return task.Block(t, task.BlockAsk{Asked: c.asked, Reason: args.Reason, By: args.By, Action: args.Action, Known: call.Config.Workers()})
	}
	done, err := d.change(ctx, c)
	if err != nil {
		return refuse(err, &done.Task)
	}
	b := &done.Blocked
	return tools.Answer(blockAnswer{told: done.told(), Blocked: true, BlockedReason: b.Reason, UnblockedBy: b.By, UnblockedAction: b.Action,
		Message: "The task waits for " + strings.Join(b.By, ", ") + ". Call task_resume when it can go on; they can do so, too."})
}
