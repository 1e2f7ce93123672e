package plan

import "github.com/pronto-lab/openclawd/coordination"

// Approve decides on plan.approved, which opens the tools that the plan asks for. Nobody approves what cannot be read.
func Approve(p *Plan, a DecideAsk) (Event, error) {
	if err := a.mayDecide(p, Approved); err != nil {
		return Event{}, err
	}
	if err := p.pending(Approved); err != nil {
		return Event{}, err
	}
	if len(p.Steps) == 0 {
		return Event{}, &Refusal{Reason: CodeState, Field: "plan_id", Text: "the steps of plan " + p.ID + " are not known, so it cannot be approved",
			Mend: "reject it, and have it submitted again"}
	}
	return p.decided(coordination.TypePlanApproved, a, ""), nil
}
