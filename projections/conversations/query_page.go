package conversations

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"

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

// One range for each kind, so that each ends after a page, whatever else the session contains.
const (
	ofKind         = "SELECT seq FROM session_events WHERE session_id = ? AND kind_id = ?"
	ofKindInThread = "SELECT seq FROM session_events WHERE thread_id = ? AND kind_id = ?"
	olderThan      = " AND seq < ? ORDER BY seq DESC LIMIT ?"
	newerThan      = " AND seq > ? ORDER BY seq LIMIT ?"

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

// Read reads a work session without its threads. ok is false if it has no listed event.
func Read(ctx context.Context, tx *sql.Tx, kinds *Kinds, id int64) (s *Session, ok bool, err error) {
	sessions, err := readSessions(ctx, tx, []int64{id})
	if err != nil {
		return nil, false, fmt.Errorf("read work session: %w", err)
	}
	if len(sessions) == 0 || kinds.extent(sessions[0].base, sessions[0].kinds).Events == 0 {
		return nil, false, nil
	}
	if err := loadOpen(ctx, tx, sessions); err != nil {
		return nil, false, fmt.Errorf("read open flows and runs: %w", err)
	}
	s = &sessions[0]
	s.ByRole = kinds.byRole(s.kinds)
	return s, true, nil
}

// Find selects a page of at most limit listed events. Its cost depends on limit and on how many kinds of events the
// session has, not on their number.
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
func (s *Session) find(ctx context.Context, tx *sql.Tx, kinds *Kinds, thread int64, forward bool, from int64, limit int) ([]int64, error) {
	query, of := ofKind, s.ID
	if thread != 0 {
		query, of = ofKindInThread, thread
	}
	side, order := olderThan, func(a, b int64) int { return cmp.Compare(b, a) }
	if forward {
		side, order = newerThan, cmp.Compare[int64]
	}
	stmt, err := tx.PrepareContext(ctx, query+side)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	var found []int64
	for _, k := range s.kinds {
		if !kinds.listed[k.kind] {
			continue
		}
		rows, err := stmt.QueryContext(ctx, of, k.kind, from, limit)
		if err != nil {
			return nil, err
		}
		if found, err = appendSeqs(found, rows); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, order)
	return found[:min(len(found), limit)], nil
}

func appendSeqs(seqs []int64, rows *sql.Rows) ([]int64, error) {
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
