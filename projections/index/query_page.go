package index

import (
	"context"
	"database/sql"
	"fmt"
	"math/bits"
	"slices"

	"github.com/pronto-lab/openclawd/projections"
)

// CROSS JOIN fixes the order of the loops: one range of blocks per facet, one look-up per seq.
const (
	selectBlocks = `SELECT b.block, b.bits FROM json_each(?) j
 CROSS JOIN facet_blocks b ON b.facet_id = j.value AND b.block >= ? AND b.block <= ?`
	selectListed = `SELECT e.seq FROM json_each(?) j CROSS JOIN event_index e ON e.seq = j.value WHERE `
	selectInTime = selectListed + `e.time >= ? AND e.time <= ?`
)

// A page is searched in runs of blocks. The first run is short: for most filters the newest blocks contain a page.
// Each further one is wider, so that rare facets are found in few steps.
const (
	firstBlocks = 4
	widening    = 4
)

// Newest returns the seqs of the newest events of the selection before a seq, at most limit of them, ascending.
// math.MaxInt64 is the end of the log.
func (s *Selection) Newest(ctx context.Context, tx *sql.Tx, before int64, limit int) ([]int64, error) {
	if s.filter.Sessions != nil {
		upTo, _ := slices.BinarySearch(s.seqs, before)
		return slices.Clone(s.seqs[max(0, upTo-limit):upTo]), nil
	}
	end, err := lastSeq(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("find newest events: %w", err)
	}
	var found []int64
	high, low := blockOf(min(before-1, end)), blockOf(s.floor)
	for run := int64(firstBlocks); high >= low && !s.enough(found, limit); run *= widening {
		from := max(high-run+1, low)
		seqs, err := s.between(ctx, tx, from, high)
		if err != nil {
			return nil, fmt.Errorf("find newest events: %w", err)
		}
		slices.Reverse(seqs)
		seqs = slices.DeleteFunc(seqs, func(seq int64) bool { return seq >= before })
		if found, err = s.addMatches(ctx, tx, found, seqs, limit); err != nil {
			return nil, fmt.Errorf("find newest events: %w", err)
		}
		high = from - 1
	}
	slices.Reverse(found)
	return found, nil
}

// After returns the seqs of the oldest events of the selection after a seq, at most limit of them, ascending.
func (s *Selection) After(ctx context.Context, tx *sql.Tx, after int64, limit int) ([]int64, error) {
	if s.filter.Sessions != nil {
		from, known := slices.BinarySearch(s.seqs, after)
		if known {
			from++
		}
		return slices.Clone(s.seqs[from:min(from+limit, len(s.seqs))]), nil
	}
	end, err := lastSeq(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("find events after %d: %w", after, err)
	}
	var found []int64
	low, high := blockOf(max(after, s.floor-1)+1), blockOf(end)
	if after >= end || len(s.facets) == 0 {
		return nil, nil
	}
	for run := int64(firstBlocks); low <= high && !s.enough(found, limit); run *= widening {
		to := min(low+run-1, high)
		seqs, err := s.between(ctx, tx, low, to)
		if err != nil {
			return nil, fmt.Errorf("find events after %d: %w", after, err)
		}
		seqs = slices.DeleteFunc(seqs, func(seq int64) bool { return seq <= after })
		if found, err = s.addMatches(ctx, tx, found, seqs, limit); err != nil {
			return nil, fmt.Errorf("find events after %d: %w", after, err)
		}
		low = to + 1
	}
	return found, nil
}

func blockOf(seq int64) int64 { return seq / BlockSize }

func (s *Selection) enough(found []int64, limit int) bool {
	return len(found) >= limit || int64(len(found)) >= s.Matched
}

// addMatches adds seqs within the time range, or with the doubt, to found, in order and up to limit.
func (s *Selection) addMatches(ctx context.Context, tx *sql.Tx, found, seqs []int64, limit int) ([]int64, error) {
	query, bounds := withDoubt[s.filter.Doubt], []any{}
	switch {
	case s.filter.Since != nil || s.filter.Until != nil:
		query, bounds = selectInTime, []any{s.filter.since(), s.filter.until()}
	case query == "":
		return append(found, seqs[:min(len(seqs), limit-len(found))]...), nil
	}
	for batch := range slices.Chunk(seqs, max(limit, BlockSize)) {
		rows, err := tx.QueryContext(ctx, query, append([]any{projections.JSONList(batch)}, bounds...)...)
		if err != nil {
			return nil, err
		}
		if found, err = readSeqs(rows, found); err != nil {
			return nil, err
		}
		if s.enough(found, limit) {
			break
		}
	}
	return found[:min(len(found), limit)], nil
}

// between returns the seqs of the matching facets in a run of blocks, ascending.
func (s *Selection) between(ctx context.Context, tx *sql.Tx, from, to int64) ([]int64, error) {
	if s.filter.marked() {
		return s.markedBetween(ctx, tx, from, to)
	}
	rows, err := tx.QueryContext(ctx, selectBlocks, projections.JSONList(s.facets), from, to)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var seqs []int64
	for rows.Next() {
		var number int64
		var set sql.RawBytes
		if err := rows.Scan(&number, &set); err != nil {
			return nil, err
		}
		seqs = appendBits(seqs, number, set)
	}
	slices.Sort(seqs)
	return seqs, rows.Err()
}

// appendBits adds the seqs of a block whose bits are set.
func appendBits(seqs []int64, block int64, set []byte) []int64 {
	for i, b := range set {
		for ; b != 0; b &= b - 1 {
			seqs = append(seqs, block*BlockSize+int64(i)*8+int64(bits.TrailingZeros8(b)))
		}
	}
	return seqs
}

func readSeqs(rows *sql.Rows, seqs []int64) ([]int64, error) {
	defer rows.Close()
	for rows.Next() {
		var seq int64
		if err := rows.Scan(&seq); err != nil {
			return nil, err
		}
		seqs = append(seqs, seq)
	}
	return seqs, rows.Err()
}
