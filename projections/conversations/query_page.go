package conversations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Range is where a page of the listed events of a work session is read.
type Range struct {
	Thread int64  // 0: all threads; an unknown one has no events
	Before int64  // the newest events before this seq; math.MaxInt64: the newest of all
	After  *int64 // the oldest events after this seq instead
}

// Page is a page of events: those first that must not be missing.
type Page struct {
	Seqs []int64
	More bool // others follow in the same direction
	Back bool // others are on the side from which the page is read
}

const (
	// The rows are narrow, some hundred in a page of the file, so that skipping others is cheaper than an index that every event would pay for.
	selectOlder = `SELECT seq FROM session_events WHERE session_id = ?1 AND seq < ?2 AND kind_id IN (SELECT j.value FROM json_each(?3) j)
  AND (?4 = 0 OR thread_id = ?4) ORDER BY seq DESC LIMIT ?5`
	selectNewer = `SELECT seq FROM session_events WHERE session_id = ?1 AND seq > ?2 AND kind_id IN (SELECT j.value FROM json_each(?3) j)
  AND (?4 = 0 OR thread_id = ?4) ORDER BY seq LIMIT ?5`

	// CROSS JOIN fixes the order of the loops: one look-up for each event of the page.
	selectPage   = "SELECT e.seq, e.thread_id, e.time FROM json_each(?) j CROSS JOIN session_events e ON e.session_id = ? AND e.seq = j.value"
	selectThread = "SELECT id FROM threads WHERE session_id = ? AND key = ?"
)

// ThreadByName finds a thread of a work session by its key, or by the id of its conversation.
func ThreadByName(ctx context.Context, tx *sql.Tx, session int64, name string) (id int64, ok bool, err error) {
	for _, key := range []string{name, ThreadOf(name)} {
		if err = tx.QueryRowContext(ctx, selectThread, session, key).Scan(&id); !errors.Is(err, sql.ErrNoRows) {
			break
		}
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("find thread: %w", err)
	}
	return id, true, nil
}

// Read reads a work session without its threads. ok is false if it has no event that would be listed without a filter
// on role or type.
func Read(ctx context.Context, tx *sql.Tx, kinds *Kinds, id int64) (s *Session, ok bool, err error) {
	sessions, err := readSessions(ctx, tx, []int64{id})
	if err != nil {
		return nil, false, fmt.Errorf("read work session: %w", err)
	}
	if len(sessions) == 0 || !slices.ContainsFunc(sessions[0].kinds, kinds.shown) {
		return nil, false, nil
	}
	if err := loadOpen(ctx, tx, sessions); err != nil {
		return nil, false, fmt.Errorf("read open flows and runs: %w", err)
	}
	s = &sessions[0]
	s.ByRole = kinds.byRole(s.kinds)
	return s, true, nil
}

// Find selects a page of at most limit listed events. It passes over the session's other events on the way.
func (s *Session) Find(ctx context.Context, tx *sql.Tx, kinds *Kinds, r Range, limit int) (f Page, err error) {
	from, forward, opposite := r.Before, false, r.Before-1
	if r.After != nil {
		from, forward, opposite = *r.After, true, min(*r.After, math.MaxInt64-1)+1
	}
	if f.Seqs, err = s.find(ctx, tx, kinds, r.Thread, forward, from, limit+1); err != nil {
		return f, fmt.Errorf("find a page of events: %w", err)
	}
	if f.More = len(f.Seqs) > limit; f.More {
		f.Seqs = f.Seqs[:limit]
	}
	beside, err := s.find(ctx, tx, kinds, r.Thread, !forward, opposite, 1)
	if err != nil {
		return f, fmt.Errorf("find events beside a page: %w", err)
	}
	f.Back = len(beside) > 0
	return f, nil
}

// find returns the nearest seqs before or after one.
func (s *Session) find(ctx context.Context, tx *sql.Tx, kinds *Kinds, thread int64, forward bool, from int64, limit int) (seqs []int64, err error) {
	var listed []int64
	for _, k := range s.kinds {
		if kinds.listed[k.kind] {
			listed = append(listed, k.kind)
		}
	}
	query := selectOlder
	if forward {
		query = selectNewer
	}
	err = projections.Reading(ctx, tx).Query(query, []any{s.ID, from, projections.JSONList(listed), thread, limit}, func(r eventstore.Row) error {
		seqs = append(seqs, r.Int(0))
		return nil
	})
	return seqs, err
}

// Show makes the events of a page the listed ones, and fills in their threads.
func (s *Session) Show(ctx context.Context, tx *sql.Tx, seqs []int64) error {
	bySession, err := readThreads(ctx, tx, []int64{s.ID})
	if err != nil {
		return fmt.Errorf("read threads: %w", err)
	}
	threads := bySession[s.ID]
	s.keepOpen(threads)
	s.troubled = newestFailure(threads, s.Outcome())
	l := newLister(s, threads)
	rows, err := tx.QueryContext(ctx, selectPage, projections.JSONList(seqs), s.ID)
	if err != nil {
		return fmt.Errorf("read a page of events: %w", err)
	}
	defer rows.Close()
	s.Listed = Extent{}
	for rows.Next() {
		var e listedEvent
		if err := rows.Scan(&e.seq, &e.thread, &e.time); err != nil {
			return fmt.Errorf("read a page of events: %w", err)
		}
		if t := l.threads[e.thread]; t != nil {
			s.Listed.include(e.time)
			l.include(t, e)
			l.events = append(l.events, e)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read a page of events: %w", err)
	}
	l.hand()
	s.keepListed(threads)
	return nil
}
