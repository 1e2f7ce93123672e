package messenger

import (
	"context"
	"errors"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// Loop guards end loops of agents that pass a message on forever, or answer each result of a sub-agent with further sub-agents. A flow
// is one hop further in the chain of causes than the run that begins it; coordination/chain bounds that.

// chainStep is the position of a new flow in its chain of causes.
type chainStep struct {
	from chain.Link // position of the flow's cause; zero for a client, which begins a chain
	to   chain.Link // position of the flow
}

// locate finds the position of a flow: behind the run that begins it, else behind what its request names. A caller's claim never shortens
// the chain.
func (p *chainStep) locate(tx eventstore.Tx, from tool.Caller, cause chain.Link, asked *int, jobID string) error {
	link := cause
	if from.RunID != "" {
		at, _, found, err := runs.Link(tx, from.RunID)
		if err != nil {
			return err
		}
		if link = at; !found {
			link.Root = from.RunID
		}
	}
	link.Hop = max(link.Hop, from.Hop)
	p.from, p.to = link, link.Next()
	if asked != nil {
		p.to.Hop = max(p.to.Hop, *asked)
	}
	if p.to.Root == "" {
		p.to.Root = jobID
	}
	return nil
}

// against returns why the chain forbids the flow, nil if it does not. Flows of clients are counted but refused only if they claim too
// many hops. started is the number of flows that the transaction has started before it.
func (p *chainStep) against(tx eventstore.Tx, limits *chain.Limits, from, to string, started int, now time.Time) (*refusal, error) {
	why := limits.Length(p.to)
	if why == nil && p.from.Root != "" {
		var err error
		if why, err = runs.Judge(tx, limits, p.to, from, to, started, now.UnixMilli()); err != nil {
			return nil, err
		}
	}
	if why == nil {
		return nil, nil
	}
	return &refusal{StatusForbidden, why.Reason, why.Text, why.HintText}, nil
}

// ChainRefusalOf returns the cut of a run that is refused because of its chain of causes; nil for every other error.
func ChainRefusalOf(err error) *chain.Refusal {
	if why := (*run.Refusal)(nil); errors.As(err, &why) && chain.IsCode(why.Reason) {
		return &chain.Refusal{Reason: why.Reason, Text: why.Text, HintText: why.HintText}
	}
	return nil
}

// ChainRefusedEvent returns the event of a cut outside of a flow. id is the event's id; zero for a new one.
func ChainRefusedEvent(from tool.Caller, to string, in coordination.Context, why *chain.Refusal, id eventstore.ID, now time.Time) (eventstore.StreamAppend, error) {
	in.ParentRunID = from.RunID
	a := eventstore.StreamAppend{Stream: coordination.StreamOf(&coordination.Record{Type: coordination.TypeA2AForbidden, AgentID: from.AgentID})}
	err := a.Add(eventstore.NewEvent{ID: id, Type: coordination.TypeA2AForbidden, AgentID: from.AgentID, Actor: eventstore.ActorSystem,
		CausationID: from.AskedID}, chain.Forbidden(why, in, from.AgentID, to, coordination.MainKey(to).String()), now.UnixMilli())
	return a, err
}

// RecordChainRefusal appends the event of a cut, once per id.
func RecordChainRefusal(ctx context.Context, log eventstore.Decider, from tool.Caller, to string, in coordination.Context, why *chain.Refusal, id eventstore.ID,
	now time.Time) error {
	_, err := log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		known, err := eventstore.EventExists(tx, id)
		if known || err != nil {
			return nil, err
		}
		a, err := ChainRefusedEvent(from, to, in, why, id, now)
		return []eventstore.StreamAppend{a}, err
	})
	return err
}
