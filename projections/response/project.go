package response

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Name of the projection.
const Name = "response"

// version of the fold. Count it up with every change of what it writes.
const version = "1"

// keepThreads is how long a thread is kept that nobody uses.
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
	threads  *projections.Table[string, kept]
}

func (p *projector) Rows() []projections.Rows { return []projections.Rows{p.requests, p.threads} }

// Apply folds one event. It never refuses one: what makes no sense, or cannot be read, changes nothing. Which request an event of a request's
// stream is about, its stream says, so that it counts also when it is redacted.
func (p *projector) Apply(tx eventstore.Tx, e *projections.Event) error {
	s, ok := read(e)
	if !ok {
		return nil
	}
	x, err := p.request(tx, s)
	if err != nil {
		return err
	}
	state, err := p.kept(tx, s, e.TS)
	if err != nil {
		return err
	}
	means, changed := x.fold(e, s, &state)
	if means {
		if err := p.keep(tx, e, s, state.Threads); err != nil {
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

// request is the one that an event is about; its Seq is 0 where it is not known yet.
func (p *projector) request(tx eventstore.Tx, s said) (x row, err error) {
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
		x.ID = s.CollabID // the event that said it first may be redacted
	}
	if x.ID == "" {
		x.ID = s.name
	}
	x.earlier.RequestID = x.ID
	return x, nil
}

// kept is what is known of the threads that an event may be about. One that nobody has used for so long is not kept any more.
func (p *projector) kept(tx eventstore.Tx, s said, ts int64) (collaborate.State, error) {
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

// keep takes over what has become of these threads.
func (p *projector) keep(tx eventstore.Tx, e *projections.Event, s said, threads map[string]collaborate.Kept) error {
	for _, key := range s.keys() {
		before, err := p.threads.Get(tx, key)
		if err != nil {
			return err
		}
		now := threads[key] // none, where it is forgotten
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
