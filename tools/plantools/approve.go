package plantools

import (
	"context"

	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

func (s *Service) approveTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: nameApprove, Group: tool.GroupPlans, Label: "Approve a plan",
			Description: "Approve a plan of another agent. plan_status with status pending lists the plans that wait, and with plan_id the steps of one. The agent " +
				"is notified and may use the tools the plan requests. Only leads can approve, and never their own plans.",
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
			return answered(s.change(ctx, s.approves(s.asks(call, nameApprove), id)))
		},
	}
}

func (s *Service) approves(c *planChange, planID string) *planChange {
	c.find = findPlan(planID)
	c.decide = func(tx eventstore.Tx, p *plan.Plan) (plan.Event, error) {
		ask, err := s.deciding(tx, c, p)
		if err != nil {
			return plan.Event{}, err
		}
		return plan.Approve(p, ask)
	}
	return c
}

// Approve approves a plan for a person. Errors are *plan.Refusal, or the log's.
func (s *Service) Approve(ctx context.Context, planID, person string) (*plan.Plan, error) {
	id, err := (&target{PlanID: planID}).id()
	if err != nil {
		return nil, err
	}
	return decided(s.change(ctx, s.approves(s.person(person), id)))
}
