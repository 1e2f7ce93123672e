package index

import (
	"context"
	"database/sql"
	"math"
	"slices"

	"github.com/pronto-lab/openclawd/projections"
)

const (
	selectHours = `SELECT facet_id, sum(n), min(first_seq) FROM facet_hours WHERE hour >= ? AND hour <= ? GROUP BY facet_id`
	// CROSS JOIN fixes the order of the loops: one look-up, or one range, per block.
	selectBlockTimes = `SELECT block, n, earliest, latest FROM block_times WHERE block >= ? AND block <= ? AND latest >= ? AND earliest < ?`
	hasBlockTimes    = `SELECT EXISTS (SELECT 1 FROM block_times)`
	selectBlockBits  = `SELECT b.block, b.facet_id, b.bits FROM json_each(?) j
 CROSS JOIN facet_blocks b ON b.facet_id = j.value AND b.block >= ? AND b.block <= ?`
	countEvents = `SELECT e.facet_id, count(*), coalesce(sum(e.time >= ? AND e.time <= ?), 0) FROM json_each(?) j
 CROSS JOIN event_index e ON e.seq >= j.value * 256 AND e.seq < j.value * 256 + 256 WHERE e.time >= ? AND e.time < ? GROUP BY e.facet_id`
)

// blocksAtOnce is how many blocks trimHour considers first.
const blocksAtOnce = 64

// countWithin counts the events of some facets, with times between since and until; numbers of other facets mean nothing. Whole hours are
// counted already; for the hours that contain a bound see trimHour.
func countWithin(ctx context.Context, tx *sql.Tx, facets []int64, since, until float64) (map[int64]part, error) {
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
		if err := trimHour(ctx, tx, found, facets, hour, since, until); err != nil {
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

// trimHour subtracts the events of an hour that are outside of the bounds from found. It goes through the blocks from the hour's first
// event on until it has seen all of them, which is soon if the log is roughly in order of time. Of a block that is within the hour and on
// one side of the bounds the events are counted by their bits; single events are read only where a bound or an end of the hour falls into
// a block.
func trimHour(ctx context.Context, tx *sql.Tx, found map[int64]part, facets []int64, hour int64, since, until float64) error {
	t := trimming{ctx: ctx, tx: tx, found: found, facets: facets, since: since, until: until, start: float64(hour) * HourMs}
	var seq int64
	err := eachHourCount(ctx, tx, hour, hour, func(_ int64, p part) {
		if t.left == 0 || p.floor < seq {
			seq = p.floor
		}
		t.left += p.n
	})
	if err != nil || t.left == 0 {
		return err
	}
	end, err := lastSeq(ctx, tx)
	if err != nil {
		return err
	}
	if err := tx.QueryRowContext(ctx, hasBlockTimes).Scan(&t.spans); err != nil {
		return err
	}
	for from, run := blockOf(seq), int64(blocksAtOnce); t.left > 0 && from <= blockOf(end); run *= widening {
		if err := t.trim(from, min(from+run-1, blockOf(end))); err != nil {
			return err
		}
		from += run
	}
	return nil
}

// trimming is the state of trimHour.
type trimming struct {
	ctx          context.Context
	tx           *sql.Tx
	found        map[int64]part
	facets       []int64 // that are counted
	since, until float64
	start        float64 // of the hour
	left         int64   // events of the hour that are not seen yet
	spans        bool    // the times of blocks are known; else, until the tables are rebuilt after an update, all events are read
}

// trim does a run of blocks.
func (t *trimming) trim(from, to int64) error {
	if !t.spans {
		all := make([]int64, to-from+1)
		for i := range all {
			all[i] = from + int64(i)
		}
		return t.trimByEvents(all)
	}
	var outside, mixed []int64
	err := projections.EachRow(t.ctx, t.tx, "read times of blocks", selectBlockTimes, []any{from, to, t.start, t.start + HourMs}, func(rows *sql.Rows) error {
		var b blockTimes
		if err := rows.Scan(&b.block, &b.n, &b.earliest, &b.latest); err != nil {
			return err
		}
		switch within := b.earliest >= t.start && b.latest < t.start+HourMs; {
		case within && b.earliest >= t.since && b.latest <= t.until:
			t.left -= b.n
		case within && (b.latest < t.since || b.earliest > t.until):
			t.left -= b.n
			outside = append(outside, b.block)
		default:
			mixed = append(mixed, b.block)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(outside) > 0 {
		err = t.trimByBits(outside)
	}
	if len(mixed) > 0 && err == nil {
		err = t.trimByEvents(mixed)
	}
	return err
}

// trimByBits subtracts whole blocks, which are in ascending order.
func (t *trimming) trimByBits(blocks []int64) error {
	args := []any{projections.JSONList(t.facets), blocks[0], blocks[len(blocks)-1]}
	return projections.EachRow(t.ctx, t.tx, "read bits of blocks", selectBlockBits, args, func(rows *sql.Rows) error {
		var block, facet int64
		var set sql.RawBytes
		if err := rows.Scan(&block, &facet, &set); err != nil {
			return err
		}
		if _, is := slices.BinarySearch(blocks, block); is {
			t.subtract(facet, countBits(set))
		}
		return nil
	})
}

func (t *trimming) trimByEvents(blocks []int64) error {
	args := []any{t.since, t.until, projections.JSONList(blocks), t.start, t.start + HourMs}
	return projections.EachRow(t.ctx, t.tx, "count events of blocks", countEvents, args, t.subtractEvents)
}

func (t *trimming) subtract(facet, n int64) {
	p := t.found[facet]
	p.n -= n
	t.found[facet] = p
}

func (t *trimming) subtractEvents(rows *sql.Rows) error {
	var facet, n, inside int64
	if err := rows.Scan(&facet, &n, &inside); err != nil {
		return err
	}
	t.left -= n
	t.subtract(facet, n-inside)
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
