package work

import (
	"fmt"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Lanes are as many as there are owners with something to do.
const selectBusy = "SELECT 1 FROM work_lanes WHERE owner = ? AND kind = ? AND waiting + leased > 0 LIMIT 1"

// Busy reports whether something of a kind waits, or is under way, that is an owner's.
func Busy(tx eventstore.Tx, kind, owner string) (busy bool, err error) {
	err = tx.Query(selectBusy, []any{owner, kind}, func(eventstore.Row) error {
		busy = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("look whether there is work of %s: %w", owner, err)
	}
	return busy, nil
}
