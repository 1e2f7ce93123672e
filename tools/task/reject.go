package task

import (
	"context"

	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

func (d *Desk) rejectTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_reject", Group: tool.GroupTasks, Label: "Reject a task",
			Description: "End a task of another agent that waits for approval, because it is not to be done like that. The agent is told the reason. " +
				"Who may approve a task may reject it: task_approve.",
			Schema: tools.Object("reason", taskIDProperties,
				`"reason":{"type":"string","minLength":1,"description":"Why, and what would be approved in its place."}`, versionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[rejectArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return d.reject(ctx, call, &args)
		},
	}
}

type rejectArgs struct {
	target
	Reason string `json:"reason"`
}

type rejectAnswer struct {
	told
	AgentID    string `json:"agentId"` // whose task it is
	Rejected   bool   `json:"rejected"`
	RejectedBy string `json:"rejectedBy"`
	RejectedAt string `json:"rejectedAt"`
	Reason     string `json:"reason"`
}

func (d *Desk) reject(ctx context.Context, call *tools.Call, args *rejectArgs) (tool.Output, error) {
	id, err := args.named()
	if err != nil {
		return refuse(err, nil)
	}
	done, err := d.change(ctx, rejects(d.asks(call, "task_reject", args.Version), id, args.Reason))
	if err != nil {
		return refuse(err, &done.Task)
	}
	return tools.Answer(rejectAnswer{told: done.told(), AgentID: done.Agent, Rejected: true, RejectedBy: call.AgentID, RejectedAt: iso(done.EndedAt),
		Reason: done.Outcome.Reason})
}

// rejects has a change end a task that waits for approval.
func rejects(c *change, id, reason string) *change {
	c.find = c.findTask(id, nil, anybodys)
	c.decide = func(_ eventstore.Tx, t *task.Task) ([]task.Event, error) { return task.Reject(t, c.approval(), reason) }
	return c
}

// Reject ends a task that waits for approval, for a person. Errors are *task.Refusal, or the log's.
func (d *Desk) Reject(ctx context.Context, taskID, person, reason string) (*task.Task, error) {
	id, err := (&target{TaskID: taskID}).named()
	if err != nil {
		return nil, err
	}
	return d.decided(ctx, rejects(d.person(person), id, reason))
}
