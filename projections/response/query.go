package response

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// selectThreads is what Threads asks for.
var selectThreads = "SELECT t." + strings.Join(threadColumns, ", t.") + " FROM collaboration_threads t"

// List lists requests, the newest first.
func List(ctx context.Context, tx *sql.Tx, q Query) (requests []Row, err error) {
	query, args := q.sql()
	err = projections.Reading(ctx, tx).Query(query, args, func(r eventstore.Row) error {
		x, err := scanRow(r)
		requests = append(requests, x.told())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list what agents have asked each other: %w", err)
	}
	return requests, nil
}

// Count says how many requests a query selects, whatever its limit.
func Count(ctx context.Context, tx *sql.Tx, q Query) (n int, err error) {
	query, args := q.count()
	err = projections.Reading(ctx, tx).Query(query, args, func(r eventstore.Row) error {
		n = int(r.Int(0))
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count what agents have asked each other: %w", err)
	}
	return n, nil
}

// Threads lists the threads that are kept, by reuse key. Which of them are used again, coordination/collaborate decides by when they last were.
func Threads(ctx context.Context, tx *sql.Tx) (map[string]collaborate.Kept, error) {
	threads := map[string]collaborate.Kept{}
	err := projections.Reading(ctx, tx).Query(selectThreads, nil, func(r eventstore.Row) error {
		k := scanKept(r)
		threads[k.key] = k.Kept
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the threads that are kept: %w", err)
	}
	return threads, nil
}

// sql is what List asks for.
func (q *Query) sql() (query string, args []any) {
	where, few, args := q.where()
	query = selectRequest + where + " ORDER BY " + few + "c.id DESC"
	if q.Limit > 0 {
		query, args = query+" LIMIT ?", append(args, q.Limit)
	}
	return query, args
}

// count is what Count asks for.
func (q *Query) count() (query string, args []any) {
	where, _, args := q.where()
	return "SELECT count(*) FROM collaborations c" + where, args
}

// where is what the requests have in common. The first of these that is given finds them, and the others choose among what it has found: a plus
// keeps them out of the search. few is a plus where there are so few that they are better sorted.
func (q *Query) where() (condition, few string, args []any) {
	var where []string
	name := ""
	if q.CollabID != "" {
		name = nameOf(q.CollabID)
	}
	for _, c := range []struct{ column, value, few, also string }{
		{"c.name", name, "+", ""},
		{"c.thread_id", q.ThreadID, "+", "c.thread_id <> ''"},
		{"c.work_session_id", q.WorkSession, "+", "c.work_session_id <> ''"},
		{"c.from_agent", strings.ToLower(q.From), "", ""},
		{"c.target_agent", strings.ToLower(q.Target), "", ""},
		{"c.status", string(q.Status), "", "c.status <> ''"},
		{"c.delivery", string(q.Delivery), "", ""},
	} {
		if c.value == "" {
			continue
		}
		if len(where) > 0 {
			where, args = append(where, "+"+c.column+" = ?"), append(args, c.value)
			continue
		}
		if c.also != "" {
			where = append(where, c.also)
		}
		where, args, few = append(where, c.column+" = ?"), append(args, c.value), c.few
	}
	if q.Before > 0 {
		where, args = append(where, few+"c.id < ?"), append(args, q.Before)
	}
	if len(where) == 0 {
		return "", few, nil
	}
	return " WHERE " + strings.Join(where, " AND "), few, args
}

// sentBefore orders requests by when they were sent.
func sentBefore(a, b row) int {
	return cmp.Or(cmp.Compare(a.SentAt, b.SentAt), cmp.Compare(a.sentSeq, b.sentSeq))
}
