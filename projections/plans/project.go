package plans

import (
	"cmp"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Name of the projection.
const Name = "plan"

// version of the fold. Increment it with every change of what it writes.
const version = "1"

// Definition describes the projection "plan".
func Definition() projections.Definition {
	return projections.Definition{
		Name: Name, Version: version, Kind: projections.Decision, Tables: []string{"plans"},
		New: func(name func(string) string) projections.Projector {
			return &projector{plans: newPlans(name("plans"))}
		},
	}
}

type projector struct {
	plans *projections.Table[string, row]
}

func (p *projector) Rows() []projections.Rows { return []projections.Rows{p.plans} }

// Apply folds one event of a plan. It never refuses an event: inconsistent ones change nothing. The plan is identified
// by the stream, so redacted events count too.
func (p *projector) Apply(tx eventstore.Tx, e *projections.Event) error {
	if e.Actor == eventstore.ActorImport || !strings.HasPrefix(e.Type, "plan.") {
		return nil
	}
	name, is := strings.CutPrefix(e.Stream, streamPrefix)
	if !is || !e.Redacted() && nameOf(e.Record.PlanID) != name {
		return nil
	}
	known, err := p.plans.Get(tx, name)
	if err != nil || known == nil && e.Type != coordination.TypePlanSubmitted {
		return err
	}
	var r row
	if known != nil {
		r = *known
	} else {
		r.name, r.plan.ID = name, cmp.Or(e.Record.PlanID, name) // the name if the event with the id is redacted
	}
	if changed, err := r.plan.Apply(e.Type, e.AgentID, e.Data, e.Seq, e.Version, e.TS); err != nil || !changed {
		return nil
	}
	edited, _, err := p.plans.Edit(tx, name)
	if err == nil {
		*edited = r
	}
	return err
}

const streamPrefix = "plan/"

// nameOf returns the name of a plan in its stream's name.
func nameOf(planID string) string {
	return strings.TrimPrefix(coordination.PlanStream(planID), streamPrefix)
}
