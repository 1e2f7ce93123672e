package routing

import (
	"slices"

	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// kept is how many records are kept of each agent and place, whatever the configuration says: those that were observed last.
const kept = 200

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

// told takes away what an agent has been told of, and what is too long ago to be told ever: what it has observed before that, except for the newest
// route.HistoryLimit. What came meanwhile stays.
func (p *projector) told(tx eventstore.Tx, o observer, ids []string) error {
	known, err := p.observers.Get(tx, o)
	if err != nil || known == nil || len(ids) == 0 {
		return err
	}
	oldest, left := int64(0), []int64(nil)
	for n := known.last; n >= known.first; n-- {
		row, err := p.at(tx, o, n)
		switch {
		case err != nil:
			return err
		case row == nil:
		case slices.Contains(ids, row.messageID):
			oldest = n
			if err := p.forget(tx, o, n); err != nil {
				return err
			}
		default:
			left = append(left, n)
		}
	}
	if oldest == 0 {
		return nil
	}
	next := *known
	gone := min(oldest-1, known.last-route.HistoryLimit)
	next.first = max(next.first, gone+1)
	for _, n := range left {
		if n <= gone {
			if err := p.forget(tx, o, n); err != nil {
				return err
			}
		}
	}
	if len(left) == 0 || left[0] <= gone {
		next.first, next.last = 1, 0 // nothing is left: it begins anew
	}
	row, _, err := p.observers.Edit(tx, o)
	if err == nil {
		*row = next
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
