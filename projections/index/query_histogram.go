package index

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// By says into which groups a histogram divides the events of a bucket.
type By string

const (
	ByNothing By = ""
	ByType    By = "type"
	ByAgent   By = "agent"
	// ByInternal makes one group, of the events that are internal bookkeeping.
	ByInternal By = "internal"
)

// maxGroups is how many groups a histogram names: those with most events.
const maxGroups = 20

// maxNames is how many agents or types are counted to find them: those with most events in the whole log.
const maxNames = 500

// Histogram counts the events of a section of the log, internal ones included, in buckets of equally many seqs. Empty if the section is.
type Histogram struct {
	Groups  []string // by number of events
	Buckets []Bucket
}

// Bucket is a run of seqs.
type Bucket struct {
	Seq0, Seq1 int64   // first and last, both inclusive
	T0, T1     float64 // times of these events, in ms since 1970
	N          int64
	Problems   int64   // events that report a failure
	Counts     []int64 // by group
}

const (
	selectTimes      = `SELECT j.key, e.time FROM json_each(?) j CROSS JOIN event_index e ON e.seq = j.value`
	selectAgents     = `SELECT agent, sum(n) FROM mark_facets WHERE failed = 0 AND agent <> '' GROUP BY agent ORDER BY 2 DESC, 1 LIMIT ?`
	selectSpanAgents = `SELECT agent, bits FROM mark_blocks WHERE block >= ? AND block < ? AND failed = 0 AND agent <> ''`
	selectTypes      = `SELECT type, sum(n) FROM facets GROUP BY type ORDER BY 2 DESC, 1 LIMIT ?`
)

// Count makes a histogram of the seqs from one to another, limited to the log. It reads a row for each mark or facet of each BlockSize
// seqs.
func Count(ctx context.Context, tx *sql.Tx, from, to int64, buckets int, by By) (h *Histogram, err error) {
	h = &Histogram{}
	end, err := lastSeq(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("count events: %w", err)
	}
	from, to = max(from, 1), min(to, end)
	if from > to || buckets < 1 {
		return h, nil
	}
	width := (to - from + int64(buckets)) / int64(buckets)
	for seq := from; seq <= to; seq += width {
		last := min(seq+width-1, to)
		h.Buckets = append(h.Buckets, Bucket{Seq0: seq, Seq1: last, N: last - seq + 1})
	}
	s := section{from, to, width}
	newest, err := readNewest(ctx, tx)
	if err == nil {
		err = h.readTimes(ctx, tx)
	}
	if err == nil {
		err = eachMarkBlock(ctx, tx, newest, mark{failed: true}, from, to, func(block int64, set []byte) {
			s.spread(block, set, func(bucket int, n int64) { h.Buckets[bucket].Problems += n })
		})
	}
	if err == nil {
		err = h.divide(ctx, tx, newest, s, by)
	}
	if err != nil {
		return nil, fmt.Errorf("count events: %w", err)
	}
	return h, nil
}

func (h *Histogram) readTimes(ctx context.Context, tx *sql.Tx) error {
	seqs := make([]int64, 0, 2*len(h.Buckets))
	for _, b := range h.Buckets {
		seqs = append(seqs, b.Seq0, b.Seq1)
	}
	rows, err := tx.QueryContext(ctx, selectTimes, projections.JSONList(seqs))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var at int
		var time float64
		if err := rows.Scan(&at, &time); err != nil {
			return err
		}
		if b := &h.Buckets[at/2]; at%2 == 0 {
			b.T0 = time
		} else {
			b.T1 = time
		}
	}
	return rows.Err()
}

// divide counts the events by group.
func (h *Histogram) divide(ctx context.Context, tx *sql.Tx, newest *newest, s section, by By) (err error) {
	switch by {
	case ByAgent:
		var more map[string]int64
		if more, err = newest.agents(ctx, tx); err == nil {
			h.Groups, err = namesOf(ctx, tx, selectAgents, more)
		}
	case ByType:
		h.Groups, err = namesOf(ctx, tx, selectTypes, nil)
	case ByInternal:
		h.Groups = []string{string(ByInternal)}
	}
	if err != nil || len(h.Groups) == 0 {
		return err
	}
	for i := range h.Buckets {
		h.Buckets[i].Counts = make([]int64, len(h.Groups))
	}
	count := func(group int) func(block int64, set []byte) {
		return func(block int64, set []byte) {
			s.spread(block, set, func(bucket int, n int64) { h.Buckets[bucket].Counts[group] += n })
		}
	}
	if by == ByType || by == ByInternal {
		err = h.divideByFacet(ctx, tx, s, by, count)
	} else {
		for i, agent := range h.Groups {
			if err = eachMarkBlock(ctx, tx, newest, mark{agent: agent}, s.from, s.to, count(i)); err != nil {
				break
			}
		}
	}
	if err == nil {
		h.drop()
	}
	return err
}

