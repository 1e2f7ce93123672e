package plantools

import (
	"cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

type target struct {
	PlanID string `json:"plan_id"`
	SameID string `json:"planId"`
}

// id returns the plan id, which is required.
func (t *target) id() (string, error) {
	id, err := oneOf("plan_id", "planId", t.PlanID, t.SameID)
	if err == nil && id == "" {
		err = &plan.Refusal{Reason: plan.CodeInvalid, Field: "plan_id", Text: "plan_id is missing", HintText: "name a plan; plan_status shows which there are"}
	}
	return id, err
}

// oneOf returns an argument that has two names, "" for none.
func oneOf(name, other, value, same string) (string, error) {
	value, same = coordination.TrimJS(value), coordination.TrimJS(same)
	if value != "" && same != "" && value != same {
		return "", &plan.Refusal{Reason: plan.CodeInvalid, Field: name, Text: name + " and " + other + " have different values", HintText: "give one of them"}
	}
	return cmp.Or(value, same), nil
}

func findPlan(id string) func(eventstore.Tx) (*plan.Plan, error) {
	return func(tx eventstore.Tx) (*plan.Plan, error) {
		p, found, err := plans.Load(tx, id)
		if err == nil && !found {
			err = plan.Unknown(id)
		}
		return p, err
	}
}

func (s *Service) deciding(tx eventstore.Tx, c *planChange, p *plan.Plan) (plan.DecideAsk, error) {
	ask := plan.DecideAsk{Asked: c.asked, Lead: !c.asked.Human && c.call.Config.Lead(c.asked.By)}
	t, found, err := tasks.Load(tx, p.TaskID)
	if found {
		ask.WorkSessionID = t.WorkSessionID
	}
	return ask, err
}
