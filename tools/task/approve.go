package task

import (
	"context"

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
			Schema: object("", taskIDProperties, versionProperty),
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
	c := d.asks(call, "task_approve", args.Version)
	c.find = c.findTask(id, nil, func(*task.Task) bool { return true })
	c.decide = func(tx eventstore.Tx, t *task.Task) ([]task.Event, error) {
		renewed, err := d.renewed(tx, t, c.asked.Now)
		if err != nil {
			return nil, err
		}
		conf := call.Config
		return task.Approve(t, task.ApproveAsk{Asked: c.asked, Lead: conf.Lead(call.AgentID), Leads: len(conf.Leads()) > 0, Renewed: renewed})
	}
	done, err := d.change(ctx, c)
	if err != nil {
		return refuse(err, &done.Task)
	}
	return tools.Answer(approveAnswer{told: done.told(), AgentID: done.Agent, Approved: true, ApprovedBy: call.AgentID, StartedAt: iso(done.ActiveAt)})
}
