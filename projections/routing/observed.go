package routing

import (
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// kept is how many records are kept of each agent and place, whatever the configuration says: those that were observed last.
const kept = route.HistoryLimit

// observe notes that an agent has observed a message, in the place of what it has observed kept messages before. In any order of sending: the one
// that came last is the last.
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
		edit = p.observed.EditNew // no slot is used for the second time yet
	}
	row, _, err := edit(tx, o.slot(n.last))
	if err == nil {
		*row = observed{slot: o.slot(n.last), n: n.last, messageID: messageID, at: e.TS, seq: e.Seq}
	}
	return err
}
