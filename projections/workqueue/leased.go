package workqueue

import (
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

const selectLeased = "SELECT " + itemColumns + " FROM work w WHERE w.seq > 0 AND w.state = 'leased' AND w.kind = ? ORDER BY w.seq"

// LeasedOf returns the leased items of a kind, in request order, within the transaction that is going to append. Its
// cost does not depend on the waiting items.
func LeasedOf(tx eventstore.Tx, kind string) (list []Item, err error) {
	return projections.ReadAll(tx, "list leased work", selectLeased, []any{kind}, itemOf)
}
