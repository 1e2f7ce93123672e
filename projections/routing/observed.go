package routing

import (
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// kept is how many of the most recent records are kept per agent and place, regardless of the configuration.
const kept = route.HistoryLimit

// observe stores an observed message of an agent in a ring of slots per place. Records are ordered by arrival,
// whatever the order of sending.
func (p *projector) observe(tx eventstore.Tx, o observer, e *projections.Event, messageID string) error {
	n, existed, err := p.observers.Edit(tx, o)
	if err != nil {
		return err
	}
	if !existed {
		*n = numbers{observer: o, first: 1}
	}
	n.last++
	n.first = max(n.first, n.last-kept+1)
	edit := p.observed.Edit
	if n.last <= kept {
		edit = p.observed.EditNew // no slot is reused yet
	}
	row, _, err := edit(tx, o.slot(n.last))
	if err == nil {
		*row = observed{slot: o.slot(n.last), n: n.last, messageID: messageID, at: e.TS, seq: e.Seq}
	}
	return err
}
