package conversations

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
)

// Extent is the number and time range of some events. Times are ms since 1970.
type Extent struct {
	Start, Last float64
	Events      int64
	Threads     int64
}

// Session is a work session for readers.
type Session struct {
	ID   int64  // seq of its first event
	Name string // workSessionId

	Listed Extent // of the listed events
	Whole  Extent // of all events, as everything below but Threads is

	LatestSeq      int64 // the latest event by time
	LatestTerminal bool
	MessageSeq     int64                       // the latest event with content; 0 if none
	ByRole         map[coordination.Role]int64 // of the events listed without a filter on role or type
	OpenThreads    int64                       // unfinished conversations and child runs
	OpenTasks      int64                       // tasks in progress
	BlockedTasks   int64
	OpenFlows      int64                          // open messages to other agents and delegations
	OpenRuns       int64                          // of agents, likewise
	ByOutcome      map[coordination.Outcome]int64 // number of threads

	Category coordination.Category // the operator's choice, otherwise the vote's
	Vote     Verdict
	Override *Override // nil: the vote decides

	Title          string
	Task           string // description of its first task, if an event has set the title to that task; ""
	Participants   []Participant
	Previous, Next string // work sessions, or ""

	Threads   []Thread // threads with a listed event; the one with the latest listed event first
	Truncated bool     // Threads does not contain all listed events

	talking     map[string]coordination.Outcome // outcomes of the conversations with an open flow
	troubled    failure                         // of the most recent thread with the session's outcome
	blockedTask string                          // reason of the most recently blocked task
	kinds       []kindCount
	base        float64
}

// Status returns how active the session is at a time in ms.
func (s *Session) Status(now float64) coordination.Status {
	return coordination.SessionStatus(now, s.Whole.Last, s.LatestTerminal, s.OpenThreads > 0 || s.OpenTasks > 0 || s.busy())
}

// busy reports whether an agent works for the session, or is about to.
func (s *Session) busy() bool { return s.OpenFlows > 0 || s.OpenRuns > 0 }

// Outcome is the worst outcome of the session's threads and tasks; if they have none, its latest event decides.
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

// Reason says why the session is blocked or without reply, by the most recent failure. It is "" for other sessions,
// and if no reason is known.
func (s *Session) Reason() string {
	outcome := s.Outcome()
	if outcome != coordination.OutcomeBlocked && outcome != coordination.OutcomeNoReply {
		return ""
	}
	if s.troubled.reason != "" {
		return s.troubled.reason
	}
	return s.blockedTask
}

// Code is the code of Reason; "" for a session that is not blocked or without reply.
func (s *Session) Code() coordination.ReasonCode {
	outcome := s.Outcome()
	switch {
	case outcome != coordination.OutcomeBlocked && outcome != coordination.OutcomeNoReply:
		return ""
	case s.troubled.reason == "" && s.BlockedTasks > 0:
		return coordination.ReasonTaskBlocked
	}
	return cmp.Or(s.troubled.code, coordination.ReasonOther)
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

// taskOfSession is the description of the first task of session w, with profile p: "" unless an event has titled the
// session by a task. Its parameter is coordination.TitleOfTask.
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

// Load reads work sessions with their threads, in the order of ids. maxEvents bounds the total number of seqs in all
// threads, first sessions first and newest events first; 0 leaves them out. Sessions without a listed event are left
// out.
func Load(ctx context.Context, tx *sql.Tx, kinds *Kinds, ids []int64, maxEvents int) ([]Session, error) {
	sessions, err := readSessions(ctx, tx, ids)
	if err != nil {
		return nil, fmt.Errorf("read work sessions: %w", err)
	}
	listed := sessions[:0]
	for _, s := range sessions {
		s.Listed, s.ByRole = kinds.extent(s.base, s.kinds), kinds.byRole(s.kinds)
		if s.Listed.Events == s.Whole.Events {
			s.Listed = s.Whole // up to the last fraction of a millisecond
		}
		if s.Listed.Events > 0 {
			listed = append(listed, s)
		}
	}
	if err := loadOpen(ctx, tx, listed); err != nil {
		return nil, fmt.Errorf("read open flows and runs: %w", err)
	}
	if err := loadThreads(ctx, tx, kinds, listed, maxEvents); err != nil {
		return nil, fmt.Errorf("read threads: %w", err)
	}
	return listed, nil
}

// extent is the extent of a session's listed events. Its Threads are not set.
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
	rows, err := tx.QueryContext(ctx, selectSessions, coordination.TitleOfTask, projections.JSONList(ids))
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
