package task

import (
	"github.com/pronto-lab/openclawd/coordination"
)

// VerifyAsk judges the result of a delegation.
type VerifyAsk struct {
	Asked
	Action string // accept, reject, abandon; "" accepts
	Note   string
}

// Verify decides on task.verified and delegation.verified, or task.rejected and delegation.rejected, or delegation.abandoned.
func Verify(t *Task, d *Delegation, a VerifyAsk) ([]Event, error) {
	if err := a.owner(t); err != nil {
		return nil, err
	}
	if d.TaskID != t.ID {
		return nil, &Refusal{Reason: CodeDelegation, Field: "delegationId", Text: "task " + t.ID + " has no delegation " + coordination.Quoted(d.ID),
			HintText: "list the delegations of a task with task_status"}
	}
	if t.Terminal() {
		return nil, wrongState(t, "judged", over)
	}
	note, err := text("note", a.Note, MaxText)
	if err != nil {
		return nil, err
	}
	var typ, to, verb, hint string
	switch a.Action {
	case "", "accept":
		typ, to, verb, hint = coordination.TypeTaskVerified, verified, "accepted", "only a completed delegation can be accepted"
	case "reject":
		typ, to, verb, hint = coordination.TypeTaskRejected, rejected, "rejected", "only a completed delegation can be rejected"
	case "abandon":
		to, verb, hint = abandoned, "abandoned", "only a rejected or failed delegation can be abandoned; stop a running one with subagents action=kill"
	default:
		return nil, invalid("action", "unknown action "+coordination.Quoted(a.Action), "use accept, reject, retry or abandon")
	}
	if !moves(d.Status, to) || d.Status == spawned {
		return nil, d.refuse(verb, hint)
	}
	data := d.data(t.context(a.Asked), to)
	data.Reason, data.DecidedBy = note, coordination.Mask(a.By)
	var events []Event
	if typ != "" {
		events = append(events, t.happens(typ, coordination.TaskState{Context: t.context(a.Asked), DelegationID: d.ID, Reason: note, DecidedBy: a.decider(t)}))
	}
	return append(events, Event{delegationType(to), d.From, data}), nil
}
