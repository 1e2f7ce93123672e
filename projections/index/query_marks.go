package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
)

// CROSS JOIN fixes the order of the loops: the blocks of the mark, one look-up per facet in each; the events of the sessions, one look-up
// per event.
const (
	selectMarkFacets = `SELECT facet_id, n, first_seq FROM mark_facets WHERE agent = ? AND failed = ?`
	selectMarked     = `SELECT m.block, m.bits, b.bits FROM mark_blocks m CROSS JOIN json_each(?) j
 CROSS JOIN facet_blocks b ON b.facet_id = j.value AND b.block = m.block
 WHERE m.agent = ? AND m.failed = ? AND m.block >= ? AND m.block <= ?`
	selectMarkBits = `SELECT m.block, m.bits FROM mark_blocks m WHERE m.agent = ? AND m.failed = ? AND m.block >= ? AND m.block <= ?`
	selectOfNames  = `SELECT e.seq, i.facet_id FROM json_each(?) j CROSS JOIN work_sessions s ON s.name = j.value
 CROSS JOIN session_events e ON e.session_id = s.id CROSS JOIN event_index i ON i.seq = e.seq`
)

// countMarked counts the events with a mark by facet.
func countMarked(ctx context.Context, tx *sql.Tx, m mark) (map[int64]part, error) {
	rows, err := tx.QueryContext(ctx, selectMarkFacets, m.agent, m.failed)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[int64]part{}
	for rows.Next() {
		var facet int64
		var p part
		if err := rows.Scan(&facet, &p.n, &p.floor); err != nil {
			return nil, err
		}
		found[facet] = p
	}
	return found, rows.Err()
}

// markedBetween returns the seqs of the matching facets with the filter's mark in a run of blocks, ascending.
func (s *Selection) markedBetween(ctx context.Context, tx *sql.Tx, from, to int64) ([]int64, error) {
	rows, err := tx.QueryContext(ctx, selectMarked, jsonIDs(s.facets), s.filter.Agent, s.filter.Failed, from, to)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var seqs []int64
	for rows.Next() {
		var number int64
		var marked, set sql.RawBytes
		if err := rows.Scan(&number, &marked, &set); err != nil {
			return nil, err
		}
		both := slices.Clone([]byte(set))
		for i := range both {
			both[i] &= marked[i]
		}
		seqs = appendBits(seqs, number, both)
	}
	slices.Sort(seqs)
	return seqs, rows.Err()
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
		marked, err := s.filter.markedSeqs(ctx, tx, events[0].seq, events[len(events)-1].seq)
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
func (f *Filter) markedSeqs(ctx context.Context, tx *sql.Tx, from, to int64) (seqs []int64, err error) {
	err = eachMarkBlock(ctx, tx, f.mark(), from, to, func(block int64, set []byte) { seqs = appendBits(seqs, block, set) })
	slices.Sort(seqs)
	return seqs, err
}

func eachMarkBlock(ctx context.Context, tx *sql.Tx, m mark, from, to int64, visit func(block int64, set []byte)) error {
	rows, err := tx.QueryContext(ctx, selectMarkBits, m.agent, m.failed, blockOf(from), blockOf(to))
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

// matches reports whether the events of a facet pass the filter, apart from time, marks and sessions.
func (f *Filter) matches(of *facet) bool {
	return (f.Internal || !of.internal) && allows(f.Roles, of.role) && f.allowsType(of.typ) && allows(f.Categories, of.category)
}
