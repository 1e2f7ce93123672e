package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	projected "github.com/pronto-lab/openclawd/projections/run"
)

// What ends loops: agents that pass a message on for ever, or that answer each result of a sub-agent by starting further ones. Each flow stands one
// hop further in the chain of causes than the run that begins it; coordination/chain bounds that.

// passing is a flow that is to be begun, in its chain of causes.
type passing struct {
	from chain.Link // where the one stands who begins it; zero for a client, who begins a chain
	to   chain.Link // where the flow stands
}

// place finds where a flow stands: behind the run that begins it, else behind what its request names. What a caller claims never brings it nearer.
func (p *passing) place(tx eventstore.Tx, from tool.Caller, cause chain.Link, asked *int, jobID string) error {
	link := cause
	if from.RunID != "" {
		at, _, found, err := projected.Link(tx, from.RunID)
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

// against says what forbids the flow, nil if nothing does. What clients ask for is counted, and not refused, unless it says itself that it has come
// too far. begun is how many flows the transaction begins before it.
func (p *passing) against(tx eventstore.Tx, limits *chain.Limits, from, to string, begun int, now time.Time) (*refusal, error) {
	why := limits.Length(p.to)
	if why == nil && p.from.Root != "" {
		var err error
		if why, err = projected.Judge(tx, limits, p.to, from, to, begun, now.UnixMilli()); err != nil {
			return nil, err
		}
	}
	if why == nil {
		return nil, nil
	}
	return &refusal{statusForbidden, why.Code, why.Text, why.Mend}, nil
}

// CutOf is what a refusal of a run says where the chain of causes has gone on too far, or too fast; nil for every other error.
func CutOf(err error) *chain.Refusal {
	if why := (*run.Refusal)(nil); errors.As(err, &why) && chain.IsCode(why.Code) {
		return &chain.Refusal{Code: why.Code, Text: why.Text, Mend: why.Mend}
	}
	return nil
}

// Cut is what tells that something outside of a flow was not passed on to an agent. id is that of the event, the zero one is a new one.
func Cut(from tool.Caller, to string, in coordination.Context, why *chain.Refusal, id eventstore.ID, now time.Time) (eventstore.StreamAppend, error) {
	in.ParentRunID = from.RunID
	data, err := json.Marshal(why.Forbidden(in, from.AgentID, to, coordination.MainKey(to).String()))
	if err != nil {
		return eventstore.StreamAppend{}, fmt.Errorf("write %s: %w", coordination.TypeA2AForbidden, err)
	}
	stream := coordination.StreamOf(&coordination.Record{Type: coordination.TypeA2AForbidden, AgentID: from.AgentID})
	return eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{eventstore.NewEvent{ID: id, Type: coordination.TypeA2AForbidden,
		AgentID: from.AgentID, Actor: eventstore.ActorSystem, CausationID: from.AskedID, Data: data}.WithTS(now.UnixMilli())}}, nil
}

// TellCut appends what Cut tells, once for each id.
func TellCut(ctx context.Context, log interface {
	Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error)
}, from tool.Caller, to string, in coordination.Context, why *chain.Refusal, id eventstore.ID, now time.Time) error {
	_, err := log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		known := false
		err := tx.Query("SELECT 1 FROM events WHERE id = ?", []any{id[:]}, func(eventstore.Row) error { known = true; return nil })
		if known || err != nil {
			return nil, err
		}
		a, err := Cut(from, to, in, why, id, now)
		return []eventstore.StreamAppend{a}, err
	})
	return err
}
