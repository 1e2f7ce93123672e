package conversation

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
)

// Extent is how far a number of events reaches. Times are ms since 1970.
type Extent struct {
	Start, Last float64
	Events      int64
	Threads     int64
}

// Session is a work session as readers see it.
type Session struct {
	ID   int64  // seq of its first event
	Name string // workSessionId

	Listed Extent // of the listed events
	Whole  Extent // of all events, as everything below but Threads is

	LatestSeq      int64 // the latest event by time
	LatestTerminal bool
	MessageSeq     int64                       // the latest event that says something; 0: none does
	ByRole         map[coordination.Role]int64 // of the events that are listed where no role and no type is asked for
	OpenThreads    int64                       // conversations and child runs without an end
	OpenTasks      int64                       // tasks in progress
	BlockedTasks   int64
	OpenFlows      int64                          // messages to other agents, and delegations, that are not over
	OpenRuns       int64                          // of agents, likewise
	ByOutcome      map[coordination.Outcome]int64 // threads

	Category coordination.Category // the operator's, or else the vote's
	Vote     Verdict
	Override *Override // nil: the vote decides

	Title          string
	Task           string // how its first task is described, where no event has given it a title by that; ""
	Participants   []Participant
	Previous, Next string // work sessions, or ""

	Threads   []Thread // with a listed event; the one with the latest listed event first
	Truncated bool     // some listed events are left out of Threads

	talking     map[string]coordination.Outcome // how the conversations stand in which a flow is open
	troubled    string                          // why the thread with the session's outcome that last moved stands as it does
	blockedTask string                          // why the task that was blocked last is
	kinds       []kindCount
	base        float64
}

// Status says how alive the session is at a time in ms.
func (s *Session) Status(now float64) coordination.Status {
	return coordination.SessionStatus(now, s.Whole.Last, s.LatestTerminal, s.OpenThreads > 0 || s.OpenTasks > 0 || s.busy())
}

// busy reports whether an agent works for the session, or is going to.
func (s *Session) busy() bool { return s.OpenFlows > 0 || s.OpenRuns > 0 }

// Outcome says how the session stands. The worst of its threads and tasks decides; where they say nothing, its latest event does.
func (s *Session) Outcome() coordination.Outcome {
	switch {
	case s.ByOutcome[coordination.OutcomeBlocked] > 0 || s.BlockedTasks > 0:
		return coordination.OutcomeBlocked
	case s.ByOutcome[coordination.OutcomeNoReply] > 0:
		return coordination.OutcomeNoReply
	case s.ByOutcome[coordination.OutcomeWaiting] > 0:
		return coordination.OutcomeWaiting
	case s.ByOutcome[coordination.OutcomeActive] > 0 || s.OpenTasks > 0 || s.busy():
		return coordination.OutcomeActive
	case s.ByOutcome[coordination.OutcomeDone] > 0 || s.LatestTerminal:
		return coordination.OutcomeDone
	}
	return coordination.OutcomeActive
}

// Reason says why the session is blocked or without reply: of what went wrong last. It is "" for other sessions, and where
// nothing says why.
func (s *Session) Reason() string {
	outcome := s.Outcome()
	if outcome != coordination.OutcomeBlocked && outcome != coordination.OutcomeNoReply {
		return ""
	}
	if s.ByOutcome[outcome] > 0 && s.troubled != "" {
		return s.troubled
	}
	return s.blockedTask
}

const selectByName = "SELECT id FROM work_sessions WHERE name = ?"

// ByName finds a work session by its workSessionId.
func ByName(ctx context.Context, tx *sql.Tx, name string) (id int64, ok bool, err error) {
	err = tx.QueryRowContext(ctx, selectByName, name).Scan(&id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("find work session: %w", err)
	}
	return id, true, nil
}

// taskOfSession is how the first task of session w, with profile p, is described: "" where an event has titled the session by a task. Its
// parameter is coordination.TitleOfTask.
const taskOfSession = `CASE WHEN coalesce(p.title_rank, 0) > ? THEN coalesce((SELECT substr(d.description, 1, 2048)
  FROM session_tasks k CROSS JOIN tasks d ON d.name = k.task_id WHERE k.session_id = w.id ORDER BY k.id LIMIT 1), '') ELSE '' END`

