package plan

import "github.com/pronto-lab/openclawd/coordination"

// Who has decided a plan that lapses, and why.
const (
	LapsedBy     = "openclawd"
	LapsedReason = "its task is over"
)

// Lapse decides on plan.rejected for a plan that waits although its task is over. false is that nothing happens: the plan waits for nothing, its
// task goes on, or it is for another task. Nobody has asked, so there is nobody who may not.
func Lapse(p *Plan, t Task) (Event, bool) {
	if p.Status != Pending || !t.Over || t.ID == "" || t.ID != p.TaskID {
		return Event{}, false
	}
	return p.decided(coordination.TypePlanRejected, DecideAsk{Asked: Asked{By: LapsedBy}, WorkSessionID: t.WorkSessionID}, LapsedReason), true
}
