package plan

import "github.com/pronto-lab/openclawd/coordination"

// LapsedBy and LapsedReason are the DecidedBy and Reason of a plan that lapses.
const (
	LapsedBy     = "openclawd"
	LapsedReason = "its task is over"
)

// Lapse decides on plan.rejected for a pending plan whose task is over; false for any other plan.
func Lapse(p *Plan, t Task) (Event, bool) {
	if p.Status != Pending || !t.Over || t.ID == "" || t.ID != p.TaskID {
		return Event{}, false
	}
	return p.decided(coordination.TypePlanRejected, DecideAsk{Asked: Asked{By: LapsedBy}, WorkSessionID: t.WorkSessionID}, LapsedReason), true
}
