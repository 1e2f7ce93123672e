package conversations

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
)

// Thread is a thread of a work session for readers.
type Thread struct {
	ID       int64 // seq of its first event
	Key      string
	ParentID string // parentConversationId, or ""

	// From and To are of the thread's first event. If that is not listed, First is the seq of the earliest listed
	// event, and the agents must be read from it; otherwise First is 0.
	From, To string
	First    int64

	Listed Extent // of the listed events

	Open     bool
	Outcome  coordination.Outcome    // "" for a thread without a request
	Reason   string                  // why it is blocked or without reply
	Code     coordination.ReasonCode // of Reason
	Category coordination.Category
	SubTags  []string

	Events []int64 // seqs of the listed events, by time

	stepTime float64
	session  int64
	whole    Extent
}

const conversationKey = "conv:"

// ThreadOf returns the key of a conversation's thread; "" for no conversation.
func ThreadOf(conversationID string) string {
	if conversationID == "" {
		return ""
	}
	return conversationKey + conversationID
}

// ConversationID returns the id of the thread's conversation, or "".
func (t *Thread) ConversationID() string {
	id, ok := strings.CutPrefix(t.Key, conversationKey)
	if !ok {
		return ""
	}
	return id
}

// CROSS JOIN fixes the order of the loops: one range of threads per session.
const selectThreads = `SELECT t.id, t.session_id, t.key, t.parent_id, t.from_agent, t.to_agent, t.start_time, t.last_time, t.event_count,
 t.step_time, t.open, t.outcome, t.reason, t.category, t.votes, t.reason_code
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
	listers := make([]*lister, len(sessions))
	for i := range sessions {
		s := &sessions[i]
		threads := bySession[s.ID]
		s.keepOpen(threads)
		s.troubled = newestFailure(threads, s.Outcome())
		listers[i] = newLister(s, threads)
		listers[i].kinds, listers[i].withEvents = kinds, maxEvents > 0
	}
	if err := listAll(ctx, tx, listers, maxEvents); err != nil {
		return err
	}
	for i := range sessions {
		sessions[i].keepListed(bySession[sessions[i].ID])
	}
	return nil
}

// listAll lists the events of sessions: at once if maxEvents leaves none out, else session after session.
func listAll(ctx context.Context, tx *sql.Tx, listers []*lister, maxEvents int) error {
	events := int64(0)
	for _, l := range listers {
		events += l.session.Listed.Events
	}
	if maxEvents == 0 || events <= int64(maxEvents) {
		return listTogether(ctx, tx, listers, maxEvents)
	}
	stmt, err := tx.PrepareContext(ctx, selectSessionEvents)
	if err != nil {
		return err
	}
	defer stmt.Close()
	left := maxEvents
	for _, l := range listers {
		l.left = left
		if err := l.list(ctx, stmt); err != nil {
			return err
		}
		left = l.left
	}
	return nil
}

// listTogether lists the events of sessions if there is room for all of them, or for none.
func listTogether(ctx context.Context, tx *sql.Tx, listers []*lister, maxEvents int) error {
	of := make(map[int64]*lister, len(listers))
	var ids []int64
	for _, l := range listers {
		if l.left = maxEvents; l.begin() != 0 {
			ids = append(ids, l.session.ID)
			of[l.session.ID] = l
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := tx.QueryContext(ctx, selectEventsOfSessions, projections.JSONList(ids))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var e listedEvent
		var session, kind int64
		if err := rows.Scan(&session, &e.seq, &e.thread, &kind, &e.time); err != nil {
			return err
		}
		of[session].add(e, kind)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, id := range ids {
		of[id].end()
	}
	return nil
}

// keepListed sets the threads that have a listed event, the one with the latest first.
func (s *Session) keepListed(threads []Thread) {
	s.Threads = slices.DeleteFunc(threads, func(t Thread) bool { return t.Listed.Events == 0 })
	slices.SortStableFunc(s.Threads, func(a, b Thread) int {
		return cmp.Or(cmp.Compare(b.Listed.Last, a.Listed.Last), cmp.Compare(a.Listed.Start, b.Listed.Start),
			cmp.Compare(max(a.ID, a.First), max(b.ID, b.First)))
	})
	s.Listed.Threads = int64(len(s.Threads))
}

func readThreads(ctx context.Context, tx *sql.Tx, sessions []int64) (map[int64][]Thread, error) {
	rows, err := tx.QueryContext(ctx, selectThreads, projections.JSONList(sessions))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	threads := map[int64][]Thread{}
	for rows.Next() {
		var t Thread
		var votes string
		err := rows.Scan(&t.ID, &t.session, &t.Key, &t.ParentID, &t.From, &t.To, &t.whole.Start, &t.whole.Last, &t.whole.Events,
			&t.stepTime, &t.Open, &t.Outcome, &t.Reason, &t.Category, &votes, &t.Code)
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

// failure says why a thread is blocked or without reply.
type failure struct {
	reason string
	code   coordination.ReasonCode
}

// newestFailure is of the most recent thread with this outcome, if possible of one with a readable reason.
func newestFailure(threads []Thread, outcome coordination.Outcome) (f failure) {
	var newest float64
	found := false
	for i := range threads {
		t := &threads[i]
		switch {
		case t.Outcome != outcome, found && f.reason != "" && t.Reason == "":
		case !found, f.reason == "" && t.Reason != "", t.stepTime >= newest:
			f, newest, found = failure{t.Reason, t.Code}, t.stepTime, true
		}
	}
	return f
}

// CROSS JOIN fixes the order of the loops: one range of events per session.
const (
	selectSessionEvents    = "SELECT seq, thread_id, kind_id, time FROM session_events WHERE session_id = ? ORDER BY seq DESC LIMIT ?"
	selectEventsOfSessions = `SELECT e.session_id, e.seq, e.thread_id, e.kind_id, e.time FROM json_each(?) j
 CROSS JOIN session_events e ON e.session_id = j.value`
)

// lister determines which events of one session are listed.
type lister struct {
	session    *Session
	kinds      *Kinds
	threads    map[int64]*Thread
	withEvents bool
	left       int  // how many more seqs may be returned
	extending  bool // the extents follow from the events

	events []listedEvent
	first  map[int64]listedEvent // the earliest listed event by thread
}

func newLister(s *Session, threads []Thread) *lister {
	l := &lister{session: s, threads: make(map[int64]*Thread, len(threads)), first: map[int64]listedEvent{}}
	for i := range threads {
		l.threads[threads[i].ID] = &threads[i]
	}
	return l
}

type listedEvent struct {
	seq, thread int64
	time        float64
}

// begin returns how many events are read: if all events of a session are listed, its extents are known and only the
// returned events are read; otherwise all are, which is -1. With 0 nothing is left to do.
func (l *lister) begin() (limit int) {
	if s := l.session; s.Listed.Events == s.Whole.Events {
		for _, t := range l.threads {
			t.Listed = t.whole
		}
		if l.left == 0 {
			s.Truncated = l.withEvents
		}
		return l.left
	}
	l.extending = true
	return -1
}

// list fills in the listed extents and events of the session's threads.
func (l *lister) list(ctx context.Context, stmt *sql.Stmt) error {
	limit := l.begin()
	if limit == 0 {
		return nil
	}
	rows, err := stmt.QueryContext(ctx, l.session.ID, limit)
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
		l.add(e, kind)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	l.end()
	return nil
}

// add lists an event, the newest first unless there is room for all.
func (l *lister) add(e listedEvent, kind int64) {
	t := l.threads[e.thread]
	if t == nil || !l.kinds.all && !l.kinds.listed[kind] {
		return
	}
	if l.extending {
		l.include(t, e)
	}
	if len(l.events) < l.left {
		l.events = append(l.events, e)
	}
}

func (l *lister) end() {
	s := l.session
	l.left -= len(l.events)
	s.Truncated = l.withEvents && int64(len(l.events)) < s.Listed.Events
	l.hand()
}

// include extends a thread's extent to a listed event.
func (l *lister) include(t *Thread, e listedEvent) {
	t.Listed.include(e.time)
	if f, ok := l.first[e.thread]; !ok || cmp.Or(cmp.Compare(e.time, f.time), cmp.Compare(e.seq, f.seq)) < 0 {
		l.first[e.thread] = e
	}
}

// hand gives the threads their events, by time.
func (l *lister) hand() {
	for id, e := range l.first {
		if t := l.threads[id]; t.Listed.Events < t.whole.Events {
			t.First = e.seq
		}
	}
	slices.SortFunc(l.events, func(a, b listedEvent) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.seq, b.seq)) })
	for _, e := range l.events {
		l.threads[e.thread].Events = append(l.threads[e.thread].Events, e.seq)
	}
}

// include extends the extent to one more event.
func (x *Extent) include(time float64) {
	if x.Events == 0 {
		x.Start, x.Last = time, time
	}
	x.Start, x.Last = min(x.Start, time), max(x.Last, time)
	x.Events++
}
