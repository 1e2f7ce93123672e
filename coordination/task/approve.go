package task

import (
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
)

// ApproveAsk lets a task begin that waits for approval.
type ApproveAsk struct {
	Asked
	Lead    bool   // who asks is a lead
	Leads   bool   // there are leads: no other agent may approve
	Renewed string // the new work session, if the task's own is archived; ""
}

// Approve decides on task.approved, with which the first step begins. Who has asked for the task never approves it.
func Approve(t *Task, a ApproveAsk) ([]Event, error) {
	if err := a.Expects(t); err != nil {
		return nil, err
	}
	if err := a.mayApprove(t); err != nil {
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

func (a ApproveAsk) mayApprove(t *Task) error {
	switch {
	case !a.Human && (a.By == t.Agent || a.By == t.CreatedBy):
		return &Refusal{Reason: CodeNotAllowed, Text: shown(a.By) + " has asked for task " + t.ID + " and cannot approve it",
			Mend: "ask a lead, or a person, to approve it"}
	case a.Leads && !a.Lead && !a.Human:
		return &Refusal{Reason: CodeNotAllowed, Text: shown(a.By) + " is no lead and cannot approve task " + t.ID,
			Mend: "ask an agent with the role lead, or a person, to approve it"}
	}
	return nil
}
