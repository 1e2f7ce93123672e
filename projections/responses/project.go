package responses

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Name of the projection.
const Name = "response"

// version of the fold. Increment it with every change of what it writes.
const version = "1"

// keepThreads is how long an unused thread is kept.
const keepThreads = 7 * 24 * time.Hour

// Definition describes the projection "response".
func Definition() projections.Definition {
	return projections.Definition{
		Name: Name, Version: version, Kind: projections.Decision, Tables: []string{"collaborations", "collaboration_threads"},
		New: func(name func(string) string) projections.Projector {
			return &projector{requests: newRequests(name("collaborations")), threads: newThreads(name("collaboration_threads"))}
		},
	}
}

type projector struct {
	requests *projections.Table[string, row]
	threads  *projections.Table[string, keptThread]
}

func (p *projector) Rows() []projections.Rows { return []projections.Rows{p.requests, p.threads} }

// Apply folds one event. It never refuses an event: an event that is inconsistent or cannot be read changes nothing.
// The request of an event in a request's stream is identified by the stream, so redacted events count too.
func (p *projector) Apply(tx eventstore.Tx, e *projections.Event) error {
	s, ok := read(e)
	if !ok {
		return nil
	}
	x, err := p.request(tx, s)
	if err != nil {
		return err
	}
	state, err := p.threadsOf(tx, s, e.TS)
	if err != nil {
		return err
	}
	means, changed := x.fold(e, s, &state)
	if means {
		if err := p.storeThreads(tx, e, s, state.Threads); err != nil {
			return err
		}
	}
	if !changed {
		return nil
	}
	edited, _, err := p.requests.Edit(tx, s.name)
	if err == nil {
		*edited = x
	}
	return err
}

// request returns the request of an event; its Seq is 0 if it is unknown.
func (p *projector) request(tx eventstore.Tx, s eventData) (x row, err error) {
	if s.name != "" {
		known, err := p.requests.Get(tx, s.name)
		if err != nil {
			return row{}, err
		}
		if known != nil {
			x = *known
		}
	}
	x.name = s.name
	if s.CollabID != "" {
		x.ID = s.CollabID // the event that named it first may be redacted
	}
	if x.ID == "" {
		x.ID = s.name
	}
	x.earlier.RequestID = x.ID
	return x, nil
}

// threadsOf returns what is known of the threads that an event may concern. Threads unused for keepThreads are dropped.
func (p *projector) threadsOf(tx eventstore.Tx, s eventData, ts int64) (collaborate.State, error) {
	state := collaborate.State{Requests: map[string]collaborate.Earlier{}, Threads: map[string]collaborate.Kept{}}
	for _, key := range s.keys() {
		k, err := p.threads.Get(tx, key)
		if err != nil {
			return state, err
		}
		if k != nil && ts-k.LastUsedAt < keepThreads.Milliseconds() {
			state.Threads[key] = k.Kept
		}
	}
	return state, nil
}

// storeThreads stores the new state of these threads.
func (p *projector) storeThreads(tx eventstore.Tx, e *projections.Event, s eventData, threads map[string]collaborate.Kept) error {
	for _, key := range s.keys() {
		before, err := p.threads.Get(tx, key)
		if err != nil {
			return err
		}
		now := threads[key] // zero if it is forgotten
		if before == nil && now.ThreadID == "" || before != nil && before.Kept == now {
			continue
		}
		edited, _, err := p.threads.Edit(tx, key)
		if err != nil {
			return err
		}
		if e.Type == coordination.TypeThreadCreated {
			edited.seq = e.Seq
		}
		edited.key, edited.Kept = key, now
	}
	return nil
}
