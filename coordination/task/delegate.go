package task

import (
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
)

// workLength and errorLength bound what a delegation says of its work and of what went wrong, in characters.
const (
	workLength  = 4_000
	errorLength = 2_000
)

// DelegateAsk hands work of a task to a sub-agent.
type DelegateAsk struct {
	Asked
	Delegation Delegation // of a new one ID, Agent, From, JobID, RunID, ChildKey, Label and Work
	Retry      bool       // the delegation is there, and tried again: it is rejected or failed, and has attempts left
	Note       string     // of a retry: why, and what is to be done otherwise
	Number     int        // delegations that the task has
}

// Delegate decides on delegation.spawned, after task.retrying and delegation.retrying where it is tried again; Delegation is the one that is
// there then, with the ids of its new attempt. t may be over: what is delegated then belongs to nothing, and there are no events; but nothing
// is tried again for it.
func Delegate(t *Task, a DelegateAsk) ([]Event, error) {
	if a.Retry {
		return retry(t, a)
	}
	if t.Terminal() {
		return nil, nil
	}
	if a.Number >= MaxDelegations {
		return nil, &Refusal{Reason: CodeFull, Text: fmt.Sprintf("task %s has %d delegations, and can have no more", t.ID, MaxDelegations),
			Mend: "begin another task for what is left"}
	}
	d := a.Delegation
	d.Retries, d.Most = 0, DefaultRetries
	return []Event{d.spawn(t.context(a.Asked))}, nil
}

func retry(t *Task, a DelegateAsk) ([]Event, error) {
	if t.Terminal() {
		return nil, wrongState(t, "worked at", over)
	}
	d := a.Delegation
	switch {
	case !moves(d.Status, retrying):
		return nil, d.refuse("tried again", "only what is rejected or has failed is tried again")
	case d.Retries >= d.Most:
		return nil, &Refusal{Reason: CodeDelegation, Field: "delegationId",
			Text: fmt.Sprintf("delegation %s was tried again %d times, and that is all", d.ID, d.Retries),
			Mend: "give it up with task_verify action=abandon, or do it yourself"}
	}
	note, err := text("note", a.Note, MaxText)
	if err != nil {
		return nil, err
	}
	d.Retries++
	decided := coordination.TaskState{Context: t.context(a.Asked), Reason: note, DelegationID: d.ID, DecidedBy: a.decider(t)}
	again := d.data(t.context(a.Asked), retrying)
	again.RetryCount, again.MaxRetries, again.DecidedBy, again.Reason = d.Retries, d.Most, coordination.Mask(a.By), note
	return []Event{
		t.happens(coordination.TypeTaskRetrying, decided),
		{coordination.TypeDelegationRetrying, d.From, again},
		d.spawn(t.context(a.Asked)),
	}, nil
}

func (d *Delegation) spawn(c coordination.Context) Event {
	data := d.data(c, spawned)
	data.RunID, data.ChildKey, data.Label = d.RunID, d.ChildKey, excerpt(d.Label, maxName)
	data.Work = excerpt(d.Work, workLength)
	data.RetryCount, data.MaxRetries = d.Retries, d.Most
	return Event{coordination.TypeDelegationSpawned, d.From, data}
}

// data is what all events of a delegation say.
func (d *Delegation) data(c coordination.Context, status string) coordination.Delegation {
	c.EventRole = coordination.RoleDelegation
	return coordination.Delegation{Context: c, DelegationID: d.ID, FromAgent: d.From, ToAgent: d.Agent, JobID: d.JobID, Status: status}
}

func (d *Delegation) refuse(verb, mend string) *Refusal {
	return &Refusal{Reason: CodeDelegation, Field: "delegationId", Text: "delegation " + d.ID + " is " + d.Status + " and cannot be " + verb, Mend: mend}
}
