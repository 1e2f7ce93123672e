package conversations

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/coordination"
)

// Recent counts the work sessions relevant to an operator: those with an event within 24 hours.
type Recent struct {
	Active  int64 `json:"active"`
	Quiet   int64 `json:"quiet"`
	Blocked int64 `json:"blocked"` // of all these: those with something blocked
}

// selectRecent reads the sessions in the slots of one day, and for those that end with their latest event also what is
// open.
const selectRecent = `SELECT coalesce(sum(NOT quiet), 0), coalesce(sum(quiet), 0), coalesce(sum(blocked), 0) FROM (
 SELECT CASE WHEN latest_terminal AND open_threads = 0 AND open_tasks = 0 THEN NOT ` + isBusy + ` ELSE 0 END AS quiet, blocked_n > 0 OR blocked_tasks > 0 AS blocked
   FROM work_sessions w WHERE id IN (SELECT session_id FROM session_slots WHERE slot >= ?) AND last_time >= ?)`

// CountRecent counts the sessions that are not archived as of a time in ms.
func CountRecent(ctx context.Context, tx *sql.Tx, now float64) (r Recent, err error) {
	since := now - coordination.ArchiveAfterMs
	err = tx.QueryRowContext(ctx, selectRecent, Slot(since), since).Scan(&r.Active, &r.Quiet, &r.Blocked)
	return r, err
}

// Trouble is a conversation that was not delivered, or not answered.
type Trouble struct {
	WorkSessionID string `json:"workSessionId"`
	Title         string `json:"title"`
	Task          string `json:"-"` // as of Session
	FromAgent     string `json:"fromAgent"`
	ToAgent       string `json:"toAgent"`
	Outcome       string `json:"outcome"` // blocked, no_reply
	Reason        string `json:"reason"`

	Code     coordination.ReasonCode `json:"reasonCode"`
	LastTime float64                 `json:"lastTime"` // ms since 1970
}

// One branch for each outcome, so that both are read from the index in its order.
const selectTrouble = `SELECT w.name, p.title, ` + taskOfSession + `, t.from_agent, t.to_agent, t.outcome, t.reason, t.reason_code, t.last_time FROM (
 SELECT * FROM (SELECT * FROM threads WHERE outcome = 'blocked' ORDER BY last_time DESC LIMIT ?)
 UNION ALL SELECT * FROM (SELECT * FROM threads WHERE outcome = 'no_reply' ORDER BY last_time DESC LIMIT ?)) t
 JOIN work_sessions w ON w.id = t.session_id JOIN session_profiles p ON p.id = t.session_id ORDER BY t.last_time DESC, t.id DESC LIMIT ?`

// NewestTrouble lists the newest conversations in trouble.
func NewestTrouble(ctx context.Context, tx *sql.Tx, limit int) ([]Trouble, error) {
	rows, err := tx.QueryContext(ctx, selectTrouble, coordination.TitleOfTask, limit, limit, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Trouble
	for rows.Next() {
		var t Trouble
		if err := rows.Scan(&t.WorkSessionID, &t.Title, &t.Task, &t.FromAgent, &t.ToAgent, &t.Outcome, &t.Reason, &t.Code, &t.LastTime); err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, rows.Err()
}

// Stuck is a conversation in trouble within a work session that is not archived. Times are ms since 1970.
type Stuck struct {
	Trouble
	Key      string // of the thread
	StepTime float64
	StepSeq  int64 // the event that made it blocked or unanswered; 0: unknown
}

// The sessions in the slots of one day, as in selectRecent, then their threads.
const (
	fromCurrent = ` FROM work_sessions w WHERE w.id IN (SELECT session_id FROM session_slots WHERE slot >= ?) AND w.last_time >= ?`

	selectStuck = `SELECT w.name, coalesce(p.title, ''), ` + taskOfSession + `, t.from_agent, t.to_agent, t.outcome, t.reason, t.reason_code, t.last_time,
  t.key, t.step_time, t.step_seq
 FROM (SELECT w.id, w.name` + fromCurrent + ` AND (w.blocked_n > 0 OR w.no_reply_n > 0)) w
 CROSS JOIN threads t ON t.session_id = w.id AND t.outcome = ? LEFT JOIN session_profiles p ON p.id = w.id
 ORDER BY t.step_time DESC, t.id DESC LIMIT ?`
	selectBlockedTasks = `SELECT k.task_id, w.name, coalesce(p.title, ''), k.reason, k.time, k.seq, e.agent_id
 FROM (SELECT w.id, w.name` + fromCurrent + ` AND w.blocked_tasks > 0) w
 CROSS JOIN session_tasks k ON k.session_id = w.id AND k.state = 'blocked' CROSS JOIN events e ON e.seq = k.seq
 LEFT JOIN session_profiles p ON p.id = w.id ORDER BY k.time DESC, k.id DESC LIMIT ?`
	countStuck = `SELECT coalesce(sum(w.blocked_n), 0), coalesce(sum(w.no_reply_n), 0)` + fromCurrent
)

// StuckIn lists the conversations with an outcome in work sessions that are not archived as of a time in ms, newest
// first, at most limit of them. Its cost depends on the number of work sessions within a day, not on the total.
func StuckIn(ctx context.Context, tx *sql.Tx, now float64, outcome coordination.Outcome, limit int) (list []Stuck, err error) {
	since := now - coordination.ArchiveAfterMs
	rows, err := tx.QueryContext(ctx, selectStuck, coordination.TitleOfTask, Slot(since), since, string(outcome), limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s Stuck
		if err := rows.Scan(&s.WorkSessionID, &s.Title, &s.Task, &s.FromAgent, &s.ToAgent, &s.Outcome, &s.Reason, &s.Code, &s.LastTime, &s.Key, &s.StepTime,
			&s.StepSeq); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// CountStuck returns the number of blocked conversations, and of those without reply, that StuckIn lists.
func CountStuck(ctx context.Context, tx *sql.Tx, now float64) (blocked, silent int, err error) {
	since := now - coordination.ArchiveAfterMs
	err = tx.QueryRowContext(ctx, countStuck, Slot(since), since).Scan(&blocked, &silent)
	return blocked, silent, err
}

// BlockedTask is a task that is blocked according to the events of a work session that is not archived.
type BlockedTask struct {
	TaskID, AgentID      string
	WorkSessionID, Title string // of the work session
	Reason               string
	Time                 float64 // ms since 1970
	Seq                  int64   // of the event that blocked it
}

// BlockedTasks lists those of the work sessions that are not archived as of a time in ms, each once, newest first. Tasks of imported events,
// which no table of tasks has, are among them. Its cost is as that of StuckIn.
func BlockedTasks(ctx context.Context, tx *sql.Tx, now float64, limit int) (list []BlockedTask, err error) {
	since := now - coordination.ArchiveAfterMs
	seen := map[string]bool{}
	err = eachRow(ctx, tx, func(rows *sql.Rows) error {
		var t BlockedTask
		if err := rows.Scan(&t.TaskID, &t.WorkSessionID, &t.Title, &t.Reason, &t.Time, &t.Seq, &t.AgentID); err != nil {
			return err
		}
		if !seen[t.TaskID] {
			seen[t.TaskID] = true
			list = append(list, t)
		}
		return nil
	}, selectBlockedTasks, Slot(since), since, limit)
	return list, err
}
