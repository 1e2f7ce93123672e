package flows

import (
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Name of the projection.
const Name = "a2a"

// version of the fold. Increment it with every change of what it writes.
const version = "2"

// Definition describes the projection "a2a".
func Definition() projections.Definition {
	return projections.Definition{
		Name: Name, Version: version, Kind: projections.Decision,
		Tables: []string{"a2a_jobs", "a2a_permits", "a2a_job_states", "a2a_handoffs", "a2a_open_handoffs"},
		New: func(name func(string) string) projections.Projector {
			return &projector{
				jobs: newJobs(name("a2a_jobs")), permits: newPermits(name("a2a_permits")), tallies: newTallies(name("a2a_job_states")),
				handoffs: newHandoffs(name("a2a_handoffs")), open: newOpen(name("a2a_open_handoffs")),
			}
		},
	}
}

type projector struct {
	jobs     *projections.Table[string, row]
	permits  *projections.Table[string, permits]
	tallies  *projections.Table[sort, tally]
	handoffs *projections.Table[int64, given]
	open     *projections.Table[about, latest]
}

func (p *projector) Rows() []projections.Rows {
	return []projections.Rows{p.jobs, p.permits, p.tallies, p.handoffs, p.open}
}

// Apply folds one event. It never refuses an event: inconsistent ones change nothing. The flow of an event in a job's
// stream is identified by the stream, so redacted events count too.
func (p *projector) Apply(tx eventstore.Tx, e *projections.Event) error {
	if e.Actor == eventstore.ActorImport || !strings.HasPrefix(e.Type, "a2a.") {
		return nil
	}
	switch e.Type {
	case coordination.TypeA2ASend:
		return p.sent(tx, e)
	case coordination.TypeA2AResponse:
		return p.answered(tx, e)
	}
	name, is := strings.CutPrefix(e.Stream, streamPrefix)
	if !is || !strings.HasPrefix(e.Type, "a2a.job.") {
		return nil
	}
	if e.Type == coordination.TypeA2AJobCreated {
		return p.created(tx, e, name)
	}
	return p.moved(tx, e, name)
}

// created adds a flow. Only the first event of a job's own stream does, so it is created once.
func (p *projector) created(tx eventstore.Tx, e *projections.Event, name string) error {
	d := read(e)
	if e.Version != 1 || !d.is(name) {
		return nil
	}
	f := &a2a.Flow{}
	if started, err := f.Apply(e.Type, e.Data, e.Seq, e.TS); err != nil || !started {
		return nil
	}
	x, _, err := p.jobs.EditNew(tx, name)
	if err != nil {
		return err
	}
	*x = row{id: e.Seq, name: name, createdAt: e.TS}
	x.belong(d)
	x.ask(f, e.Roster)
	if f.JobID == "" && f.RunID == "" && f.Phase == a2a.Waiting {
		f.RunID = x.job() // redacted
	}
	x.set(f)
	return p.count(tx, x, 1)
}

// moved folds a change of a flow.
func (p *projector) moved(tx eventstore.Tx, e *projections.Event, name string) error {
	x, err := p.jobs.Get(tx, name)
	if err != nil || x == nil {
		return err
	}
	d := read(e)
	if !d.is(name) {
		return nil
	}
	f := x.flow()
	if changed, err := f.Apply(e.Type, e.Data, e.Seq, e.TS); err != nil || !changed {
		return nil
	}
	if x, _, err = p.jobs.Edit(tx, name); err != nil {
		return err
	}
	if err := p.count(tx, x, -1); err != nil {
		return err
	}
	x.belong(d)
	x.set(f)
	switch {
	case f.Phase == a2a.Over:
		x.over, x.endedAt, x.reason, x.post = e.Seq, e.TS, d.reason, 0
	case d.posts:
		x.post = e.Seq
	}
	if err := p.count(tx, x, 1); err != nil {
		return err
	}
	if f.Phase == a2a.Over {
		return p.settled(tx, x)
	}
	return nil
}

// count adds n to the number of flows in that flow's kind and state.
func (p *projector) count(tx eventstore.Tx, x *row, by int) error {
	s := sort{kind: x.kind, phase: x.phase, outcome: x.outcome}
	t, _, err := p.tallies.Edit(tx, s)
	if err != nil {
		return err
	}
	t.sort = s
	t.flows += int64(by)
	if x.kind != a2a.Send || !x.phase.Open() {
		return nil
	}
	n, _, err := p.permits.Edit(tx, x.to)
	if err != nil {
		return err
	}
	n.agent = x.to
	if x.phase.Holds() {
		n.active += by
	} else {
		n.waiting += by
	}
	return nil
}

const streamPrefix = "job/"

// nameOf returns the name of a flow in its stream's name.
func nameOf(jobID string) string {
	return strings.TrimPrefix(coordination.JobStream(jobID), streamPrefix)
}
