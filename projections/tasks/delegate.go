package tasks

import (
	"encoding/json"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// maxNote is the number of characters kept of the note on an incident.
const maxNote = 500

// delegated folds an event of a delegation. A redacted event does not say which delegation it is about.
func (p *projector) delegated(tx eventstore.Tx, e *projections.Event, h *loadedTask) error {
	if e.Redacted() {
		return nil
	}
	var said coordination.Delegation
	_ = json.Unmarshal(e.Data, &said) // decoding continues after a member of another type
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
