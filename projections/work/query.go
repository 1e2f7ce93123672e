package work

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination/work"
)

// Lane is how much one owner has in a pool.
type Lane struct {
	Pool, Owner           string
	Waiting, Leased, Dead int
	Since                 int64 // ms since 1970: when the first that waits was asked for; 0 if none does
}

// Query asks for items, in the order in which they were asked for.
type Query struct {
	State            State // "": any
	Kind, Key, Owner string
	After            int64 // seq of the last one that is known already
	Limit            int   // 0: all
}

// Head is what comes next of one kind of an owner in a pool.
type Head struct {
	Pool, Kind string
	Waiting    int
	Free       bool  // some key has nobody at work
	ReadyAt    int64 // when the first of those may be begun, ms since 1970; 0 is at once
}

const (
	selectLanes = `SELECT l.pool, l.owner, sum(l.waiting), sum(l.leased), sum(l.dead),
 coalesce((SELECT w.since FROM work w WHERE w.state = 'waiting' AND w.pool = l.pool AND w.owner = l.owner ORDER BY w.since LIMIT 1), 0)
  FROM work_lanes l GROUP BY l.pool, l.owner`

	selectHeads = `SELECT l.pool, l.kind, l.waiting,
 (SELECT k.ready_at FROM work_keys k WHERE k.pool = l.pool AND k.owner = l.owner AND k.kind = l.kind AND k.ready_at IS NOT NULL ORDER BY k.ready_at LIMIT 1)
  FROM work_lanes l WHERE l.waiting > 0`

	selectKeys = "SELECT k.key, k.waiting, k.leased, k.since FROM json_each(?) j JOIN work_keys k ON k.key = j.value"

	fromWork = "SELECT " + itemColumns + " FROM work w WHERE w.seq > ?"
	inOrder  = " ORDER BY w.seq LIMIT ?"
)

// ofState are the conditions of states, as the indexes have them.
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

// Lanes lists how much there is, by pool and owner. What it costs depends on how many owners there are.
func Lanes(ctx context.Context, tx *sql.Tx) (list []Lane, err error) {
	rows, err := tx.QueryContext(ctx, selectLanes)
	if err != nil {
		return nil, fmt.Errorf("list lanes of work: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var l Lane
		if err := rows.Scan(&l.Pool, &l.Owner, &l.Waiting, &l.Leased, &l.Dead, &l.Since); err != nil {
			return nil, fmt.Errorf("list lanes of work: %w", err)
		}
		list = append(list, l)
	}
	return list, rows.Err()
}

// Heads tells what could be begun next, and when. What it costs depends on how many owners there are.
func Heads(ctx context.Context, tx *sql.Tx) (list []Head, err error) {
	rows, err := tx.QueryContext(ctx, selectHeads)
	if err != nil {
		return nil, fmt.Errorf("look for ready work: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var h Head
		var ready sql.NullInt64
		if err := rows.Scan(&h.Pool, &h.Kind, &h.Waiting, &ready); err != nil {
			return nil, fmt.Errorf("look for ready work: %w", err)
		}
		h.Free, h.ReadyAt = ready.Valid, ready.Int64
		list = append(list, h)
	}
	return list, rows.Err()
}

// Keys tells how much there is in keys. Those in which there is nothing are left out.
func Keys(ctx context.Context, tx *sql.Tx, keys []string) (map[string]KeyState, error) {
	names, err := json.Marshal(keys)
	if err != nil {
		return nil, fmt.Errorf("read keys of work: %w", err)
	}
	rows, err := tx.QueryContext(ctx, selectKeys, string(names))
	if err != nil {
		return nil, fmt.Errorf("read keys of work: %w", err)
	}
	defer rows.Close()
	found := map[string]KeyState{}
	for rows.Next() {
		var name string
		var s KeyState
		if err := rows.Scan(&name, &s.Waiting, &s.Leased, &s.Since); err != nil {
			return nil, fmt.Errorf("read keys of work: %w", err)
		}
		found[name] = s
	}
	return found, rows.Err()
}

// List finds items. What is dead or leased is found without looking at what waits.
func List(ctx context.Context, tx *sql.Tx, q Query) (list []Item, err error) {
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
	rows, err := tx.QueryContext(ctx, query+inOrder, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("list work: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		i, err := scanItem(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	return list, rows.Err()
}

// ByID is an item by its effect's id. What is done is not found.
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
