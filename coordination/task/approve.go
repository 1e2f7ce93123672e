package task

import (
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
)

// ApproveAsk is about a task that waits for approval: somebody lets it begin, or does not.
type ApproveAsk struct {
	Asked
	Lead    bool   // who asks is a lead
	Leads   bool   // there are leads: no other agent decides
	Renewed string // of Approve: the new work session, if the task's own is archived; ""
}

// Approve decides on task.approved, with which the first step begins. Who has asked for the task never approves it.
func Approve(t *Task, a ApproveAsk) ([]Event, error) {
	if err := a.mayDecide(t, "approve"); err != nil {
		return nil, err
	}
	if !begins(coordination.TypeTaskApproved, t.Status) {
		return nil, wrongState(t, "approved", orOver(t, "only a task that waits for approval is approved"))
	}
	steps := plan(slices.Clone(t.Steps))
	steps.advance()
	return []Event{t.happens(coordination.TypeTaskApproved, coordination.TaskState{
		Context: t.renewed(a.Asked, a.Renewed), DecidedBy: a.decider(t), Steps: steps.since(t.Steps), Progress: line("Task approved by " + coordination.Mask(a.By)),
	})}, nil
}

// Reject decides on task.cancelled for a task that waits for approval. Who may approve it may reject it, and nobody else; its owner is told why.
func Reject(t *Task, a ApproveAsk, reason string) ([]Event, error) {
	if err := a.mayDecide(t, "reject"); err != nil {
		return nil, err
	}
	if t.Status != coordination.StatePendingApproval {
		return nil, wrongState(t, "rejected", orOver(t, "only a task that waits for approval is rejected"))
	}
	reason, err := needed("reason", reason, MaxText, "say why: whose task it is, is told")
	if err != nil {
		return nil, err
	}
	return []Event{t.happens(coordination.TypeTaskCancelled, coordination.TaskState{
		Context: t.context(a.Asked), Reason: reason, DecidedBy: a.decider(t), Progress: after("Task rejected by "+coordination.Mask(a.By), reason),
	})}, nil
}

// mayDecide refuses a task that is not at the version that is expected, who has asked for it, agents that are no leads where there are some, and
// people without a name.
func (a ApproveAsk) mayDecide(t *Task, verb string) error {
	if err := a.Expects(t); err != nil {
		return err
	}
	switch {
	case a.Human:
		_, err := named("by", a.By, "say who decides")
		return err
	case a.By == t.Agent || a.By == t.CreatedBy:
		return &Refusal{Reason: CodeNotAllowed, Text: shown(a.By) + " has asked for task " + t.ID + " and cannot " + verb + " it",
			Mend: "ask a lead, or a person, to " + verb + " it"}
	case a.Leads && !a.Lead:
		return &Refusal{Reason: CodeNotAllowed, Text: shown(a.By) + " is no lead and cannot " + verb + " task " + t.ID,
			Mend: "ask an agent with the role lead, or a person, to " + verb + " it"}
	}
	return nil
}
