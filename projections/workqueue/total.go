package workqueue

import (
	"fmt"

	"github.com/pronto-lab/openclawd/eventstore"
)

const (
	// One row per agent.
	selectTotal = "SELECT coalesce(sum(waiting), 0), coalesce(sum(leased), 0) FROM work_lanes WHERE kind = ?"

	// The waiting items of a pool are nearly always of one kind, so the first row suffices.
	selectOldest = `SELECT coalesce(min((SELECT w.since FROM work w WHERE w.state = 'waiting' AND w.pool = l.pool AND w.owner = l.owner AND w.kind = l.kind
  ORDER BY w.since LIMIT 1)), 0)
 FROM work_lanes l WHERE l.kind = ? AND l.waiting > 0`
)

// Total is the number of items of a kind, over all keys. Since is not set.
func Total(tx eventstore.Tx, kind string) (s KeyState, err error) {
	err = tx.Query(selectTotal, []any{kind}, func(r eventstore.Row) error {
		s.Waiting, s.Leased = int(r.Int(0)), int(r.Int(1))
		return nil
	})
	if err != nil {
		return KeyState{}, fmt.Errorf("count work: %w", err)
	}
	return s, nil
}

// Oldest returns the request time of the first waiting item of a kind, in ms since 1970; 0 if none.
func Oldest(tx eventstore.Tx, kind string) (since int64, err error) {
	err = tx.Query(selectOldest, []any{kind}, func(r eventstore.Row) error {
		since = r.Int(0)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("find the oldest work: %w", err)
	}
	return since, nil
}
