package search

import (
	"context"
	"database/sql"
	"fmt"
	"math"
)

// SessionHit is a work session in which events were found.
type SessionHit struct {
	Name  string  // workSessionId
	Count int64   // events found in it
	Seqs  []int64 // the newest of them, the newest first
}

// SessionHits are work sessions that a query found.
type SessionHits struct {
	Sessions []SessionHit // a page of them, the one with the newest hit first
	Total    int64        // all of them
}

// Bounds of SessionHit.Seqs: for one session, and for all of a page beyond the newest of each.
const (
	maxSessionSeqs = 20
	maxPageSeqs    = 1_000
)

const (
	// The window counts the groups before the page is cut out of them.
	selectSessions = `SELECT s.name, g.n, g.newest, g.total FROM (
  SELECT d.session AS id, count(*) AS n, max(d.seq) AS newest, count(*) OVER () AS total
   FROM texts CROSS JOIN docs d ON d.seq = texts.rowid
   WHERE texts MATCH ? AND d.session <> 0 AND d.time >= ? AND d.time <= ?
   GROUP BY d.session ORDER BY newest DESC LIMIT ? OFFSET ?) g CROSS JOIN sessions s ON s.id = g.id ORDER BY g.newest DESC`
	countSessions = `SELECT count(DISTINCT d.session) FROM texts CROSS JOIN docs d ON d.seq = texts.rowid
 WHERE texts MATCH ? AND d.session <> 0 AND d.time >= ? AND d.time <= ?`
	selectSessionSeqs = `SELECT s.name, texts.rowid FROM texts CROSS JOIN docs d ON d.seq = texts.rowid CROSS JOIN sessions s ON s.id = d.session
 WHERE texts MATCH ? AND d.time >= ? AND d.time <= ? ORDER BY texts.rowid DESC LIMIT ?`
)

// FindSessions finds the work sessions with an event that the query finds. Its Relevance has no meaning here.
func FindSessions(ctx context.Context, tx *sql.Tx, q Query) (h SessionHits, err error) {
	match := q.match()
	rows, err := tx.QueryContext(ctx, selectSessions, match, q.since(), q.until(), q.Limit, q.Offset)
	if err != nil {
		return h, fmt.Errorf("search work sessions: %w", err)
	}
	defer rows.Close()
	h.Sessions = []SessionHit{}
	for rows.Next() {
		s := SessionHit{Seqs: make([]int64, 1)}
		if err := rows.Scan(&s.Name, &s.Count, &s.Seqs[0], &h.Total); err != nil {
			return h, fmt.Errorf("search work sessions: %w", err)
		}
		h.Sessions = append(h.Sessions, s)
	}
	if err := rows.Err(); err != nil {
		return h, fmt.Errorf("search work sessions: %w", err)
	}
	if len(h.Sessions) == 0 {
		if q.Offset > 0 {
			err = tx.QueryRowContext(ctx, countSessions, match, q.since(), q.until()).Scan(&h.Total)
		}
		return h, err
	}
	return h, q.fillSeqs(ctx, tx, h.Sessions)
}

// fillSeqs adds further hits to those of each session that are the newest.
func (q *Query) fillSeqs(ctx context.Context, tx *sql.Tx, sessions []SessionHit) error {
	byName := make(map[string]*SessionHit, len(sessions))
	within := *q
	within.Sessions = make([]string, len(sessions))
	for i := range sessions {
		byName[sessions[i].Name] = &sessions[i]
		within.Sessions[i] = sessions[i].Name
	}
	rows, err := tx.QueryContext(ctx, selectSessionSeqs, within.match(), q.since(), q.until(), maxPageSeqs)
	if err != nil {
		return fmt.Errorf("read hits of work sessions: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var seq int64
		if err := rows.Scan(&name, &seq); err != nil {
			return fmt.Errorf("read hits of work sessions: %w", err)
		}
		if s := byName[name]; s != nil && seq < s.Seqs[0] && len(s.Seqs) < maxSessionSeqs {
			s.Seqs = append(s.Seqs, seq)
		}
	}
	return rows.Err()
}

func (q *Query) since() float64 {
	if q.Since == nil {
		return math.Inf(-1)
	}
	return *q.Since
}

func (q *Query) until() float64 {
	if q.Until == nil {
		return math.Inf(1)
	}
	return *q.Until
}
