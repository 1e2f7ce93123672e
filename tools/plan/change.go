package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/plan"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/a2a"
	"github.com/pronto-lab/openclawd/tools/once"
)

// change is what one call of a tool, or one person, does to one plan.
type change struct {
	tool  string // "" is a person
	call  *tools.Call
	asked plan.Asked
	// find gives the plan. A new one has an id alone.
	find func(tx eventstore.Tx) (*plan.Plan, error)
	// decide says what happens to it.
	decide func(tx eventstore.Tx, p *plan.Plan) (plan.Event, error)
}

// changed is a plan after a change, or as it was when that was refused.
type changed struct {
	plan.Plan
	Again   bool   // it was made before, by the same call
	NotTold string // why its agent is not told of the decision; "" if it is, and where nothing was decided now

	appended eventstore.NewEvent
}

// asks is a change that a call asks for.
func (d *Desk) asks(call *tools.Call, tool string) *change {
	return &change{tool: tool, call: call, asked: plan.Asked{By: call.AgentID}}
}

// person is a change that a person asks for.
func (d *Desk) person(name string) *change {
	return &change{call: &tools.Call{}, asked: plan.Asked{By: coordination.TrimJS(name), Human: true}}
}

// change makes a change, once for each call, in one transaction with what tells of it. Errors are *plan.Refusal or the log's; what
// is given is never nil.
func (d *Desk) change(ctx context.Context, c *change) (*changed, error) {
	done := &changed{}
	now := d.o.Now()
	result, err := d.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		*done = changed{} // it may be called again
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
		return d.appends(tx, c, done, p, e, first, now)
	})
	if err != nil || done.Again {
		if untold := d.tellCut(ctx, c, done, err, now); untold != nil {
			err = errors.Join(err, untold)
		}
		return done, err
	}
	e, at := &done.appended, &result.Events[0]
	if _, err := done.Apply(e.Type, e.AgentID, e.Data, at.Seq, at.Version, e.TS); err != nil {
		return done, fmt.Errorf("fold %s: %w", e.Type, err)
	}
	return done, nil
}

// tellCut has the log tell that a call was refused because agents cause each other to act in a loop.
func (d *Desk) tellCut(ctx context.Context, c *change, done *changed, err error, now time.Time) error {
	why := (*plan.Refusal)(nil)
	if !errors.As(err, &why) || !chain.IsCode(why.Reason) {
		return nil
	}
	id := eventstore.DerivedID(0, once.Digest("cut", c.call.RunID, c.call.CallID, done.ID))
	return a2a.TellCut(ctx, d.o.Log, c.call.Caller, done.Agent, coordination.Context{TaskID: done.TaskID, WorkSessionID: done.WorkSessionID},
		&chain.Refusal{Code: why.Reason, Text: why.Text, Mend: why.Mend}, id, now)
}

// before finds what the same call has changed before.
func (done *changed) before(tx eventstore.Tx, first eventstore.ID) error {
	planID, stored, err := planOfEvent(tx, first)
	if !stored || err != nil {
		return err
	}
	p, found, err := projection.Load(tx, planID)
	switch {
	case err != nil:
		return err
	case !found:
		return plan.Unknown(planID)
	}
	done.Plan, done.Again = *p, true
	return nil
}

// appends puts what happens to a plan at the end of its stream, or at its beginning, and behind it what tells its agent of a decision. first is
// the event's id; zero for one that the store makes. What was read of the plan holds until it is stored.
func (d *Desk) appends(tx eventstore.Tx, c *change, done *changed, p *plan.Plan, e plan.Event, first eventstore.ID, now time.Time,
) ([]eventstore.StreamAppend, error) {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", e.Type, err)
	}
	done.appended = eventstore.NewEvent{ID: first, Type: e.Type, AgentID: e.AgentID, Actor: c.actor(), CausationID: c.call.AskedID,
		CorrelationID: c.call.ConversationID, Data: data}.WithTS(now.UnixMilli())
	of := eventstore.StreamAppend{Stream: coordination.PlanStream(p.ID), Events: []eventstore.NewEvent{done.appended}}
	if p.Status == "" {
		of.Expect = eventstore.NoStream()
		return []eventstore.StreamAppend{of}, nil
	}
	after := *p
	if _, err := after.Apply(e.Type, e.AgentID, data, p.Last+1, p.Version+1, now.UnixMilli()); err != nil {
		return nil, fmt.Errorf("fold %s: %w", e.Type, err)
	}
	var telling []eventstore.StreamAppend
	if telling, done.NotTold, err = d.tell(tx, c.call.RunID, &after, now); err != nil {
		return nil, err
	}
	return append([]eventstore.StreamAppend{of}, telling...), nil
}

func (c *change) actor() eventstore.Actor {
	if c.asked.Human {
		return eventstore.ActorHuman
	}
	return eventstore.ActorAgent
}
