// Package permissions folds events into decisions about single calls of tools: see coordination/permission. It is a decision table: whether
// a call may be made is decided from it. Events of an imported log change nothing here.
package permissions

import (
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Name of the projection.
const Name = "permission"

// version of the fold. Increment it with every change of what it writes.
const version = "1"

// Definition describes the projection "permission".
func Definition() projections.Definition {
	return projections.Definition{
		Name: Name, Version: version, Kind: projections.Decision, Tables: []string{"call_approvals"},
		New: func(name func(string) string) projections.Projector {
			return &projector{approvals: newApprovals(name("call_approvals"))}
		},
	}
}

type projector struct {
	approvals *projections.Table[string, row]
}

func (p *projector) Rows() []projections.Rows { return []projections.Rows{p.approvals} }

// Apply folds one event. It never refuses an event: inconsistent ones change nothing. The approval is identified by the stream, so
// redacted events count too.
func (p *projector) Apply(tx eventstore.Tx, e *projections.Event) error {
	name, ours := strings.CutPrefix(e.Stream, coordination.CallApprovalStreams)
	if !ours || e.Actor == eventstore.ActorImport || !strings.HasPrefix(e.Type, "tool.approval_") {
		return nil
	}
	known, err := p.approvals.Get(tx, name)
	if err != nil {
		return err
	}
	r := row{name: name, Approval: permission.Approval{ID: name}}
	if known != nil {
		r = *known
	}
	if changed, err := r.Apply(e.Type, e.AgentID, e.Data, e.Seq, e.Version, e.TS); err != nil || !changed {
		return nil
	}
	edited, _, err := p.approvals.Edit(tx, name)
	if err == nil {
		*edited = r
	}
	return err
}

// nameOf returns the name of an approval in its stream's name.
func nameOf(id string) string {
	return strings.TrimPrefix(coordination.CallApprovalStream(id), coordination.CallApprovalStreams)
}
