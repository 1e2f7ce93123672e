package work

import (
	"fmt"

	"github.com/pronto-lab/openclawd/eventstore"
)

const (
	// As long as there are agents.
	selectTotal = "SELECT coalesce(sum(waiting), 0), coalesce(sum(leased), 0) FROM work_lanes WHERE kind = ?"

	// What waits in a pool is nearly always of one kind, so the first row is the one.
	selectOldest = `SELECT coalesce(min((SELECT w.since FROM work w WHERE w.state = 'waiting' AND w.pool = l.pool AND w.owner = l.owner AND w.kind = l.kind
  ORDER BY w.since LIMIT 1)), 0)
 FROM work_lanes l WHERE l.kind = ? AND l.waiting > 0`
)

// Total is how much there is of a kind, in all keys. Since is not told.
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

// Oldest is when the first that waits of a kind was asked for, in ms since 1970; 0 if nothing does.
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
