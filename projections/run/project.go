package run

import (
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Name of the projection.
const Name = "run"

// version of the fold. Count it up with every change of what it writes.
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

// Apply folds one event of a run, or one that begins a flow. It never refuses one: what makes no sense changes nothing. Whose event it is, its stream says, so that
// it counts also when it is redacted.
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
	to, moves := decide.Next(r.state, e.Type)
	d := read(e)
	if !moves || !d.is(name) {
		return nil
	}
	if r, _, err = p.runs.Edit(tx, name); err != nil {
		return err
	}
	from := r.state
	if r.state = to; to == decide.Running {
		r.begin(e, d)
	} else {
		r.end(e, d)
	}
	return p.count(tx, from, to)
}

// queued adds a run. Only the first event of a run's own stream asks for it, so it is asked for once.
func (p *projector) queued(tx eventstore.Tx, e *projections.Event, name string) error {
	d := read(e)
	if e.Version != 1 || !d.is(name) {
		return nil
	}
	r, _, err := p.runs.EditNew(tx, name)
	if err != nil {
		return err
	}
	*r = row{id: e.Seq, name: name, place: e.Seq, queuedAt: e.TS, agent: agentOf(e, d), state: decide.Queued}
	r.ask(d)
	if err := p.takePlace(tx, r); err != nil {
		return err
	}
	if d.retryOf == "" {
		if err := p.passes(tx, e, d.root, d.passedBy, r.agent); err != nil {
			return err
		}
	}
	return p.count(tx, "", decide.Queued)
}

// takePlace puts a run that repeats another one where that stood in the queue.
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

// count takes note of a run that goes from one state, or none, to another.
func (p *projector) count(tx eventstore.Tx, from, to decide.State) error {
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

// nameOf is what a run is called by in the name of its stream.
func nameOf(runID string) string {
	return strings.TrimPrefix(coordination.RunStream(runID), streamPrefix)
}

// agentOf is the agent that is asked: the event's, else the session's.
func agentOf(e *projections.Event, d *said) string {
	if e.AgentID != "" {
		return strings.ToLower(e.AgentID)
	}
	k, err := coordination.ParseSessionKey(d.sessionKey)
	if err != nil {
		return ""
	}
	return k.Agent
}
