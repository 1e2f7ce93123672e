package plan

import (
	"cmp"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Asked is the common part of all requests. A decision returns the events of a request; its errors are *Refusal. Texts are masked, and a
// decision does not change its plan.
type Asked struct {
	By    string // the requesting agent, lower case; a person's name if Human
	Human bool   // a person asks, through an API or the command line
}

// DecideAsk decides another agent's plan.
type DecideAsk struct {
	Asked
	Lead          bool   // the requester is a lead
	WorkSessionID string // the task's present one; "" is the plan's own
}

// mayDecide refuses the submitter of the plan, and agents that are no leads. People submit no plans.
func (a DecideAsk) mayDecide(p *Plan, verb string) error {
	switch {
	case a.Human:
		return nil
	case strings.EqualFold(a.By, p.Agent):
		return &Refusal{Reason: CodeNotAllowed, Text: coordination.Quoted(a.By) + " submitted plan " + p.ID + ", so another must decide it",
			HintText: "ask a lead or a person to decide it"}
	case !a.Lead:
		return &Refusal{Reason: CodeNotAllowed, Text: coordination.Quoted(a.By) + " is no lead, so plan " + p.ID + " cannot be " + verb + " by it",
			HintText: "ask a lead or a person to decide it"}
	}
	return nil
}

// decided returns an event that ends the wait for a decision.
func (p *Plan) decided(typ string, a DecideAsk, reason string) Event {
	return Event{typ, p.Agent, coordination.Plan{
		Context: coordination.Context{TaskID: p.TaskID, WorkSessionID: cmp.Or(a.WorkSessionID, p.WorkSessionID), EventRole: coordination.RoleOrchestration},
		PlanID:  p.ID, AgentID: p.Agent, Title: p.Title, StepsCount: p.StepsCount, DecidedBy: coordination.Mask(a.By), Reason: reason,
	}}
}

// Unknown refuses a plan that does not exist, or not for the requester.
func Unknown(planID string) *Refusal {
	return &Refusal{Reason: CodeUnknown, Field: "plan_id", Text: "plan " + coordination.Quoted(planID) + " is unknown", HintText: "list plans with plan_status"}
}

// pending refuses a plan that is already decided.
func (p *Plan) pending(verb string) error {
	switch p.Status {
	case Pending:
		return nil
	case "":
		return Unknown(p.ID)
	}
	return &Refusal{Reason: CodeState, Field: "plan_id", Text: "plan " + p.ID + " is " + p.Status + " and cannot be " + verb,
		HintText: "a plan is decided once: submit another one with plan_submit"}
}
