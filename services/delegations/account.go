package delegations

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/services/messenger"
)

// Delegated implements messenger.Tasks. A completed delegation that is tried again is rejected first.
func (Service) Delegated(tx eventstore.Tx, f *a2a.Flow, m messenger.Moved, now time.Time) ([]eventstore.StreamAppend, error) {
	again := f.DelegationID != ""
	t, found, err := tasks.Load(tx, f.TaskID)
	if !found || err != nil {
		if again && err == nil {
			err = task.UnknownTask(f.TaskID)
		}
		return nil, err
	}
	if !again {
		if may, err := mayDelegate(tx, t, f); !may || err != nil {
			return nil, err
		}
	}
	x, number, err := delegationOf(tx, f)
	if err != nil {
		return nil, err
	}
	at := now.UnixMilli()
	asked := task.Asked{By: f.FromAgent, SessionKey: f.RequesterSessionKey, Now: at, NewWorkSession: f.WorkSessionID}
	a := delegationLog{task: t, delegation: x, at: at}
	if again {
		if a.before, err = attemptBefore(tx, x, f); err != nil {
			return nil, err
		}
	}
	if again && x.Status == messenger.MovedCompleted {
		if err := a.add(task.Verify(t, x, task.VerifyAsk{Asked: asked, Action: "reject", Note: m.Note})); err != nil {
			return nil, err
		}
	}
	attempt := *a.delegation
	attempt.Agent, attempt.From, attempt.JobID, attempt.RunID = f.ToAgent, f.FromAgent, f.JobID, f.JobID
	attempt.ChildKey, attempt.Label, attempt.Work = f.TargetSessionKey, f.Label, cmp.Or(attempt.Work, f.Message) // without the note of a retry
	err = a.add(task.Delegate(t, task.DelegateAsk{Asked: asked, Delegation: attempt, Retry: again, Note: m.Note, Number: number}))
	if err != nil || len(a.events) == 0 {
		return nil, err
	}
	if err := a.move(m); err != nil {
		return nil, err
	}
	return a.appends(f)
}

// mayDelegate reports whether an agent may start a sub-agent for a task: for its own task, as a sub-agent working on a delegation of the
// task, or in a run that answers the owner or the delegation in that matter.
func mayDelegate(tx eventstore.Tx, t *task.Task, f *a2a.Flow) (bool, error) {
	if t.Agent == f.FromAgent {
		return true, nil
	}
	all, err := tasks.DelegationsOf(tx, t.ID)
	if err != nil || slices.ContainsFunc(all, func(x task.Delegation) bool { return x.ChildKey == f.RequesterSessionKey }) {
		return err == nil, err
	}
	if f.RequesterRunID == "" {
		return false, nil
	}
	by, found, err := runs.Load(tx, f.RequesterRunID)
	if !found || by.JobID == "" || err != nil {
		return false, err
	}
	flow, found, err := flows.Load(tx, by.JobID)
	if !found || err != nil {
		return false, err
	}
	return flow.TaskID == t.ID && (flow.FromAgent == t.Agent || flow.DelegationID != ""), nil
}

// delegationOf returns the delegation that a flow attempts again, or a new one, and the number of the task's delegations.
func delegationOf(tx eventstore.Tx, f *a2a.Flow) (x *task.Delegation, number int, err error) {
	if f.DelegationID != "" {
		x, found, err := tasks.LoadDelegation(tx, f.DelegationID)
		if err == nil && (!found || x.TaskID != f.TaskID) {
			err = task.UnknownDelegation(f.DelegationID)
		}
		return x, 0, err
	}
	number, err = tasks.NumberOfDelegations(tx, f.TaskID)
	return &task.Delegation{ID: f.JobID, TaskID: f.TaskID}, number, err
}

// attemptBefore returns the flow of the previous attempt; nil if it ran in another work session, whose record of the failure stays.
func attemptBefore(tx eventstore.Tx, x *task.Delegation, f *a2a.Flow) (*a2a.Flow, error) {
	before, found, err := flows.Load(tx, x.JobID)
	if !found || err != nil || before.ConversationID == "" || before.WorkSessionID != f.WorkSessionID {
		return nil, err
	}
	return before, nil
}

