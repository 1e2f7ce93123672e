package plan

import "github.com/pronto-lab/openclawd/coordination"

// Reject decides on plan.rejected. The submitter receives the reason.
func Reject(p *Plan, a DecideAsk, reason string) (Event, error) {
	if err := a.mayDecide(p, Rejected); err != nil {
		return Event{}, err
	}
	if err := p.pending(Rejected); err != nil {
		return Event{}, err
	}
	reason, err := needed("reason", reason, MaxReason, "say in reason what another plan should do better")
	if err != nil {
		return Event{}, err
	}
	return p.decided(coordination.TypePlanRejected, a, reason), nil
}
