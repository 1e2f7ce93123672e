package responses

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// selectThreads is the query of Threads.
var selectThreads = "SELECT t." + strings.Join(threadColumns, ", t.") + " FROM collaboration_threads t"

// List lists requests, newest first.
func List(ctx context.Context, tx *sql.Tx, q Query) (requests []Row, err error) {
	query, args := q.sql()
	err = projections.Reading(ctx, tx).Query(query, args, func(r eventstore.Row) error {
		x, err := scanRow(r)
		requests = append(requests, x.announced())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list requests: %w", err)
	}
	return requests, nil
}

// Count returns how many requests a query selects, ignoring its limit.
func Count(ctx context.Context, tx *sql.Tx, q Query) (n int, err error) {
	query, args := q.count()
	err = projections.Reading(ctx, tx).Query(query, args, func(r eventstore.Row) error {
		n = int(r.Int(0))
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count requests: %w", err)
	}
	return n, nil
}

const isReminded = " FROM collaborations c WHERE c.status = 'pending' AND c.status <> '' AND c.request ->> '$.step' > 0"

var (
	countReminded  = "SELECT count(*)" + isReminded
	selectReminded = selectRequest + " WHERE c.id IN (SELECT c.id" + isReminded + " ORDER BY c.sent_at DESC, c.id DESC LIMIT ?) ORDER BY c.sent_at DESC, c.id DESC"
)

// Reminded counts the unanswered requests whose answerer was reminded, and lists up to most of them, the latest sent first.
func Reminded(ctx context.Context, tx *sql.Tx, most int) (requests []Row, n int, err error) {
	reading := projections.Reading(ctx, tx)
	err = reading.Query(countReminded, nil, func(r eventstore.Row) error {
		n = int(r.Int(0))
		return nil
	})
	if err == nil && n > 0 && most > 0 {
		err = reading.Query(selectReminded, []any{most}, func(r eventstore.Row) error {
			x, err := scanRow(r)
			requests = append(requests, x.announced())
			return err
		})
	}
	if err != nil {
		return nil, 0, fmt.Errorf("list reminded requests: %w", err)
	}
	return requests, n, nil
}

var selectBySeqs = selectRequest + " WHERE c.id IN (SELECT value FROM json_each(?))"

// BySeqs returns requests by the seqs of the events that made them known, in no order.
func BySeqs(ctx context.Context, tx *sql.Tx, seqs []int64) (requests []Row, err error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(seqs)
	if err != nil {
		return nil, fmt.Errorf("encode seqs: %w", err)
	}
	err = projections.Reading(ctx, tx).Query(selectBySeqs, []any{string(text)}, func(r eventstore.Row) error {
		x, err := scanRow(r)
		requests = append(requests, x.announced())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list requests: %w", err)
	}
	return requests, nil
}

// Threads lists the kept threads, by reuse key. coordination/collaborate decides by their last use which of them are
// reused.
func Threads(ctx context.Context, tx *sql.Tx) (map[string]collaborate.Kept, error) {
	threads := map[string]collaborate.Kept{}
	err := projections.Reading(ctx, tx).Query(selectThreads, nil, func(r eventstore.Row) error {
		k := scanKept(r)
		threads[k.key] = k.Kept
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list kept threads: %w", err)
	}
	return threads, nil
}

// sql builds the query of List.
func (q *Query) sql() (query string, args []any) {
	where, few, args := q.where()
	query = selectRequest + where + " ORDER BY " + few + "c.id DESC"
	if q.Limit > 0 {
		query, args = query+" LIMIT ?", append(args, q.Limit)
	}
	return query, args
}

// count builds the query of Count.
func (q *Query) count() (query string, args []any) {
	where, _, args := q.where()
	return "SELECT count(*) FROM collaborations c" + where, args
}

// where builds the conditions. The first one given uses its index, and the others filter: a plus keeps them out of the
// index choice. few is a plus if there are so few rows that sorting them is cheaper.
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
	if q.Channel != "" {
		condition, ids := projections.InChannel("+c.channel_id", q.Channel)
		where, args = append(where, condition), append(args, ids...)
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
