package task

import (
	"github.com/pronto-lab/openclawd/coordination"
)

// VerifyAsk judges what came of a delegation.
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
		return nil, &Refusal{Reason: CodeDelegation, Field: "delegationId", Text: "task " + t.ID + " has no delegation " + shown(d.ID),
			Mend: "task_status lists the delegations of a task"}
	}
	if t.Terminal() {
		return nil, wrongState(t, "judged", over)
	}
	note, err := text("note", a.Note, MaxText)
	if err != nil {
		return nil, err
	}
	var typ, to, verb, mend string
	switch a.Action {
	case "", "accept":
		typ, to, verb, mend = coordination.TypeTaskVerified, verified, "accepted", "only what is completed is accepted"
	case "reject":
		typ, to, verb, mend = coordination.TypeTaskRejected, rejected, "rejected", "only what is completed is rejected"
	case "abandon":
		to, verb, mend = abandoned, "abandoned", "only what is rejected or has failed is abandoned; what is under way is stopped with subagents action=kill"
	default:
		return nil, invalid("action", "there is no action "+shown(a.Action), "use accept, reject, retry or abandon")
	}
	if !moves(d.Status, to) || d.Status == spawned {
		return nil, d.refuse(verb, mend)
	}
	data := d.data(t.context(a.Asked), to)
	data.Reason, data.DecidedBy = note, coordination.Mask(a.By)
	var events []Event
	if typ != "" {
		events = append(events, t.happens(typ, coordination.TaskState{Context: t.context(a.Asked), DelegationID: d.ID, Reason: note, DecidedBy: a.decider(t)}))
	}
	return append(events, Event{delegationType(to), d.From, data}), nil
}
