package task

import (
	"context"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

func (d *Desk) approveTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_approve", Group: tool.GroupTasks, Label: "Approve a task",
			Description: "Let a task of another agent begin that waits for approval (task_list with scope all and status pending_approval shows them). Nobody " +
				"approves a task of their own. Where the team has leads, they alone approve.",
			Schema: tools.Object("", taskIDProperties, versionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[target](call)
			if err != nil {
				return tool.Output{}, err
			}
			return d.approve(ctx, call, &args)
		},
	}
}

type approveAnswer struct {
	told
	AgentID    string `json:"agentId"` // whose task it is
	Approved   bool   `json:"approved"`
	ApprovedBy string `json:"approvedBy"`
	StartedAt  string `json:"startedAt"`
}

func (d *Desk) approve(ctx context.Context, call *tools.Call, args *target) (tool.Output, error) {
	id, err := args.named()
	if err != nil {
		return refuse(err, nil)
	}
	done, err := d.change(ctx, d.approves(d.asks(call, "task_approve", args.Version), id))
	if err != nil {
		return refuse(err, &done.Task)
	}
	return tools.Answer(approveAnswer{told: done.told(), AgentID: done.Agent, Approved: true, ApprovedBy: call.AgentID, StartedAt: iso(done.ActiveAt)})
}

// approves has a change let a task begin.
func (d *Desk) approves(c *change, id string) *change {
	c.find = c.findTask(id, nil, anybodys)
	c.decide = func(tx eventstore.Tx, t *task.Task) (events []task.Event, err error) {
		a := c.approval()
		if a.Renewed, err = d.Renewed(tx, t, c.asked.Now); err != nil {
			return nil, err
		}
		return task.Approve(t, a)
	}
	return c
}

// anybodys says that a task may be another agent's.
func anybodys(*task.Task) bool { return true }

// approval is who asks about a task that waits for approval.
func (c *change) approval() task.ApproveAsk {
	a := task.ApproveAsk{Asked: c.asked}
	if conf := c.call.Config; conf != nil {
		a.Lead, a.Leads = conf.Lead(c.asked.By), len(conf.Leads()) > 0
	}
	return a
}

// Approve lets a task begin that waits for approval, for a person. Errors are *task.Refusal, or the log's.
func (d *Desk) Approve(ctx context.Context, taskID, person string) (*task.Task, error) {
	id, err := (&target{TaskID: taskID}).named()
	if err != nil {
		return nil, err
	}
	return d.decided(ctx, d.approves(d.person(person), id))
}

// person is a change of a task that a person asks for.
func (d *Desk) person(name string) *change {
	return &change{call: &tools.Call{}, asked: task.Asked{By: coordination.TrimJS(name), Human: true, Now: d.o.Now().UnixMilli()}}
}

// decided makes the change that a person asks for.
func (d *Desk) decided(ctx context.Context, c *change) (*task.Task, error) {
	done, err := d.change(ctx, c)
	if err != nil {
		return nil, err
	}
	return &done.Task, nil
}
