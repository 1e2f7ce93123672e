package plan

import (
	"context"

	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

func (d *Desk) approveTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: nameApprove, Group: tool.GroupPlans, Label: "Approve a plan",
			Description: "Agree to the plan of another agent (plan_status with status pending shows those that wait; with plan_id, the steps). Its agent is told, and " +
				"may use the tools that it asks for. Only leads approve, and nobody approves a plan of their own.",
			Schema: tools.Object("", planIDProperties),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[target](call)
			if err != nil {
				return tool.Output{}, err
			}
			id, err := args.id()
			if err != nil {
				return refuse(err, nil)
			}
			return answered(d.change(ctx, d.approves(d.asks(call, nameApprove), id)))
		},
	}
}

// approves has a change approve a plan.
func (d *Desk) approves(c *change, planID string) *change {
	c.find = findPlan(planID)
	c.decide = func(tx eventstore.Tx, p *plan.Plan) (plan.Event, error) {
		ask, err := d.deciding(tx, c, p)
		if err != nil {
			return plan.Event{}, err
		}
		return plan.Approve(p, ask)
	}
	return c
}

// Approve approves a plan for a person. Errors are *plan.Refusal, or the log's.
func (d *Desk) Approve(ctx context.Context, planID, person string) (*plan.Plan, error) {
	id, err := (&target{PlanID: planID}).id()
	if err != nil {
		return nil, err
	}
	return decided(d.change(ctx, d.approves(d.person(person), id)))
}
