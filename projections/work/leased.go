package work

import (
	"fmt"

	"github.com/pronto-lab/openclawd/eventstore"
)

const selectLeased = "SELECT " + itemColumns + " FROM work w WHERE w.seq > 0 AND w.state = 'leased' AND w.kind = ? ORDER BY w.seq"

// LeasedOf are the items of a kind that somebody works on, in the order in which they were asked for, within the transaction that is going to
// append. What it costs does not depend on what waits.
func LeasedOf(tx eventstore.Tx, kind string) (list []Item, err error) {
	err = tx.Query(selectLeased, []any{kind}, func(r eventstore.Row) error {
		list = append(list, itemOf(r))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list leased work: %w", err)
	}
	return list, nil
}
