package conversation

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Thread is a thread of a work session as readers see it.
type Thread struct {
	ID       int64 // seq of its first event
	Key      string
	ParentID string // parentConversationId, or ""

	// From and To are of the thread's first event. Where that is not listed, First is the seq of the first that is, by time, and the
	// agents are to be taken from it; else First is 0.
	From, To string
	First    int64

	Listed Extent // of the listed events

	Open     bool
	Outcome  coordination.Outcome // "" for a thread in which nothing was asked
	Reason   string               // why it is blocked or without reply
	Category coordination.Category
	SubTags  []string

	Events []int64 // seqs of the listed events, by time

	stepTime float64
	session  int64
	whole    Extent
}

const conversationKey = "conv:"

// ConversationID is the conversation that the thread is, or "".
func (t *Thread) ConversationID() string {
	id, ok := strings.CutPrefix(t.Key, conversationKey)
	if !ok {
		return ""
	}
	return id
}

// CROSS JOIN fixes the order of the loops: one range of threads per session.
const selectThreads = `SELECT t.id, t.session_id, t.key, t.parent_id, t.from_agent, t.to_agent, t.start_time, t.last_time, t.event_count,
 t.step_time, t.open, t.outcome, t.reason, t.category, t.votes
 FROM json_each(?) j CROSS JOIN threads t ON t.session_id = j.value`

// loadThreads fills in the threads of sessions.
func loadThreads(ctx context.Context, tx *sql.Tx, kinds *Kinds, sessions []Session, maxEvents int) error {
	ids := make([]int64, len(sessions))
	for i := range sessions {
		ids[i] = sessions[i].ID
	}
	bySession, err := readThreads(ctx, tx, ids)
	if err != nil {
		return err
	}
	stmt, err := tx.PrepareContext(ctx, selectSessionEvents)
	if err != nil {
		return err
	}
	defer stmt.Close()
	left := maxEvents
	for i := range sessions {
		s := &sessions[i]
		threads := bySession[s.ID]
		s.keepOpen(threads)
		s.troubled = newestReason(threads, s.Outcome())
		l := lister{session: s, kinds: kinds, threads: map[int64]*Thread{}, withEvents: maxEvents > 0, left: left}
		for j := range threads {
			l.threads[threads[j].ID] = &threads[j]
		}
		if err := l.list(ctx, stmt); err != nil {
			return err
		}
		left = l.left
		s.Threads = slices.DeleteFunc(threads, func(t Thread) bool { return t.Listed.Events == 0 })
		slices.SortStableFunc(s.Threads, func(a, b Thread) int {
			return cmp.Or(cmp.Compare(b.Listed.Last, a.Listed.Last), cmp.Compare(a.Listed.Start, b.Listed.Start),
				cmp.Compare(max(a.ID, a.First), max(b.ID, b.First)))
		})
		s.Listed.Threads = int64(len(s.Threads))
	}
	return nil
}

func readThreads(ctx context.Context, tx *sql.Tx, sessions []int64) (map[int64][]Thread, error) {
	rows, err := tx.QueryContext(ctx, selectThreads, jsonList(sessions))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	threads := map[int64][]Thread{}
	for rows.Next() {
		var t Thread
		var votes string
		err := rows.Scan(&t.ID, &t.session, &t.Key, &t.ParentID, &t.From, &t.To, &t.whole.Start, &t.whole.Last, &t.whole.Events,
			&t.stepTime, &t.Open, &t.Outcome, &t.Reason, &t.Category, &votes)
		if err != nil {
			return nil, err
		}
		verdict, err := readVerdict(votes)
		if err != nil {
			return nil, fmt.Errorf("thread %d: %w", t.ID, err)
		}
		t.SubTags = verdict.SubTags
		threads[t.session] = append(threads[t.session], t)
	}
	return threads, rows.Err()
}

// newestReason is why the thread with this outcome that last moved stands as it does; threads that do not say are passed over.
func newestReason(threads []Thread, outcome coordination.Outcome) (reason string) {
	var newest float64
	for i := range threads {
		if t := &threads[i]; t.Outcome == outcome && t.Reason != "" && (reason == "" || t.stepTime >= newest) {
			reason, newest = t.Reason, t.stepTime
		}
	}
	return reason
}

const selectSessionEvents = "SELECT seq, thread_id, kind_id, time FROM session_events WHERE session_id = ? ORDER BY seq DESC LIMIT ?"

// lister finds out which events of one session are listed.
type lister struct {
	session    *Session
	kinds      *Kinds
	threads    map[int64]*Thread
	withEvents bool
	left       int // how many events may still be named

	events []listedEvent
}

type listedEvent struct {
	seq, thread int64
	time        float64
}

// list fills in the listed extents and events of the session's threads. Of a session of which everything is listed the extents are
// known, so only the events that are shown are read; of another one all.
func (l *lister) list(ctx context.Context, stmt *sql.Stmt) error {
	s := l.session
	limit := -1
	if s.Listed.Events == s.Whole.Events {
		for _, t := range l.threads {
			t.Listed = t.whole
		}
		if limit = l.left; limit == 0 {
			s.Truncated = l.withEvents
			return nil
		}
	}
	first := map[int64]listedEvent{}
	rows, err := stmt.QueryContext(ctx, s.ID, limit)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var e listedEvent
		var kind int64
		if err := rows.Scan(&e.seq, &e.thread, &kind, &e.time); err != nil {
			return err
		}
		t := l.threads[e.thread]
		if t == nil || !l.kinds.all && !l.kinds.listed[kind] {
			continue
		}
		if limit < 0 {
			t.Listed.include(e.time)
			if f, ok := first[e.thread]; !ok || e.time <= f.time {
				first[e.thread] = e
			}
		}
		if len(l.events) < l.left {
			l.events = append(l.events, e)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for id, e := range first {
		if t := l.threads[id]; t.Listed.Events < t.whole.Events {
			t.First = e.seq
		}
	}
	l.left -= len(l.events)
	s.Truncated = l.withEvents && int64(len(l.events)) < s.Listed.Events
	slices.SortFunc(l.events, func(a, b listedEvent) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.seq, b.seq)) })
	for _, e := range l.events {
		l.threads[e.thread].Events = append(l.threads[e.thread].Events, e.seq)
	}
	return nil
}

// include makes the extent reach to one more event.
func (x *Extent) include(time float64) {
	if x.Events == 0 {
		x.Start, x.Last = time, time
	}
	x.Start, x.Last = min(x.Start, time), max(x.Last, time)
	x.Events++
}
