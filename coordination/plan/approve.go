package plan

import "github.com/pronto-lab/openclawd/coordination"

// Approve decides on plan.approved, which opens the plan's tools. A plan with unknown steps cannot be approved.
func Approve(p *Plan, a DecideAsk) (Event, error) {
	if err := a.mayDecide(p, Approved); err != nil {
		return Event{}, err
	}
	if err := p.pending(Approved); err != nil {
		return Event{}, err
	}
	if len(p.Steps) == 0 {
		return Event{}, &Refusal{Reason: CodeState, Field: "plan_id", Text: "the steps of plan " + p.ID + " are unknown, so it cannot be approved",
			HintText: "reject it, and ask the agent to submit it again"}
	}
	return p.decided(coordination.TypePlanApproved, a, ""), nil
}
