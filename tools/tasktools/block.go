package tasktools

import (
	"context"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

func (s *Service) blockTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_block", Group: tool.GroupTasks, Label: "Block a task",
			Description: "Mark one of your tasks as blocked until other agents have helped. They are asked to help, and the task waits until you or one " +
				"of them calls task_resume.",
			Schema: tools.Object("reason unblock_by", activeIDProperties,
				`"reason":{"type":"string","minLength":1,"description":"What blocks the task."}`,
				`"unblock_by":{"type":"array","minItems":1,"maxItems":100,"items":{"type":"string","maxLength":64},"description":"Ids of the agents that can help; agents_list shows the agents."}`,
				`"unblock_action":{"type":"string","description":"What these agents should do."}`,
				versionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[blockArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return s.block(ctx, call, &args)
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
	taskAnswer
	Blocked         bool     `json:"blocked"`
	BlockedReason   string   `json:"blockedReason"`
	UnblockedBy     []string `json:"unblockedBy"`
	UnblockedAction string   `json:"unblockedAction,omitempty"`
	Message         string   `json:"message"`
}

func (s *Service) block(ctx context.Context, call *tools.Call, args *blockArgs) (tool.Output, error) {
	id, err := args.id()
	if err != nil {
		return refuse(err, nil)
	}
	c := s.asks(call, "task_block", args.Version)
	c.find = c.findTask(id, focused, nil)
	c.decide = func(_ eventstore.Tx, t *task.Task) ([]task.Event, error) {
		return task.Block(t, task.BlockAsk{Asked: c.asked, Reason: args.Reason, By: args.By, Action: args.Action, Known: call.Config.Workers()})
	}
	done, err := s.change(ctx, c)
	if err != nil {
		return refuse(err, &done.Task)
	}
	b := &done.Blocked
	return tools.Answer(blockAnswer{taskAnswer: done.answer(), Blocked: true, BlockedReason: b.Reason, UnblockedBy: b.By, UnblockedAction: b.Action,
		Message: "The task waits for " + strings.Join(b.By, ", ") + ". Call task_resume when it can go on; they can, too."})
}
