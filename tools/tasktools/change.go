package tasktools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/once"
)

// taskChange is what one tool call does to one task.
type taskChange struct {
	tool  string
	call  *tools.Call
	asked task.Asked
	// counts makes the result include the number of the agent's open tasks.
	counts bool
	// find returns the task. A new one has only an id.
	find func(tx eventstore.Tx) (*task.Task, error)
	// decide returns the events of the change. Events that come with a *task.Refusal record the refusal.
	decide func(tx eventstore.Tx, t *task.Task) ([]task.Event, error)
	// also is appended together with the events of decide, which sets it: what happens to other tasks.
	also []eventstore.StreamAppend
}

// changeResult is a task after a change, or unchanged if that was refused.
type changeResult struct {
	task.Task
	Events []task.Event // of the change; none for a repetition
	Again  bool         // by an earlier identical call
	Open   int          // open tasks of the agent, if the change counts them

	appended []eventstore.NewEvent // Events, as appends
}

// asks returns a change requested by a call; expect is the version that the task must have, nil for any.
func (s *Service) asks(call *tools.Call, tool string, expect *int64) *taskChange {
	return &taskChange{tool: tool, call: call,
		asked: task.Asked{By: call.AgentID, SessionKey: call.SessionKey, Expect: expect, Now: s.o.Now().UnixMilli()}}
}

// change makes a change once per call, in one transaction. Errors are *task.Refusal or the log's; the result is never nil.
func (s *Service) change(ctx context.Context, c *taskChange) (*changeResult, error) {
	done := &changeResult{}
	var refused error
	var begins bool
	at := time.UnixMilli(c.asked.Now)
	result, err := s.o.Log.Decide(ctx, func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
		*done, refused, c.also = changeResult{}, nil, nil // may be called again
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
		if c.asked.NewWorkSession, err = s.Joins(tx, t, c.asked.Now); err != nil {
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
			if done.Open, err = tasks.OpenOf(tx, ownerOf(t, done.Events)); err != nil {
				return nil, err
			}
		}
		first := key.Done()
		if refused != nil {
			first = key.Refused()
			if _, noted, err := once.Subject(tx, first, "taskId"); noted || err != nil {
				return nil, err
			}
		}
		if appends, err = done.appends(c, first, begins); err != nil || len(appends) == 0 {
			return nil, err
		}
		follows, err := s.follows(tx, c, done, t.Status, at)
		return slices.Concat(appends, c.also, follows), err
	})
	if err != nil {
		if unrecorded := s.recordChainRefusal(ctx, c, done, err); unrecorded != nil {
			err = errors.Join(err, unrecorded)
		}
		return done, err
	}
	if err := done.fold(result.Events, begins); err != nil {
		return done, err
	}
	return done, refused
}

// recordChainRefusal records that a call was refused because of a loop of agents.
func (s *Service) recordChainRefusal(ctx context.Context, c *taskChange, done *changeResult, err error) error {
	why := (*task.Refusal)(nil)
	if !errors.As(err, &why) || !chain.IsCode(why.Reason) {
		return nil
	}
	id := eventstore.DerivedID(0, once.Digest("cut", c.call.RunID, c.call.CallID, done.ID))
	return messenger.RecordChainRefusal(ctx, s.o.Log, c.call.Caller, done.Agent, coordination.Context{TaskID: done.ID, WorkSessionID: done.WorkSessionID},
		&chain.Refusal{Reason: why.Reason, Text: why.Text, HintText: why.HintText}, id, time.UnixMilli(c.asked.Now))
}

// before finds the change that the same call has made before.
func (done *changeResult) before(tx eventstore.Tx, c *taskChange, key once.Key) error {
	taskID, stored, err := once.Subject(tx, key.Done(), "taskId")
	if !stored || err != nil {
		return err
	}
	t, known, err := tasks.Load(tx, taskID)
	switch {
	case err != nil:
		return err
	case !known:
		return task.UnknownTask(taskID)
	}
	done.Task, done.Again = *t, true
	if c.counts {
		done.Open, err = tasks.OpenOf(tx, t.Agent)
	}
	return err
}

// fold returns the task after the appended events. Consequences of the change are stored after them.
func (done *changeResult) fold(stored []eventstore.Stored, begins bool) error {
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

// ownerOf returns the owner of a task, or the future owner of a new one.
func ownerOf(t *task.Task, events []task.Event) string {
	if t.Agent != "" || len(events) == 0 {
		return t.Agent
	}
	if added, is := events[0].Data.(coordination.TaskBacklogAdded); is {
		return added.Assignee
	}
	return events[0].AgentID
}

// appends returns the events of a change for the end of the task's stream, expecting the version that was read. first is the id of the
// first event; zero lets the store choose.
func (done *changeResult) appends(c *taskChange, first eventstore.ID, begins bool) ([]eventstore.StreamAppend, error) {
	if len(done.Events) == 0 {
		return nil, nil
	}
	actor := eventstore.ActorAgent
	if c.asked.Human {
		actor = eventstore.ActorHuman
	}
	of := eventstore.StreamAppend{Stream: coordination.TaskStream(done.ID)}
	for _, e := range done.Events {
		event := eventstore.NewEvent{ID: first, Type: e.Type, AgentID: e.AgentID, Actor: actor, CausationID: c.call.AskedID, CorrelationID: c.call.ConversationID}
		if err := of.Add(event, e.Data, c.asked.Now); err != nil {
			return nil, err
		}
		first = eventstore.ID{}
	}
	if done.appended = of.Events; begins {
		of.Expect = eventstore.NoStream()
	}
	return []eventstore.StreamAppend{of}, nil
}
