package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// CROSS JOIN fixes the order of the loops: the blocks of the mark, one look-up per facet in each; the events of the sessions, one look-up
// per event.
const (
	selectMarkFacets = `SELECT facet_id, n, first_seq FROM mark_facets WHERE agent = ? AND failed = ?`
	selectMarked     = `SELECT m.block, m.bits, b.bits FROM mark_blocks m CROSS JOIN json_each(?) j
 CROSS JOIN facet_blocks b ON b.facet_id = j.value AND b.block = m.block
 WHERE m.agent = ? AND m.failed = ? AND m.block >= ? AND m.block <= ?`
	selectSpan = `SELECT m.block, b.facet_id, m.bits, b.bits FROM mark_blocks m CROSS JOIN facet_blocks b ON b.block = m.block
 WHERE m.agent = ? AND m.failed = ? AND m.block >= ? AND m.block < ? ORDER BY m.block`
	selectMarkBits = `SELECT m.block, m.bits FROM mark_blocks m WHERE m.agent = ? AND m.failed = ? AND m.block >= ? AND m.block <= ?`
	selectOfNames  = `SELECT e.seq, i.facet_id FROM json_each(?) j CROSS JOIN work_sessions s ON s.name = j.value
 CROSS JOIN session_events e ON e.session_id = s.id CROSS JOIN event_index i ON i.seq = e.seq`
)

// countMarked counts the events with a mark by facet: those that mark_facets has, those of the span of blocks after them, and those of the
// newest block.
func countMarked(ctx context.Context, tx *sql.Tx, newest *newest, m mark) (map[int64]part, error) {
	found := map[int64]part{}
	add := func(facet, n, floor int64) {
		p, known := found[facet]
		if !known {
			p.floor = floor
		}
		p.n += n
		found[facet] = p
	}
	reading := projections.Reading(ctx, tx)
	err := reading.Query(selectMarkFacets, []any{m.agent, m.failed}, func(r eventstore.Row) error {
		add(r.Int(0), r.Int(1), r.Int(2))
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = reading.Query(selectSpan, []any{m.agent, m.failed, spanStart(newest.block), newest.block}, func(r eventstore.Row) error {
		if seqs := common(r.Int(0), r.Blob(2), r.Blob(3)); len(seqs) > 0 {
			add(r.Int(1), int64(len(seqs)), seqs[0])
		}
		return nil
	})
	for key, more := range newest.counts {
		if key.mark == m {
			add(key.facet, more.n, more.floor)
		}
	}
	return found, err
}

// markedBetween returns the seqs of the matching facets with the filter's mark in a run of blocks, ascending.
func (s *Selection) markedBetween(ctx context.Context, tx *sql.Tx, from, to int64) ([]int64, error) {
	var seqs []int64
	m, facets, reading := s.filter.mark(), projections.JSONList(s.facets), projections.Reading(ctx, tx)
	err := reading.Query(selectMarked, []any{facets, m.agent, m.failed, from, to}, func(r eventstore.Row) error {
		seqs = append(seqs, common(r.Int(0), r.Blob(1), r.Blob(2))...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if set, is := s.newest.within(m, from, to); is {
		err = reading.Query(selectBlocks, []any{facets, s.newest.block, s.newest.block}, func(r eventstore.Row) error {
			seqs = append(seqs, common(r.Int(0), set, r.Blob(1))...)
			return nil
		})
	}
	slices.Sort(seqs)
	return seqs, err
}

// countSessions counts the events of the filter's work sessions, with its mark, by facet, and keeps the seqs of those that match.
func (s *Selection) countSessions(ctx context.Context, tx *sql.Tx, facets []facet) (map[int64]part, error) {
	names, err := json.Marshal(s.filter.Sessions)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, selectOfNames, string(names))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	type event struct{ seq, facet int64 }
	var events []event
	for rows.Next() {
		var e event
		if err := rows.Scan(&e.seq, &e.facet); err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	if err := rows.Err(); err != nil || len(events) == 0 {
		return nil, err
	}
	slices.SortFunc(events, func(a, b event) int { return int(a.seq - b.seq) })
	events = slices.Compact(events) // a session that is named twice
	if s.filter.marked() {
		marked, err := s.markedSeqs(ctx, tx, events[0].seq, events[len(events)-1].seq)
		if err != nil {
			return nil, err
		}
		events = slices.DeleteFunc(events, func(e event) bool {
			_, is := slices.BinarySearch(marked, e.seq)
			return !is
		})
	}
	matching := map[int64]bool{}
	for i := range facets {
		matching[facets[i].id] = s.filter.matches(&facets[i])
	}
	found := map[int64]part{}
	for _, e := range events {
		p, known := found[e.facet]
		if !known {
			p.floor = e.seq
		}
		p.n++
		found[e.facet] = p
		if matching[e.facet] {
			s.seqs = append(s.seqs, e.seq)
		}
	}
	return found, nil
}

// markedSeqs lists the seqs with the filter's mark, from one seq to another at least, ascending.
func (s *Selection) markedSeqs(ctx context.Context, tx *sql.Tx, from, to int64) (seqs []int64, err error) {
	err = eachMarkBlock(ctx, tx, s.newest, s.filter.mark(), from, to, func(block int64, set []byte) { seqs = appendBits(seqs, block, set) })
	slices.Sort(seqs)
	return seqs, err
}

// eachMarkBlock visits the blocks with a mark that contain the seqs from one to another.
func eachMarkBlock(ctx context.Context, tx *sql.Tx, newest *newest, m mark, from, to int64, visit func(block int64, set []byte)) error {
	err := projections.Reading(ctx, tx).Query(selectMarkBits, []any{m.agent, m.failed, blockOf(from), blockOf(to)}, func(r eventstore.Row) error {
		visit(r.Int(0), r.Blob(1))
		return nil
	})
	if err != nil {
		return err
	}
	if set, is := newest.within(m, blockOf(from), blockOf(to)); is {
		visit(newest.block, set)
	}
	return nil
}

// matches reports whether the events of a facet pass the filter, apart from time, marks and sessions.
func (f *Filter) matches(of *facet) bool {
	return (f.Internal || !of.internal) && allows(f.Roles, of.role) && f.allowsType(of.typ) && allows(f.Categories, of.category)
}
