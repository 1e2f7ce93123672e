package workqueue

import (
	"cmp"
	"slices"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

const selectLeased = "SELECT " + itemColumns + " FROM work w WHERE w.seq > 0 AND w.state = 'leased' AND w.kind = ? ORDER BY w.seq"

// LeasedOf returns the leased items of a kind, in request order, within the transaction that is going to append. Its
// cost does not depend on the waiting items.
func LeasedOf(tx eventstore.Tx, kind string) (list []Item, err error) {
	return projections.ReadAll(tx, "list leased work", selectLeased, []any{kind}, itemOf)
}

const selectGivenUp = "SELECT " + itemColumns + " FROM work w WHERE w.seq > 0 AND w.state = 'dead' AND w.kind = ? ORDER BY w.seq DESC LIMIT ?"

// GivenUpOf returns the last dead items of a kind, the latest request first, at most so many.
func GivenUpOf(tx eventstore.Tx, kind string, most int) (list []Item, err error) {
	return projections.ReadAll(tx, "list dead work", selectGivenUp, []any{kind, most}, itemOf)
}

const selectTried = "SELECT " + itemColumns + ` FROM work_keys k JOIN work w ON w.stream = k.first
 WHERE k.pool = ? AND k.ready_at IS NOT NULL AND k.kind = ? AND w.attempt > 0`

// TriedOf returns the waiting items of a kind in a pool that have been tried before: what their last attempt did may be
// unknown. Like LeasedOf it is for the transaction that is going to append. Its cost grows with the keys that have waiting
// items, since only the first item of a key is ever tried.
func TriedOf(tx eventstore.Tx, pool, kind string) (list []Item, err error) {
	list, err = projections.ReadAll(tx, "list work tried before", selectTried, []any{pool, kind}, itemOf)
	slices.SortFunc(list, func(x, y Item) int { return cmp.Compare(x.Seq, y.Seq) })
	return list, err
}
