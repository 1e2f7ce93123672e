package index

import (
	"context"
	"database/sql"
	"math"
)

const (
	selectHours = `SELECT facet_id, sum(n), min(first_seq) FROM facet_hours WHERE hour >= ? AND hour <= ? GROUP BY facet_id`
	countSlice  = `SELECT facet_id, count(*), coalesce(sum(time >= ? AND time <= ?), 0) FROM event_index
 WHERE seq >= ? AND seq < ? AND time >= ? AND time < ? GROUP BY facet_id`
)

// sliceSeqs is how much of the log is read at once when single events have to be counted.
const sliceSeqs = 4_096

// countWithin counts events by facet, with times between since and until. Whole hours are counted already; for the
// hours that contain a bound the events are read.
func countWithin(ctx context.Context, tx *sql.Tx, since, until float64) (map[int64]part, error) {
	found := map[int64]part{}
	if since > until {
		return found, nil
	}
	first, last := hourOf(since), hourOf(until)
	err := eachHourCount(ctx, tx, first, last, func(facet int64, p part) { found[facet] = p })
	if err != nil {
		return nil, err
	}
	edges := []int64{first, last}
	if first == last {
		edges = edges[:1]
	}
	for _, hour := range edges {
		if err := trimHour(ctx, tx, found, hour, since, until); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// hourOf is Hour for bounds that may be out of range.
func hourOf(ms float64) int64 {
	switch hours := math.Floor(ms / HourMs); {
	case hours < math.MinInt64/2:
		return math.MinInt64
	case hours > math.MaxInt64/2:
		return math.MaxInt64
	}
	return Hour(ms)
}

// trimHour subtracts the events of an hour that are outside of the bounds from found. It reads the log from the hour's
// first event until it has seen them all, which is soon if the log is roughly in order of time.
func trimHour(ctx context.Context, tx *sql.Tx, found map[int64]part, hour int64, since, until float64) error {
	var left, seq int64
	err := eachHourCount(ctx, tx, hour, hour, func(_ int64, p part) {
		if left == 0 || p.floor < seq {
			seq = p.floor
		}
		left += p.n
	})
	if err != nil {
		return err
	}
	start := float64(hour) * HourMs
	for left > 0 {
		rows, err := tx.QueryContext(ctx, countSlice, since, until, seq, seq+sliceSeqs, start, start+HourMs)
		if err != nil {
			return err
		}
		for rows.Next() {
			var facet, n, inside int64
			if err := rows.Scan(&facet, &n, &inside); err != nil {
				rows.Close()
				return err
			}
			left -= n
			p := found[facet]
			p.n -= n - inside
			found[facet] = p
		}
		if err := rows.Close(); err != nil {
			return err
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if seq += sliceSeqs; left > 0 {
			if end, err := lastSeq(ctx, tx); err != nil || seq > end {
				return err
			}
		}
	}
	return nil
}

func eachHourCount(ctx context.Context, tx *sql.Tx, first, last int64, visit func(facet int64, p part)) error {
	rows, err := tx.QueryContext(ctx, selectHours, first, last)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var facet int64
		var p part
		if err := rows.Scan(&facet, &p.n, &p.floor); err != nil {
			return err
		}
		visit(facet, p)
	}
	return rows.Err()
}

func lastSeq(ctx context.Context, tx *sql.Tx) (seq int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM event_index").Scan(&seq)
	return seq, err
}
