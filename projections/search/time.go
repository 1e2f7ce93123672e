package search

import (
	"context"
	"database/sql"
	"fmt"
	"math"
)

// blockEvents is the number of events per row of spans.
const blockEvents = 512

// timeSpan is the time of the earliest and the latest of some events.
type timeSpan struct{ oldest, newest float64 }

// timeSpans are the time spans of blocks.
type timeSpans map[int64]timeSpan

func (s timeSpans) add(seq int64, time float64) {
	at, ok := s[seq/blockEvents]
	if !ok {
		at = timeSpan{time, time}
	}
	s[seq/blockEvents] = timeSpan{min(at.oldest, time), max(at.newest, time)}
}

func (s timeSpans) store(ctx context.Context, tx *sql.Tx) error {
	for block, at := range s {
		if _, err := tx.ExecContext(ctx, `INSERT INTO spans (block, oldest, newest) VALUES (?, ?, ?)
 ON CONFLICT (block) DO UPDATE SET oldest = min(oldest, excluded.oldest), newest = max(newest, excluded.newest)`,
			block, at.oldest, at.newest); err != nil {
			return err
		}
	}
	return nil
}

func (q *Query) timed() bool { return q.Since != nil || q.Until != nil }

// within returns the arguments of inTime. Time does not order the log, but rarely differs much from its order: the
// range of blocks that contains all events of the time is usually small, and hits outside of it are never read.
func (q *Query) within(ctx context.Context, tx *sql.Tx) (args []any, err error) {
	since, until := math.Inf(-1), math.Inf(1)
	if q.Since != nil {
		since = *q.Since
	}
	if q.Until != nil {
		until = *q.Until
	}
	first, last := int64(0), int64(math.MaxInt64)
	if q.timed() {
		var from, to sql.NullInt64
		if err := tx.QueryRowContext(ctx, "SELECT min(block), max(block) FROM spans WHERE newest >= ? AND oldest <= ?", since, until).
			Scan(&from, &to); err != nil {
			return nil, fmt.Errorf("search: look up the time: %w", err)
		}
		first, last = from.Int64*blockEvents, (to.Int64+1)*blockEvents-1
	}
	return []any{q.match(), since, until, first, min(last, q.upTo())}, nil
}