// CROSS JOIN fixes the order of the loops: a few look-ups per session.
const selectSessions = `SELECT w.id, w.name, w.base_time, w.start_time, w.last_time, w.latest_seq, w.latest_terminal, w.message_seq,
 w.event_count, w.thread_count, w.open_threads, w.open_tasks,
 w.blocked_tasks, w.waiting_n, w.active_n, w.blocked_n, w.no_reply_n, w.done_n, w.category, w.votes, w.kinds,
 coalesce(p.title, ''), ` + taskOfSession + `,
 coalesce(p.participants, '[]'), coalesce(p.previous, ''),
 coalesce((SELECT n.name FROM session_profiles f CROSS JOIN work_sessions n ON n.id = f.id
  WHERE f.previous = w.name AND f.previous <> '' ORDER BY f.id DESC LIMIT 1), ''),
 coalesce((SELECT t.reason FROM session_tasks t WHERE t.session_id = w.id AND t.state = 'blocked'
  ORDER BY t.time DESC, t.seq DESC LIMIT 1), ''),
 coalesce(o.category, ''), coalesce(o.updated_at, ''), coalesce(o.updated_by, ''), coalesce(o.seq, 0), coalesce(o.recorded_at, 0)
 FROM json_each(?) j CROSS JOIN work_sessions w ON w.id = j.value LEFT JOIN session_profiles p ON p.id = w.id
 LEFT JOIN category_overrides o ON o.name = w.name`

// Load reads work sessions with their threads, in the order of ids. maxEvents bounds the seqs in all threads together, the sessions
// that come first and in each the newest events before the others; 0 leaves them out. A session of which no event is listed is left out.
func Load(ctx context.Context, tx *sql.Tx, kinds *Kinds, ids []int64, maxEvents int) ([]Session, error) {
	sessions, err := readSessions(ctx, tx, ids)
	if err != nil {
		return nil, fmt.Errorf("read work sessions: %w", err)
	}
	listed := sessions[:0]
	for _, s := range sessions {
		s.Listed, s.ByRole = kinds.extent(s.base, s.kinds), kinds.byRole(s.kinds)
		if s.Listed.Events == s.Whole.Events {
			s.Listed = s.Whole // to the last fraction of a millisecond
		}
		if s.Listed.Events > 0 {
			listed = append(listed, s)
		}
	}
	if err := loadOpen(ctx, tx, listed); err != nil {
		return nil, fmt.Errorf("read what is open: %w", err)
	}
	if err := loadThreads(ctx, tx, kinds, listed, maxEvents); err != nil {
		return nil, fmt.Errorf("read threads: %w", err)
	}
	return listed, nil
}

// extent is how far the listed ones of a session's events reach. Its Threads are not known.
func (k *Kinds) extent(base float64, held []kindCount) (x Extent) {
	for _, h := range held {
		if !k.all && !k.listed[h.kind] {
			continue
		}
		if x.Events == 0 {
			x.Start, x.Last = base+h.first, base+h.last
		}
		x.Start, x.Last = min(x.Start, base+h.first), max(x.Last, base+h.last)
		x.Events += h.n
	}
	return x
}

func readSessions(ctx context.Context, tx *sql.Tx, ids []int64) ([]Session, error) {
	rows, err := tx.QueryContext(ctx, selectSessions, coordination.TitleOfTask, jsonList(ids))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	sessions := make([]Session, 0, len(ids))
	for rows.Next() {
		s, err := scanReadSession(rows)
		if err != nil {
			return nil, err
		}
		sessions = append(sessions, s)
	}
	return sessions, rows.Err()
}

func scanReadSession(rows *sql.Rows) (s Session, err error) {
	var votes, kinds, participants string
	var o Override
	var byOutcome [len(outcomes)]int64
	err = rows.Scan(&s.ID, &s.Name, &s.base, &s.Whole.Start, &s.Whole.Last, &s.LatestSeq, &s.LatestTerminal, &s.MessageSeq,
		&s.Whole.Events, &s.Whole.Threads, &s.OpenThreads, &s.OpenTasks,
		&s.BlockedTasks, &byOutcome[0], &byOutcome[1], &byOutcome[2], &byOutcome[3], &byOutcome[4], &s.Category, &votes, &kinds,
		&s.Title, &s.Task, &participants, &s.Previous, &s.Next, &s.blockedTask, &o.Category, &o.UpdatedAt, &o.UpdatedBy, &o.Seq, &o.RecordedAt)
	if err != nil {
		return s, err
	}
	s.ByOutcome = map[coordination.Outcome]int64{}
	for i, outcome := range outcomes {
		s.ByOutcome[outcome] = byOutcome[i]
	}
	if o.Category != "" {
		o.Name = s.Name
		s.Override = &o
	}
	if s.Vote, err = readVerdict(votes); err != nil {
		return s, fmt.Errorf("session %d: %w", s.ID, err)
	}
	if s.kinds, err = parseKinds(kinds); err != nil {
		return s, fmt.Errorf("kinds of session %d: %w", s.ID, err)
	}
	if err := json.Unmarshal([]byte(participants), &s.Participants); err != nil {
		return s, fmt.Errorf("participants of session %d: %w", s.ID, err)
	}
	return s, nil
}
