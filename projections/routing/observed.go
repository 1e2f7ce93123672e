package routing

import (
	"slices"

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

// told takes away what an agent has been told of. What did not fit, and what came meanwhile, stays.
func (p *projector) told(tx eventstore.Tx, o observer, ids []string) error {
	known, err := p.observers.Get(tx, o)
	if err != nil || known == nil || len(ids) == 0 {
		return err
	}
	gone, left := 0, 0
	for n := known.last; n >= known.first; n-- {
		row, err := p.at(tx, o, n)
		switch {
		case err != nil:
			return err
		case row == nil:
		case slices.Contains(ids, row.messageID):
			gone++
			if err := p.forget(tx, o, n); err != nil {
				return err
			}
		default:
			left++
		}
	}
	if gone == 0 || left > 0 {
		return nil
	}
	row, _, err := p.observers.Edit(tx, o)
	if err == nil {
		row.first, row.last = 1, 0 // it begins anew
	}
	return err
}

// at is the n-th that an agent has observed in a place; nil if it is gone.
func (p *projector) at(tx eventstore.Tx, o observer, n int64) (*observed, error) {
	row, err := p.observed.Get(tx, o.slot(n))
	if err != nil || row == nil || row.n != n {
		return nil, err
	}
	return row, nil
}

func (p *projector) forget(tx eventstore.Tx, o observer, n int64) error {
	row, _, err := p.observed.Edit(tx, o.slot(n))
	if err == nil {
		*row = observed{slot: o.slot(n)}
	}
	return err
}
