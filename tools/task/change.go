package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/a2a"
	"github.com/pronto-lab/openclawd/tools/once"
)

// change is what one call of a tool does to one task.
type change struct {
	tool  string
	call  *tools.Call
	asked task.Asked
	// counts has the open tasks of the task's agent counted.
	counts bool
	// find gives the task. A new one has an id alone.
	find func(tx eventstore.Tx) (*task.Task, error)
	// decide says what happens to it. A *task.Refusal that comes with events is one that they tell of.
	decide func(tx eventstore.Tx, t *task.Task) ([]task.Event, error)
}

// changed is a task after a change, or as it was when that was refused.
type changed struct {
	task.Task
	Events []task.Event // of the change; none if it was made before
	Again  bool         // it was made before, by the same call
	Open   int          // tasks of its agent that are not over, where the change counts them

	appended []eventstore.NewEvent // Events, as the log gets them
}

// asks is a change of a task that a call asks for; expect is the version that the task must have, nil is any.
func (d *Desk) asks(call *tools.Call, tool string, expect *int64) *change {
	return &change{tool: tool, call: call,
		asked: task.Asked{By: call.AgentID, SessionKey: call.SessionKey, Expect: expect, Now: d.o.Now().UnixMilli()}}
}

// change makes a change, once for each call, in one transaction. Errors are *task.Refusal or the log's; what is given is never nil.
func (d *Desk) change(ctx context.Context, c *change) (*changed, error) {
	done := &changed{}
	var refused error
	var begins bool
	at := time.UnixMilli(c.asked.Now)
	result, err := d.o.Log.Decide(ctx, func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
		*done, refused = changed{}, nil // it may be called again
		key, err := once.KeyOf(tx, c.call, c.tool)
		if err != nil {
			return nil, err
		}
		if err := done.before(tx, c, key); done.Again || err != nil {
			return nil, err
		}
		t, err := c.find(tx)
		if err != nil {
			return nil, err
		}
		done.Task, begins = *t, t.Status == ""
		if c.asked.NewWorkSession, err = d.Joins(tx, t, c.asked.Now); err != nil {
			return nil, err
		}
		done.Events, err = c.decide(tx, t)
		if err != nil {
			if len(done.Events) == 0 {
				return nil, err
			}
			if refused = err; !errors.As(err, new(*task.Refusal)) {
				return nil, err
			}
		}
		if c.counts {
			if done.Open, err = projection.OpenOf(tx, ownerOf(t, done.Events)); err != nil {
				return nil, err
			}
		}
		first := key.Done()
		if refused != nil {
			first = key.Refused()
			if _, noted, err := taskOfEvent(tx, first); noted || err != nil {
				return nil, err
			}
		}
		if appends, err = done.appends(c, first, begins); err != nil || len(appends) == 0 {
			return nil, err
		}
		follows, err := d.follows(tx, c, done, t.Status, at)
		return append(appends, follows...), err
	})
	if err != nil {
		if untold := d.tellCut(ctx, c, done, err); untold != nil {
			err = errors.Join(err, untold)
		}
		return done, err
	}
	if err := done.fold(result.Events, begins); err != nil {
		return done, err
	}
	return done, refused
}

// tellCut has the log tell that a call was refused because agents cause each other to act in a loop.
func (d *Desk) tellCut(ctx context.Context, c *change, done *changed, err error) error {
	why := (*task.Refusal)(nil)
	if !errors.As(err, &why) || !chain.IsCode(why.Reason) {
		return nil
	}
	id := eventstore.DerivedID(0, once.Digest("cut", c.call.RunID, c.call.CallID, done.ID))
	return a2a.TellCut(ctx, d.o.Log, c.call.Caller, done.Agent, coordination.Context{TaskID: done.ID, WorkSessionID: done.WorkSessionID},
		&chain.Refusal{Code: why.Reason, Text: why.Text, Mend: why.Mend}, id, time.UnixMilli(c.asked.Now))
}

// before finds what the same call has changed before.
func (done *changed) before(tx eventstore.Tx, c *change, key once.Key) error {
	taskID, stored, err := taskOfEvent(tx, key.Done())
	if !stored || err != nil {
		return err
	}
	t, known, err := projection.Load(tx, taskID)
	switch {
	case err != nil:
		return err
	case !known:
		return unknownTask(taskID)
	}
	done.Task, done.Again = *t, true
	if c.counts {
		done.Open, err = projection.OpenOf(tx, t.Agent)
	}
	return err
}

// fold is how the task stands after what was appended. What follows from the change is stored behind it.
func (done *changed) fold(stored []eventstore.Stored, begins bool) error {
	over := done.Terminal()
	for i := range done.appended {
		if err := apply(&done.Task, &done.appended[i], stored[i].Seq, stored[i].Version); err != nil {
			return err
		}
	}
	if begins {
		done.Open++
	}
	if !over && done.Terminal() {
		done.Open--
	}
	return nil
}

func apply(t *task.Task, e *eventstore.NewEvent, seq, version int64) error {
	if _, err := t.Apply(e.Type, e.AgentID, e.Data, seq, version, e.TS); err != nil {
		return fmt.Errorf("fold %s: %w", e.Type, err)
	}
	return nil
}

// ownerOf is whose task it is, or is going to be.
func ownerOf(t *task.Task, events []task.Event) string {
	if t.Agent != "" || len(events) == 0 {
		return t.Agent
	}
	if added, is := events[0].Data.(coordination.TaskBacklogAdded); is {
		return added.Assignee
	}
	return events[0].AgentID
}

// appends puts the events of a change at the end of its task's stream, or at its beginning. first is the id of the first one; zero for one that
// the store makes. What was read of a task that is there holds until they are stored.
func (done *changed) appends(c *change, first eventstore.ID, begins bool) ([]eventstore.StreamAppend, error) {
	if len(done.Events) == 0 {
		return nil, nil
	}
	actor := eventstore.ActorAgent
	if c.asked.Human {
		actor = eventstore.ActorHuman
	}
	done.appended = make([]eventstore.NewEvent, len(done.Events))
	for i, e := range done.Events {
		data, err := json.Marshal(e.Data)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", e.Type, err)
		}
		done.appended[i] = eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, Actor: actor, CausationID: c.call.AskedID,
			CorrelationID: c.call.ConversationID, Data: data}.WithTS(c.asked.Now)
	}
	done.appended[0].ID = first
	of := eventstore.StreamAppend{Stream: coordination.TaskStream(done.ID), Events: done.appended}
	if begins {
		of.Expect = eventstore.NoStream()
	}
	return []eventstore.StreamAppend{of}, nil
}
