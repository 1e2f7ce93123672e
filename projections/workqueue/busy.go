package workqueue

import (
	"fmt"

	"github.com/pronto-lab/openclawd/eventstore"
)

// One row per owner with open items.
const selectBusy = "SELECT 1 FROM work_lanes WHERE owner = ? AND kind = ? AND waiting + leased > 0 LIMIT 1"

// Busy reports whether an owner has a waiting or leased item of a kind.
func Busy(tx eventstore.Tx, kind, owner string) (busy bool, err error) {
	err = tx.Query(selectBusy, []any{owner, kind}, func(eventstore.Row) error {
		busy = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("find work of %s: %w", owner, err)
	}
	return busy, nil
}
