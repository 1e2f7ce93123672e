package work

import (
	"fmt"

	"github.com/pronto-lab/openclawd/eventstore"
)

const (
	// As long as there are agents.
	selectTotal = "SELECT coalesce(sum(waiting), 0), coalesce(sum(leased), 0) FROM work_lanes WHERE kind = ?"

	selectOldest = `SELECT coalesce(min((SELECT min(w.since) FROM work w WHERE w.state = 'waiting' AND w.pool = l.pool AND w.owner = l.owner)), 0)
 FROM work_lanes l WHERE l.kind = ?`
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

// Oldest is when the first that waits was asked for among the owners that have something of a kind, in ms since 1970; 0 if nothing waits.
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
