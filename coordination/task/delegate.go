package task

import (
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
)

// workLength and errorLength limit a delegation's work and error texts, in characters.
const (
	workLength  = 4_000
	errorLength = 2_000
)

// DelegateAsk delegates work of a task to a sub-agent.
type DelegateAsk struct {
	Asked
	Delegation Delegation // a new one has ID, Agent, From, JobID, RunID, ChildKey, Label and Work
	Retry      bool       // retry a rejected or failed delegation
	Note       string     // of a retry: why, and what to do differently
	Number     int        // delegations of the task
}

// Delegate decides on delegation.spawned, for a retry after task.retrying and delegation.retrying; Delegation then has the ids of the
// new attempt. For a task that is over there are no events, and a retry is refused.
func Delegate(t *Task, a DelegateAsk) ([]Event, error) {
	if a.Retry {
		return retry(t, a)
	}
	if t.Terminal() {
		return nil, nil
	}
	if a.Number >= MaxDelegations {
		return nil, &Refusal{Reason: CodeFull, Text: fmt.Sprintf("task %s has %d delegations and can have no more", t.ID, MaxDelegations),
			HintText: "start another task for the remaining work"}
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
		return nil, d.refuse("tried again", "only a rejected or failed delegation can be retried")
	case d.Retries >= d.Most:
		return nil, &Refusal{Reason: CodeDelegation, Field: "delegationId",
			Text:     fmt.Sprintf("delegation %s was retried %d times, the limit", d.ID, d.Retries),
			HintText: "give it up with task_verify action=abandon, or do the work yourself"}
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

// data returns the common data of a delegation's events.
func (d *Delegation) data(c coordination.Context, status string) coordination.Delegation {
	c.EventRole = coordination.RoleDelegation
	return coordination.Delegation{Context: c, DelegationID: d.ID, FromAgent: d.From, ToAgent: d.Agent, JobID: d.JobID, Status: status}
}

func (d *Delegation) refuse(verb, hint string) *Refusal {
	return &Refusal{Reason: CodeDelegation, Field: "delegationId", Text: "delegation " + d.ID + " is " + d.Status + " and cannot be " + verb, HintText: hint}
}
