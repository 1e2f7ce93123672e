package runs

import (
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Name of the projection.
const Name = "run"

// version of the fold. Increment it with every change of what it writes.
const version = "3"

// Definition describes the projection "run".
func Definition() projections.Definition {
	return projections.Definition{
		Name: Name, Version: version, Kind: projections.Decision, Tables: []string{"runs", "run_states", "run_passes"},
		New: func(name func(string) string) projections.Projector {
			return &projector{runs: newRuns(name("runs")), states: newStates(name("run_states")), passed: newPasses(name("run_passes"))}
		},
	}
}

type projector struct {
	runs   *projections.Table[string, row]
	states *projections.Table[string, state]
	passed *projections.Table[int64, pass]
}

func (p *projector) Rows() []projections.Rows { return []projections.Rows{p.runs, p.states, p.passed} }

// Apply folds one event of a run, or one that begins a flow. It never refuses an event: inconsistent ones change
// nothing. The run is identified by the stream, so redacted events count too.
func (p *projector) Apply(tx eventstore.Tx, e *projections.Event) error {
	switch {
	case e.Actor == eventstore.ActorImport:
		return nil
	case e.Type == coordination.TypeA2AJobCreated && e.Version == 1:
		d := read(e)
		return p.passes(tx, e, d.root, d.from, d.to)
	case !strings.HasPrefix(e.Type, "run."):
		return nil
	}
	name, is := strings.CutPrefix(e.Stream, streamPrefix)
	if !is {
		return nil
	}
	if e.Type == coordination.TypeRunQueued {
		return p.queued(tx, e, name)
	}
	r, err := p.runs.Get(tx, name)
	if err != nil || r == nil {
		return err
	}
	to, moves := run.Next(r.state, e.Type)
	d := read(e)
	if !moves || !d.is(name) {
		return nil
	}
	if r, _, err = p.runs.Edit(tx, name); err != nil {
		return err
	}
	from := r.state
	switch r.state = to; to {
	case run.Running:
		r.begin(e, d)
	case run.Queued: // parked, or woken
	default:
		r.end(e, d)
	}
	return p.count(tx, from, to)
}

// queued adds a run. Only the first event of a run's own stream does, so it is added once.
func (p *projector) queued(tx eventstore.Tx, e *projections.Event, name string) error {
	d := read(e)
	if e.Version != 1 || !d.is(name) {
		return nil
	}
	r, _, err := p.runs.EditNew(tx, name)
	if err != nil {
		return err
	}
	*r = row{id: e.Seq, name: name, place: e.Seq, queuedAt: e.TS, agent: agentOf(e, d), state: run.Queued}
	r.ask(d)
	if err := p.takePlace(tx, r); err != nil {
		return err
	}
	if d.retryOf == "" {
		if err := p.passes(tx, e, d.root, d.passedBy, r.agent); err != nil {
			return err
		}
	}
	return p.count(tx, "", run.Queued)
}

// takePlace gives a retry the place of the interrupted run in the queue.
func (p *projector) takePlace(tx eventstore.Tx, r *row) error {
	if r.retryOf == "" {
		return nil
	}
	root, err := p.runs.Get(tx, nameOf(r.retryOf))
	if err != nil || root == nil {
		return err
	}
	r.place = root.place
	return nil
}

// count records a run's transition from one state, or none, to another.
func (p *projector) count(tx eventstore.Tx, from, to run.State) error {
	s, _, err := p.states.Edit(tx, string(to))
	if err != nil {
		return err
	}
	s.name = string(to)
	s.runs++
	if from == "" {
		return nil
	}
	s, _, err = p.states.Edit(tx, string(from))
	if err != nil {
		return err
	}
	s.runs--
	return nil
}

const streamPrefix = "run/"

// nameOf returns the name of a run in its stream's name.
func nameOf(runID string) string {
	return strings.TrimPrefix(coordination.RunStream(runID), streamPrefix)
}

// agentOf returns the agent that is asked: the event's, otherwise the session's.
func agentOf(e *projections.Event, d *eventData) string {
	if e.AgentID != "" {
		return strings.ToLower(e.AgentID)
	}
	k, err := coordination.ParseSessionKey(d.sessionKey)
	if err != nil {
		return ""
	}
	return k.Agent
}