func (h *Histogram) divideByFacet(ctx context.Context, tx *sql.Tx, s section, by By, count func(group int) func(int64, []byte)) error {
	facets, err := readFacets(ctx, tx)
	if err != nil {
		return err
	}
	for _, f := range facets {
		group := slices.Index(h.Groups, f.typ)
		if by == ByInternal {
			group = 0
		}
		if group < 0 || by == ByInternal && !f.internal {
			continue
		}
		if err := eachFacetBlock(ctx, tx, f.id, s.from, s.to, count(group)); err != nil {
			return err
		}
	}
	return nil
}

func eachFacetBlock(ctx context.Context, tx *sql.Tx, facet, from, to int64, visit func(block int64, set []byte)) error {
	rows, err := tx.QueryContext(ctx, selectBlocks, projections.JSONList([]int64{facet}), blockOf(from), blockOf(to))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var number int64
		var set sql.RawBytes
		if err := rows.Scan(&number, &set); err != nil {
			return err
		}
		visit(number, set)
	}
	return rows.Err()
}

// drop leaves out groups without events in the section, and orders the others by number.
func (h *Histogram) drop() {
	totals := make([]int64, len(h.Groups))
	for _, b := range h.Buckets {
		for i, n := range b.Counts {
			totals[i] += n
		}
	}
	var order []int
	for i, n := range totals {
		if n > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(totals[b], totals[a]) })
	order = order[:min(len(order), maxGroups)]
	names := make([]string, len(order))
	for at, i := range order {
		names[at] = h.Groups[i]
	}
	for i := range h.Buckets {
		counts := make([]int64, len(order))
		for at, from := range order {
			counts[at] = h.Buckets[i].Counts[from]
		}
		h.Buckets[i].Counts = counts
	}
	h.Groups = names
}

// agents counts the events that concern each agent in the newest span of blocks.
func (n *newest) agents(ctx context.Context, tx *sql.Tx) (map[string]int64, error) {
	counts := map[string]int64{}
	for key, p := range n.counts {
		if key.agent != "" && !key.failed {
			counts[key.agent] += p.n
		}
	}
	err := projections.Reading(ctx, tx).Query(selectSpanAgents, []any{spanStart(n.block), n.block}, func(r eventstore.Row) error {
		for _, b := range r.Blob(1) {
			counts[r.Text(0)] += int64(bits.OnesCount8(b))
		}
		return nil
	})
	return counts, err
}

// namesOf returns the names with most events: those that a query counts, and more.
func namesOf(ctx context.Context, tx *sql.Tx, query string, more map[string]int64) ([]string, error) {
	counts := maps.Clone(more)
	if counts == nil {
		counts = map[string]int64{}
	}
	err := projections.Reading(ctx, tx).Query(query, []any{maxNames}, func(r eventstore.Row) error {
		counts[r.Text(0)] += r.Int(1)
		return nil
	})
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	return names[:min(len(names), maxNames)], err
}

// section is a run of seqs in buckets of some width.
type section struct{ from, to, width int64 }

// spread counts the bits of a block by bucket.
func (s section) spread(block int64, set []byte, add func(bucket int, n int64)) {
	first := block * BlockSize
	if last := first + BlockSize - 1; first >= s.from && last <= s.to && s.bucket(first) == s.bucket(last) {
		add(s.bucket(first), countBits(set))
		return
	}
	for _, seq := range appendBits(nil, block, set) {
		if seq >= s.from && seq <= s.to {
			add(s.bucket(seq), 1)
		}
	}
}

func countBits(set []byte) (n int64) {
	for _, b := range set {
		n += int64(bits.OnesCount8(b))
	}
	return n
}

func (s section) bucket(seq int64) int { return int((seq - s.from) / s.width) }