// Moved implements messenger.Tasks. The outcome of a superseded attempt is ignored.
func (Service) Moved(tx eventstore.Tx, f *a2a.Flow, m messenger.Moved, now time.Time) ([]eventstore.StreamAppend, error) {
	x, err := attemptOf(tx, f)
	if x == nil || err != nil {
		return nil, err
	}
	t, found, err := tasks.Load(tx, x.TaskID)
	if !found || err != nil {
		return nil, err
	}
	a := delegationLog{task: t, delegation: x, at: now.UnixMilli()}
	if err := a.move(m); err != nil {
		return nil, err
	}
	return a.appends(f)
}

// attemptOf returns the delegation whose last attempt a flow is, nil for none. The task knows it even if the flow's purpose is redacted.
func attemptOf(tx eventstore.Tx, f *a2a.Flow) (*task.Delegation, error) {
	if f.DelegationID != "" {
		x, found, err := tasks.LoadDelegation(tx, f.DelegationID)
		if !found || err != nil || x.JobID != f.JobID {
			return nil, err
		}
		return x, nil
	}
	all, err := tasks.DelegationsOf(tx, f.TaskID)
	for i := range all {
		if all[i].JobID == f.JobID {
			return &all[i], err
		}
	}
	return nil, err
}

// delegationLog collects the events about a task and one of its delegations.
type delegationLog struct {
	task       *task.Task
	delegation *task.Delegation // after the events so far
	at         int64            // ms since 1970
	before     *a2a.Flow        // previous attempt, given up for a retry; nil if it does not matter
	events     []task.Event
}

// add records decided events.
func (a *delegationLog) add(events []task.Event, err error) error {
	if err != nil {
		return err
	}
	after, err := Applied(a.delegation, events, a.at)
	a.delegation, a.events = &after, append(a.events, events...)
	return err
}

// Applied returns a delegation after events that are about to be appended at that time, in ms.
func Applied(x *task.Delegation, events []task.Event, at int64) (task.Delegation, error) {
	after := *x
	for _, e := range events {
		data, err := json.Marshal(e.Data)
		if err != nil {
			return after, fmt.Errorf("write %s: %w", e.Type, err)
		}
		if _, err := after.Apply(e.Type, data, x.Last, at); err != nil {
			return after, fmt.Errorf("apply %s: %w", e.Type, err)
		}
	}
	return after, nil
}

// move records the progress of an attempt.
func (a *delegationLog) move(m messenger.Moved) error {
	return a.add(task.Move(a.task, a.delegation, task.MoveAsk{To: m.To, Snapshot: m.Text, Error: m.Error}))
}

// appends returns the events in the context of a flow; a retry is recorded in the conversation of the previous attempt. They expect no
// version of the stream: several delegations may move in one transaction.
func (a *delegationLog) appends(f *a2a.Flow) ([]eventstore.StreamAppend, error) {
	if len(a.events) == 0 {
		return nil, nil
	}
	told := eventstore.StreamAppend{Stream: coordination.TaskStream(a.task.ID)}
	for _, e := range a.events {
		actor := eventstore.ActorSystem
		switch e.Type {
		case coordination.TypeTaskRetrying, coordination.TypeDelegationRetrying, coordination.TypeDelegationSpawned,
			coordination.TypeTaskRejected, coordination.TypeDelegationRejected:
			actor = eventstore.ActorAgent
		}
		of := f
		if e.Type == coordination.TypeDelegationRetrying && a.before != nil {
			of = a.before
		}
		event, err := eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, Actor: actor, CorrelationID: of.ConversationID}.With(InFlow(e.Data, of), a.at)
		if err != nil {
			return nil, err
		}
		told.Events = append(told.Events, event)
	}
	return []eventstore.StreamAppend{told}, nil
}

// InFlow returns the data of a delegation's event in the context of its attempt's flow.
func InFlow(data any, f *a2a.Flow) any {
	d, is := data.(coordination.Delegation)
	if !is {
		return data
	}
	d.FromSessionType, d.ToSessionType = coordination.SessionMain, coordination.SessionSubagent
	if key, err := coordination.ParseSessionKey(f.RequesterSessionKey); err == nil && key.Kind == coordination.KeySubagent {
		d.FromSessionType = coordination.SessionSubagent
	}
	d.ConversationID, d.ParentConversationID, d.ParentRunID, d.Depth, d.Hop = f.ConversationID, f.ParentConversationID, f.ParentRunID, f.Depth, f.Hop
	if f.WorkSessionID != "" {
		d.WorkSessionID = f.WorkSessionID
	}
	return d
}
