package task

import (
	"encoding/json"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// maxNote is how many characters are kept of what is said of an incident.
const maxNote = 500

// delegated folds what happens to a delegation. A redacted event does not say to which.
func (p *projector) delegated(tx eventstore.Tx, e *projections.Event, h *held) error {
	if e.Redacted() {
		return nil
	}
	var said coordination.Delegation
	_ = json.Unmarshal(e.Data, &said) // it goes on behind a member of another type
	if said.DelegationID == "" {
		return nil
	}
	known, err := p.delegations.Get(tx, said.DelegationID)
	if err != nil {
		return err
	}
	var x delegation
	switch {
	case known != nil:
		x = *known
	case e.Type != coordination.TypeDelegationSpawned:
		return nil
	default:
		x.task = h.state.id
	}
	if x.task != h.state.id {
		return nil
	}
	d := x.d
	d.ID, d.TaskID = said.DelegationID, h.state.task.ID
	if changed, err := d.Apply(e.Type, e.Data, e.Seq, e.TS); err != nil || !changed {
		return nil
	}
	note := said.Reason
	if note == "" {
		note = said.Error
	}
	row, _, err := p.delegations.Edit(tx, d.ID)
	if err != nil {
		return err
	}
	x.d, x.events = d, append(slices.Clip(x.events), incident{Type: e.Type, Seq: e.Seq, At: e.TS, Note: coordination.Head(note, maxNote)})
	*row = x
	return nil
}
