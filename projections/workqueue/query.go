package workqueue

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/projections"
)

// Lane is the number of items of one owner in a pool.
type Lane struct {
	Pool, Owner           string
	Waiting, Leased, Dead int
	Since                 int64 // ms since 1970: request time of the first waiting item; 0 if none
}

// Query selects items, in request order or newest first.
type Query struct {
	State            State // "": any
	Kind, Key, Owner string
	After            int64 // seq of the last known one
	Limit            int   // 0: all
	Newest           bool  // newest first; without After
}

// Head is the next item of one kind of an owner in a pool.
type Head struct {
	Pool, Kind string
	Waiting    int
	Free       bool  // some key is idle
	ReadyAt    int64 // when the first of those may begin, ms since 1970; 0 is at once
}

const (
	selectLanes = `SELECT l.pool, l.owner, sum(l.waiting), sum(l.leased), sum(l.dead),
 coalesce((SELECT w.since FROM work w WHERE w.state = 'waiting' AND w.pool = l.pool AND w.owner = l.owner ORDER BY w.since LIMIT 1), 0)
  FROM work_lanes l GROUP BY l.pool, l.owner`

	selectHeads = `SELECT l.pool, l.kind, l.waiting,
 (SELECT k.ready_at FROM work_keys k WHERE k.pool = l.pool AND k.owner = l.owner AND k.kind = l.kind AND k.ready_at IS NOT NULL ORDER BY k.ready_at LIMIT 1)
  FROM work_lanes l WHERE l.waiting > 0`

	selectFirstWaiting = "SELECT " + itemColumns + " FROM work w WHERE w.state = 'waiting' AND w.pool = ? AND w.owner = ? ORDER BY w.since LIMIT 1"

	selectKeys = "SELECT k.key, k.waiting, k.leased, k.since FROM json_each(?) j JOIN work_keys k ON k.key = j.value"

	fromWork = "SELECT " + itemColumns + " FROM work w WHERE w.seq > ?"
	inOrder  = " ORDER BY w.seq LIMIT ?"
	newest   = " ORDER BY w.seq DESC LIMIT ?"
)

// ofState are the conditions on states, as in the partial indexes.
func ofState(s State) string {
	switch s {
	case "":
		return ""
	case Waiting:
		return " AND w.state = 'waiting'"
	case Leased:
		return " AND w.state = 'leased'"
	case Dead:
		return " AND w.state = 'dead'"
	}
	return " AND 0"
}

// Lanes lists the number of items, by pool and owner. Its cost depends on the number of owners.
func Lanes(ctx context.Context, tx *sql.Tx) ([]Lane, error) {
	return projections.ListRows(ctx, tx, "list lanes of work", selectLanes, nil, func(rows *sql.Rows, l *Lane) error {
		return rows.Scan(&l.Pool, &l.Owner, &l.Waiting, &l.Leased, &l.Dead, &l.Since)
	})
}

// Heads returns what can begin next, and when. Its cost depends on the number of owners.
func Heads(ctx context.Context, tx *sql.Tx) ([]Head, error) {
	return projections.ListRows(ctx, tx, "find ready work", selectHeads, nil, func(rows *sql.Rows, h *Head) error {
		var ready sql.NullInt64
		err := rows.Scan(&h.Pool, &h.Kind, &h.Waiting, &ready)
		h.Free, h.ReadyAt = ready.Valid, ready.Int64
		return err
	})
}

// Keys returns the number of items of keys. Empty keys are left out.
func Keys(ctx context.Context, tx *sql.Tx, keys []string) (map[string]KeyState, error) {
	names, err := json.Marshal(keys)
	if err != nil {
		return nil, fmt.Errorf("read keys of work: %w", err)
	}
	found := map[string]KeyState{}
	return found, projections.EachRow(ctx, tx, "read keys of work", selectKeys, []any{string(names)}, func(rows *sql.Rows) error {
		var name string
		var s KeyState
		err := rows.Scan(&name, &s.Waiting, &s.Leased, &s.Since)
		found[name] = s
		return err
	})
}

// List returns items. Dead or leased items are found without reading waiting ones.
func List(ctx context.Context, tx *sql.Tx, q Query) ([]Item, error) {
	query, args := fromWork+ofState(q.State), []any{q.After}
	for _, c := range [...]struct{ column, value string }{{"kind", q.Kind}, {"key", q.Key}, {"owner", q.Owner}} {
		if c.value != "" {
			query, args = query+" AND w."+c.column+" = ?", append(args, c.value)
		}
	}
	limit := q.Limit
	if limit <= 0 {
		limit = -1
	}
	order := inOrder
	if q.Newest {
		order = newest
	}
	return projections.ListRows(ctx, tx, "list work", query+order, append(args, limit), func(rows *sql.Rows, i *Item) (err error) {
		*i, err = scanItem(rows)
		return err
	})
}

// FirstWaiting returns the item of an owner in a pool that has waited longest.
func FirstWaiting(ctx context.Context, tx *sql.Tx, pool, owner string) (i Item, found bool, err error) {
	i, err = scanItem(tx.QueryRowContext(ctx, selectFirstWaiting, pool, owner))
	if errors.Is(err, sql.ErrNoRows) {
		return Item{}, false, nil
	}
	return i, err == nil, err
}

// ByID returns an item by its effect's id. Finished items are not found.
func ByID(ctx context.Context, tx *sql.Tx, effectID string) (i Item, found bool, err error) {
	i, err = scanItem(tx.QueryRowContext(ctx, selectItem, work.Stream(effectID)))
	if errors.Is(err, sql.ErrNoRows) {
		return Item{}, false, nil
	}
	return i, err == nil, err
}

func scanItem(row interface{ Scan(...any) error }) (i Item, err error) {
	err = row.Scan(&i.Seq, &i.EffectID, &i.Kind, &i.Key, &i.Pool, &i.Owner, &i.State, &i.Since, &i.DueAt, &i.Attempt, &i.Most, &i.LeaseUntil, &i.Error)
	if err != nil {
		return Item{}, fmt.Errorf("read work: %w", err)
	}
	return i, nil
}
