package plan

import (
	"cmp"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Asked is what every request says.
//
// A decision says what is appended for what somebody asks, or why nothing is: errors are *Refusal. Texts are masked, and a decision never
// changes the plan that it is given.
type Asked struct {
	By    string // the agent that asks, lower case; a person's name if Human
	Human bool   // a person asks, by a wire or on the command line
}

// DecideAsk decides a plan of somebody else.
type DecideAsk struct {
	Asked
	Lead          bool   // who asks is a lead
	WorkSessionID string // the one in which the plan's task goes on by now; "" is the plan's own
}

// mayDecide refuses whoever has submitted the plan, and agents that are no leads. Plans are those of agents: a person has submitted none.
func (a DecideAsk) mayDecide(p *Plan, verb string) error {
	switch {
	case a.Human:
		return nil
	case strings.EqualFold(a.By, p.Agent):
		return &Refusal{Reason: CodeNotAllowed, Text: shown(a.By) + " has submitted plan " + p.ID + ", so it cannot be " + verb + " by " + shown(a.By),
			Mend: "ask a lead, or a person, to decide it"}
	case !a.Lead:
		return &Refusal{Reason: CodeNotAllowed, Text: shown(a.By) + " is no lead, so plan " + p.ID + " cannot be " + verb + " by " + shown(a.By),
			Mend: "ask an agent with the role lead, or a person, to decide it"}
	}
	return nil
}

// decided is an event that ends the wait for a decision.
func (p *Plan) decided(typ string, a DecideAsk, reason string) Event {
	return Event{typ, p.Agent, coordination.Plan{
		Context: coordination.Context{TaskID: p.TaskID, WorkSessionID: cmp.Or(a.WorkSessionID, p.WorkSessionID), EventRole: coordination.RoleOrchestration},
		PlanID:  p.ID, AgentID: p.Agent, Title: p.Title, StepsCount: p.StepsCount, DecidedBy: coordination.Mask(a.By), Reason: reason,
	}}
}

// Unknown refuses a plan that there is not, or not for who asks.
func Unknown(planID string) *Refusal {
	return &Refusal{Reason: CodeUnknown, Field: "plan_id", Text: "plan " + shown(planID) + " is not known", Mend: "list plans with plan_status"}
}

// pending refuses a plan that waits for nothing.
func (p *Plan) pending(verb string) error {
	switch p.Status {
	case Pending:
		return nil
	case "":
		return Unknown(p.ID)
	}
	return &Refusal{Reason: CodeState, Field: "plan_id", Text: "plan " + p.ID + " is " + p.Status + " and cannot be " + verb,
		Mend: "a plan is decided once: plan_submit submits another one"}
}
