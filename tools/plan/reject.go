package plan

import (
	"context"

	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

func (d *Desk) rejectTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: nameReject, Group: tool.GroupPlans, Label: "Reject a plan",
			Description: "Refuse the plan of another agent (plan_status with status pending shows those that wait). Its agent is told the reason, and may submit " +
				"another one. Only leads reject, and nobody rejects a plan of their own.",
			Schema: tools.Object("reason", planIDProperties,
				`"reason":{"type":"string","minLength":1,"description":"What another plan should do better."}`),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[rejectArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			id, err := args.id()
			if err != nil {
				return refuse(err, nil)
			}
			return answered(d.change(ctx, d.rejects(d.asks(call, nameReject), id, args.Reason)))
		},
	}
}

type rejectArgs struct {
	target
	Reason string `json:"reason"`
}

// rejects has a change reject a plan.
func (d *Desk) rejects(c *change, planID, reason string) *change {
	c.find = findPlan(planID)
	c.decide = func(tx eventstore.Tx, p *plan.Plan) (plan.Event, error) {
		ask, err := d.deciding(tx, c, p)
		if err != nil {
			return plan.Event{}, err
		}
		return plan.Reject(p, ask, reason)
	}
	return c
}

// Reject rejects a plan for a person. Errors are *plan.Refusal, or the log's.
func (d *Desk) Reject(ctx context.Context, planID, person, reason string) (*plan.Plan, error) {
	id, err := (&target{PlanID: planID}).id()
	if err != nil {
		return nil, err
	}
	return decided(d.change(ctx, d.rejects(d.person(person), id, reason)))
}
