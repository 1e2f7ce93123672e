package task

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	flows "github.com/pronto-lab/openclawd/projections/a2a"
	runs "github.com/pronto-lab/openclawd/projections/run"
	projection "github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/tools/a2a"
)

// Delegated implements a2a.Tasks. A delegation that is completed, and tried again all the same, is rejected first.
func (d *Desk) Delegated(tx eventstore.Tx, f *decide.Flow, m a2a.Moved, now time.Time) ([]eventstore.StreamAppend, error) {
	again := f.DelegationID != ""
	t, found, err := projection.Load(tx, f.TaskID)
	if !found || err != nil {
		if again && err == nil {
			err = unknownTask(f.TaskID)
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
	a := account{task: t, delegation: x, at: at}
	if again {
		if a.before, err = attemptBefore(tx, x, f); err != nil {
			return nil, err
		}
	}
	if again && x.Status == statusCompleted {
		if err := a.add(task.Verify(t, x, task.VerifyAsk{Asked: asked, Action: actionReject, Note: m.Note})); err != nil {
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

// mayDelegate reports whether an agent that asks for a sub-agent can do that on behalf of a task: one of its own, or one that it works for.
// It does as a sub-agent to whom work of the task is delegated, and in a run that answers its owner, or what was delegated, in that matter.
func mayDelegate(tx eventstore.Tx, t *task.Task, f *decide.Flow) (bool, error) {
	if t.Agent == f.FromAgent {
		return true, nil
	}
	all, err := projection.DelegationsOf(tx, t.ID)
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

// States of a delegation.
const (
	statusCompleted = "completed"
	statusFailed    = "failed"
	statusRejected  = "rejected"
)

// unknownDelegation says that a task has no such delegation.
func unknownDelegation(id string) *task.Refusal {
	return &task.Refusal{Reason: task.CodeDelegation, Field: "delegationId",
		Text: fmt.Sprintf("the task has no delegation %q", coordination.Head(coordination.Mask(id), maxShown)), Mend: "task_status shows which it has"}
}

// delegationOf is the delegation of which a flow is another attempt, or a new one, and how many its task has.
func delegationOf(tx eventstore.Tx, f *decide.Flow) (x *task.Delegation, number int, err error) {
	if f.DelegationID != "" {
		x, found, err := projection.LoadDelegation(tx, f.DelegationID)
		if err == nil && (!found || x.TaskID != f.TaskID) {
			err = unknownDelegation(f.DelegationID)
		}
		return x, 0, err
	}
	number, err = projection.NumberOfDelegations(tx, f.TaskID)
	return &task.Delegation{ID: f.JobID, TaskID: f.TaskID}, number, err
}

// attemptBefore is the flow of the attempt whose place f takes. It is nil where that has left nothing in the work session of f: what has failed in
// another one stays as it was told there.
func attemptBefore(tx eventstore.Tx, x *task.Delegation, f *decide.Flow) (*decide.Flow, error) {
	before, found, err := flows.Load(tx, x.JobID)
	if !found || err != nil || before.ConversationID == "" || before.WorkSessionID != f.WorkSessionID {
		return nil, err
	}
	return before, nil
}

// Moved implements a2a.Tasks. What an attempt comes to that another one has followed is of no account.
func (d *Desk) Moved(tx eventstore.Tx, f *decide.Flow, m a2a.Moved, now time.Time) ([]eventstore.StreamAppend, error) {
	x, err := attemptOf(tx, f)
	if x == nil || err != nil {
		return nil, err
	}
	t, found, err := projection.Load(tx, x.TaskID)
	if !found || err != nil {
		return nil, err
	}
	a := account{task: t, delegation: x, at: now.UnixMilli()}
	if err := a.move(m); err != nil {
		return nil, err
	}
	return a.appends(f)
}

// attemptOf is the delegation of which a flow is the last attempt, nil for none. Where it is redacted what the flow was for, the task knows.
func attemptOf(tx eventstore.Tx, f *decide.Flow) (*task.Delegation, error) {
	if f.DelegationID != "" {
		x, found, err := projection.LoadDelegation(tx, f.DelegationID)
		if !found || err != nil || x.JobID != f.JobID {
			return nil, err
		}
		return x, nil
	}
	all, err := projection.DelegationsOf(tx, f.TaskID)
	for i := range all {
		if all[i].JobID == f.JobID {
			return &all[i], err
		}
	}
	return nil, err
}

// account is what happens to a task and one of its delegations, one thing after the other.
type account struct {
	task       *task.Task
	delegation *task.Delegation // as the events so far have left it
	at         int64            // ms since 1970
	before     *decide.Flow     // of what is tried again: the attempt that is given up, nil if that is of no account
	events     []task.Event
}

// add notes what was decided.
func (a *account) add(events []task.Event, err error) error {
	if err != nil {
		return err
	}
	after := *a.delegation
	for _, e := range events {
		data, err := json.Marshal(e.Data)
		if err != nil {
			return fmt.Errorf("write %s: %w", e.Type, err)
		}
		if _, err := after.Apply(e.Type, data, a.delegation.Last, a.at); err != nil {
			return fmt.Errorf("apply %s: %w", e.Type, err)
		}
	}
	a.delegation, a.events = &after, append(a.events, events...)
	return nil
}

// move notes how an attempt has come on.
func (a *account) move(m a2a.Moved) error {
	return a.add(task.Move(a.task, a.delegation, task.MoveAsk{To: m.To, Snapshot: m.Text, Error: m.Error}))
}

// appends are the events, as those of a flow; that it is tried again is said in the conversation of the attempt that is given up. They expect
// nothing of the stream: others of its delegations may move in the same transaction.
func (a *account) appends(f *decide.Flow) ([]eventstore.StreamAppend, error) {
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
		data, err := json.Marshal(ofFlow(e.Data, of))
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", e.Type, err)
		}
		told.Events = append(told.Events,
			eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, Actor: actor, CorrelationID: of.ConversationID, Data: data}.WithTS(a.at))
	}
	return []eventstore.StreamAppend{told}, nil
}

// ofFlow is what an event says of a delegation, with where the flow of its attempt belongs.
func ofFlow(data any, f *decide.Flow) any {
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
