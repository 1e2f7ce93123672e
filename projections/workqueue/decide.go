package workqueue

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

const (
	itemColumns = "w.seq, w.effect_id, w.kind, w.key, w.pool, w.owner, w.state, w.since, w.due_at, w.attempt, w.most, w.lease_until, w.error"

	selectItem = "SELECT " + itemColumns + " FROM work w WHERE w.stream = ?"

	// One row per agent.
	selectOwners = "SELECT owner, kind, waiting, leased FROM work_lanes WHERE pool = ?"

	// Ready items are found by the index alone; only selected ones are read.
	fromReady = "SELECT seq FROM work_keys WHERE pool = ? AND owner = ? AND kind = ? AND "
	atOnce    = fromReady + "ready_at = 0 ORDER BY seq LIMIT ?"
	whenDue   = fromReady + "ready_at > 0 AND ready_at <= ? ORDER BY ready_at, seq LIMIT ?"
	selectSeq = "SELECT " + itemColumns + " FROM work w WHERE w.seq = ?"

	selectKey = "SELECT waiting, leased, since FROM work_keys WHERE key = ?"
)

// KeyState is the number of items of a key.
type KeyState struct {
	Waiting, Leased int
	Since           int64 // ms since 1970: request time of the first waiting item; 0 if none
}

// Load reads an item by its effect's id, within the transaction that is going to append. Finished items are not found.
func Load(tx eventstore.Tx, effectID string) (i Item, found bool, err error) {
	return projections.ReadOne(tx, "load work", selectItem, []any{work.Stream(effectID)}, itemOf)
}

// Of returns the number of items of a key.
func Of(tx eventstore.Tx, key string) (s KeyState, err error) {
	err = tx.Query(selectKey, []any{key}, func(r eventstore.Row) error {
		s = KeyState{Waiting: int(r.Int(0)), Leased: int(r.Int(1)), Since: r.Int(2)}
		return nil
	})
	if err != nil {
		return KeyState{}, fmt.Errorf("load key of work: %w", err)
	}
	return s, nil
}

// Ready lists what may begin in a pool at a time, in ms since 1970: first items of idle keys that are due. Owners take
// turns: first the owner with the fewest leases, then the oldest request. Without kinds it selects any kind.
func Ready(tx eventstore.Tx, pool string, now int64, limit int, kinds ...string) ([]Item, error) {
	if limit <= 0 {
		return nil, nil
	}
	var lanes []lane
	err := tx.Query(selectOwners, []any{pool}, func(r eventstore.Row) error {
		lanes = append(lanes, lane{laneName: laneName{pool, r.Text(0), r.Text(1)}, waiting: int(r.Int(2)), leased: int(r.Int(3))})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list owners of work: %w", err)
	}
	leased, ready := map[string]int{}, map[string][]int64{}
	for _, l := range lanes {
		leased[l.owner] += l.leased
		if l.waiting == 0 || len(kinds) > 0 && !slices.Contains(kinds, l.kind) {
			continue
		}
		read := func(r eventstore.Row) error {
			ready[l.owner] = append(ready[l.owner], r.Int(0))
			return nil
		}
		if err := tx.Query(atOnce, []any{l.pool, l.owner, l.kind, limit}, read); err != nil {
			return nil, fmt.Errorf("list ready work: %w", err)
		}
		if err := tx.Query(whenDue, []any{l.pool, l.owner, l.kind, now, limit}, read); err != nil {
			return nil, fmt.Errorf("list due work: %w", err)
		}
	}
	for _, seqs := range ready {
		slices.Sort(seqs)
	}
	var list []Item
	for _, seq := range selectFairly(leased, ready, limit) {
		err := tx.Query(selectSeq, []any{seq}, func(r eventstore.Row) error {
			list = append(list, itemOf(r))
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("load ready work: %w", err)
		}
	}
	return list, nil
}

// selectFairly selects items of owners, each in order, as if selected ones were leased.
func selectFairly(leased map[string]int, ready map[string][]int64, limit int) (taken []int64) {
	for len(taken) < limit {
		next := ""
		for owner, seqs := range ready {
			if len(seqs) == 0 {
				continue
			}
			best := ready[next]
			if len(best) == 0 || cmp.Or(cmp.Compare(leased[owner], leased[next]), cmp.Compare(seqs[0], best[0])) < 0 {
				next = owner
			}
		}
		if len(ready[next]) == 0 {
			break
		}
		taken = append(taken, ready[next][0])
		ready[next] = ready[next][1:]
		leased[next]++
	}
	return taken
}

func itemOf(r eventstore.Row) Item {
	return Item{Seq: r.Int(0), EffectID: r.Text(1), Kind: r.Text(2), Key: r.Text(3), Pool: r.Text(4), Owner: r.Text(5), State: State(r.Text(6)),
		Since: r.Int(7), DueAt: r.Int(8), Attempt: int(r.Int(9)), Most: int(r.Int(10)), LeaseUntil: r.Int(11), Error: r.Text(12)}
}
