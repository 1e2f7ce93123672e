package plantools

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/once"
)

// planChange is what one tool call, or one person, does to one plan.
type planChange struct {
	tool  string // "" for a person
	call  *tools.Call
	asked plan.Asked
	// find returns the plan. A new one has only an id.
	find func(tx eventstore.Tx) (*plan.Plan, error)
	// decide returns the events of the change.
	decide func(tx eventstore.Tx, p *plan.Plan) (plan.Event, error)
}

// changeResult is a plan after a change, or unchanged if that was refused.
type changeResult struct {
	plan.Plan
	Again   bool   // by an earlier identical call
	NotTold string // why the agent is not told of the decision; "" if it is, or without a decision

	appended eventstore.NewEvent
}

func (s *Service) asks(call *tools.Call, tool string) *planChange {
	return &planChange{tool: tool, call: call, asked: plan.Asked{By: call.AgentID}}
}

func (s *Service) person(name string) *planChange {
	return &planChange{call: &tools.Call{}, asked: plan.Asked{By: coordination.TrimJS(name), Human: true}}
}

// change makes a change once per call, in one transaction with the notice of it. Errors are *plan.Refusal or the log's; the result is
// never nil.
func (s *Service) change(ctx context.Context, c *planChange) (*changeResult, error) {
	done := &changeResult{}
	now := s.o.Now()
	result, err := s.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		*done = changeResult{} // may be called again
		key, err := once.KeyOf(tx, c.call, c.tool)
		if err != nil {
			return nil, err
		}
		first := key.Done()
		if err := done.before(tx, first); done.Again || err != nil {
			return nil, err
		}
		p, err := c.find(tx)
		if err != nil {
			return nil, err
		}
		done.Plan = *p
		e, err := c.decide(tx, p)
		if err != nil {
			return nil, err
		}
		return s.appends(tx, c, done, p, e, first, now)
	})
	if err != nil || done.Again {
		if unrecorded := s.recordChainRefusal(ctx, c, done, err, now); unrecorded != nil {
			err = errors.Join(err, unrecorded)
		}
		return done, err
	}
	e, at := &done.appended, &result.Events[0]
	if _, err := done.Apply(e.Type, e.AgentID, e.Data, at.Seq, at.Version, e.TS); err != nil {
		return done, fmt.Errorf("fold %s: %w", e.Type, err)
	}
	return done, nil
}

// recordChainRefusal records that a call was refused because of a loop of agents.
func (s *Service) recordChainRefusal(ctx context.Context, c *planChange, done *changeResult, err error, now time.Time) error {
	why := (*plan.Refusal)(nil)
	if !errors.As(err, &why) || !chain.IsCode(why.Reason) {
		return nil
	}
	id := eventstore.DerivedID(0, once.Digest("cut", c.call.RunID, c.call.CallID, done.ID))
	return messenger.RecordChainRefusal(ctx, s.o.Log, c.call.Caller, done.Agent, coordination.Context{TaskID: done.TaskID, WorkSessionID: done.WorkSessionID},
		&chain.Refusal{Reason: why.Reason, Text: why.Text, HintText: why.HintText}, id, now)
}

// before finds the change that the same call has made before.
func (done *changeResult) before(tx eventstore.Tx, first eventstore.ID) error {
	planID, stored, err := once.Subject(tx, first, "planId")
	if !stored || err != nil {
		return err
	}
	p, found, err := plans.Load(tx, planID)
	switch {
	case err != nil:
		return err
	case !found:
		return plan.Unknown(planID)
	}
	done.Plan, done.Again = *p, true
	return nil
}

// appends returns the events of a plan, expecting the version that was read, followed by the notice of a decision. first is the id of
// the first event; zero lets the store choose.
func (s *Service) appends(tx eventstore.Tx, c *planChange, done *changeResult, p *plan.Plan, e plan.Event, first eventstore.ID, now time.Time,
) ([]eventstore.StreamAppend, error) {
	var err error
	done.appended, err = eventstore.NewEvent{ID: first, Type: e.Type, AgentID: e.AgentID, Actor: c.actor(), CausationID: c.call.AskedID,
		CorrelationID: c.call.ConversationID}.With(e.Data, now.UnixMilli())
	if err != nil {
		return nil, err
	}
	of := eventstore.StreamAppend{Stream: coordination.PlanStream(p.ID), Events: []eventstore.NewEvent{done.appended}}
	if p.Status == "" {
		of.Expect = eventstore.NoStream()
		return []eventstore.StreamAppend{of}, nil
	}
	after := *p
	if _, err := after.Apply(e.Type, e.AgentID, done.appended.Data, p.Last+1, p.Version+1, now.UnixMilli()); err != nil {
		return nil, fmt.Errorf("fold %s: %w", e.Type, err)
	}
	var telling []eventstore.StreamAppend
	if telling, done.NotTold, err = s.notifySubmitter(tx, c.call.RunID, &after, now); err != nil {
		return nil, err
	}
	return append([]eventstore.StreamAppend{of}, telling...), nil
}

func (c *planChange) actor() eventstore.Actor {
	if c.asked.Human {
		return eventstore.ActorHuman
	}
	return eventstore.ActorAgent
}
