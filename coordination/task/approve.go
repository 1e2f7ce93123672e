package task

import (
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
)

// ApproveAsk approves or rejects a task that waits for approval.
type ApproveAsk struct {
	Asked
	Lead    bool   // the requester is a lead
	Leads   bool   // leads exist: no other agent may decide
	Renewed string // of Approve: new work session if the task's own is archived; ""
}

// Approve decides on task.approved, which starts the first step. The agent that asked for the task cannot approve it.
func Approve(t *Task, a ApproveAsk) ([]Event, error) {
	if err := a.mayDecide(t, "approve"); err != nil {
		return nil, err
	}
	if !begins(coordination.TypeTaskApproved, t.Status) {
		return nil, wrongState(t, "approved", orOver(t, "only a task that waits for approval can be approved"))
	}
	steps := plan(slices.Clone(t.Steps))
	steps.advance()
	return []Event{t.happens(coordination.TypeTaskApproved, coordination.TaskState{
		Context: t.renewed(a.Asked, a.Renewed), DecidedBy: a.decider(t), Steps: steps.since(t.Steps), Progress: line("Task approved by " + coordination.Mask(a.By)),
	})}, nil
}

// mayDecide refuses an unexpected version, the agent that asked for the task, agents that are no leads if leads exist, and people
// without a name.
func (a ApproveAsk) mayDecide(t *Task, verb string) error {
	if err := a.Expects(t); err != nil {
		return err
	}
	switch {
	case a.Human:
		_, err := named("by", a.By, "name the person who decides")
		return err
	case a.By == t.Agent || a.By == t.CreatedBy:
		return &Refusal{Reason: CodeNotAllowed, Text: coordination.Quoted(a.By) + " asked for task " + t.ID + " and cannot " + verb + " it",
			HintText: "ask a lead or a person to " + verb + " it"}
	case a.Leads && !a.Lead:
		return &Refusal{Reason: CodeNotAllowed, Text: coordination.Quoted(a.By) + " is no lead and cannot " + verb + " task " + t.ID,
			HintText: "ask a lead or a person to " + verb + " it"}
	}
	return nil
}
