package plantools

import (
	"context"

	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

func (s *Service) rejectTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: nameReject, Group: tool.GroupPlans, Label: "Reject a plan",
			Description: "Reject a plan of another agent. plan_status with status pending lists the plans that wait. The agent is notified of the reason and may " +
				"submit another plan. Only leads can reject, and never their own plans.",
			Schema: tools.Object("reason", planIDProperties,
				`"reason":{"type":"string","minLength":1,"description":"Why, and what the next plan should change."}`),
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
			return answered(s.change(ctx, s.rejects(s.asks(call, nameReject), id, args.Reason)))
		},
	}
}

type rejectArgs struct {
	target
	Reason string `json:"reason"`
}

func (s *Service) rejects(c *planChange, planID, reason string) *planChange {
	c.find = findPlan(planID)
	c.decide = func(tx eventstore.Tx, p *plan.Plan) (plan.Event, error) {
		ask, err := s.deciding(tx, c, p)
		if err != nil {
			return plan.Event{}, err
		}
		return plan.Reject(p, ask, reason)
	}
	return c
}

// Reject rejects a plan for a person. Errors are *plan.Refusal, or the log's.
func (s *Service) Reject(ctx context.Context, planID, person, reason string) (*plan.Plan, error) {
	id, err := (&target{PlanID: planID}).id()
	if err != nil {
		return nil, err
	}
	return decided(s.change(ctx, s.rejects(s.person(person), id, reason)))
}
