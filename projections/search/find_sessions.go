package search

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/pronto-lab/openclawd/projections"
)

// SessionHit is a work session with hits.
type SessionHit struct {
	Name  string  // workSessionId
	Count int64   // number of events found in it
	Seqs  []int64 // the newest of them, newest first
}

// SessionHits are work sessions that a query found.
type SessionHits struct {
	Sessions []SessionHit // a page of them, the one with the newest hit first
	Total    int64        // number of all
	Exact    bool         // false: there may be more than Total
}

// Bounds of SessionHit.Seqs: for one session, and for a whole page in addition to the newest of each.
const (
	maxSessionSeqs = 20
	maxPageSeqs    = 1_000
)

const (
	selectSessionSeqs = "SELECT texts.rowid, d.session" + inTime + " ORDER BY texts.rowid DESC"
	selectSessionName = "SELECT name FROM sessions WHERE id = ?"
	countSessionHits  = "SELECT d.session, count(*)" + inTime + " GROUP BY d.session"
)

// FindSessions returns the work sessions with an event that the query finds. Relevance is ignored.
//
// It walks through the hits, newest first, until the page is full and CountUpTo of them are read. The total then
// contains only the sessions found so far; the counts of those on the page are exact.
func FindSessions(ctx context.Context, tx *sql.Tx, q Query) (SessionHits, error) {
	w := sessionWalk{query: q, places: map[int64]int{}, spare: maxPageSeqs}
	if err := w.walk(ctx, tx); err != nil {
		return SessionHits{}, fmt.Errorf("search work sessions: %w", err)
	}
	for i := range w.page {
		if err := tx.QueryRowContext(ctx, selectSessionName, w.ids[i]).Scan(&w.page[i].Name); err != nil {
			return SessionHits{}, fmt.Errorf("read the name of work session %d: %w", w.ids[i], err)
		}
	}
	if w.cut && len(w.page) > 0 {
		if err := w.recount(ctx, tx); err != nil {
			return SessionHits{}, fmt.Errorf("count hits of work sessions: %w", err)
		}
	}
	return SessionHits{w.page, int64(len(w.places)), !w.cut}, nil
}

// sessionWalk collects the sessions of hits.
type sessionWalk struct {
	query  Query
	places map[int64]int // found so far, by id, in the order of their newest hits
	page   []SessionHit
	ids    []int64 // of the sessions on the page
	spare  int     // seqs that the page may still contain in addition to the newest of each
	cut    bool    // some hits were not read
}

func (w *sessionWalk) walk(ctx context.Context, tx *sql.Tx) error {
	q := &w.query
	w.page = []SessionHit{}
	args, err := q.within(ctx, tx)
	if err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, selectSessionSeqs, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for seen := 0; rows.Next(); seen++ {
		if w.cut = q.CountUpTo > 0 && seen >= q.CountUpTo && len(w.places) > q.Offset+q.Limit; w.cut {
			break
		}
		var seq, session int64
		if err := rows.Scan(&seq, &session); err != nil {
			return err
		}
		if session != 0 {
			w.add(seq, session)
		}
	}
	return rows.Err()
}

// add adds the next hit.
func (w *sessionWalk) add(seq, session int64) {
	place, known := w.places[session]
	if !known {
		place = len(w.places)
		w.places[session] = place
	}
	at := place - w.query.Offset
	if at < 0 || at >= w.query.Limit {
		return
	}
	if !known {
		w.ids = append(w.ids, session)
		w.page = append(w.page, SessionHit{Count: 1, Seqs: []int64{seq}})
		return
	}
	hit := &w.page[at]
	hit.Count++
	if len(hit.Seqs) < maxSessionSeqs && w.spare > 0 {
		hit.Seqs = append(hit.Seqs, seq)
		w.spare--
	}
}

// recount counts all hits of the sessions on the page.
func (w *sessionWalk) recount(ctx context.Context, tx *sql.Tx) error {
	page := w.query
	page.Sessions = make([]string, len(w.page))
	for i := range w.page {
		page.Sessions[i] = w.page[i].Name
	}
	args, err := page.within(ctx, tx)
	if err != nil {
		return err
	}
	return projections.EachRow(ctx, tx, "count hits", countSessionHits, args, func(rows *sql.Rows) error {
		var session, count int64
		if err := rows.Scan(&session, &count); err != nil {
			return err
		}
		w.page[w.places[session]-w.query.Offset].Count = count
		return nil
	})
}
