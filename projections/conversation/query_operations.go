package conversation

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/coordination"
)

// Recent counts the work sessions that an operator looks after: those in which something happened within 24 hours.
type Recent struct {
	Active  int64 `json:"active"`
	Quiet   int64 `json:"quiet"`
	Blocked int64 `json:"blocked"` // of all these: something in it is blocked
}

// selectRecent looks at the sessions of the slots of one day, and for those that end with their latest event at what is open.
const selectRecent = `SELECT coalesce(sum(NOT quiet), 0), coalesce(sum(quiet), 0), coalesce(sum(blocked), 0) FROM (
 SELECT CASE WHEN latest_terminal AND open_threads = 0 AND open_tasks = 0 THEN NOT ` + isBusy + ` ELSE 0 END AS quiet, blocked_n > 0 OR blocked_tasks > 0 AS blocked
   FROM work_sessions w WHERE id IN (SELECT session_id FROM session_slots WHERE slot >= ?) AND last_time >= ?)`

// CountRecent counts the sessions that are not archived at a time in ms.
func CountRecent(ctx context.Context, tx *sql.Tx, now float64) (r Recent, err error) {
	since := now - coordination.ArchiveAfterMs
	err = tx.QueryRowContext(ctx, selectRecent, Slot(since), since).Scan(&r.Active, &r.Quiet, &r.Blocked)
	return r, err
}

// Trouble is a conversation that was not delivered, or not answered.
type Trouble struct {
	WorkSessionID string  `json:"workSessionId"`
	Title         string  `json:"title"`
	Task          string  `json:"-"` // as of Session
	FromAgent     string  `json:"fromAgent"`
	ToAgent       string  `json:"toAgent"`
	Outcome       string  `json:"outcome"` // blocked, no_reply
	Reason        string  `json:"reason"`
	LastTime      float64 `json:"lastTime"` // ms since 1970
}

// One branch for each outcome, so that both come from the index in its order.
const selectTrouble = `SELECT w.name, p.title, ` + taskOfSession + `, t.from_agent, t.to_agent, t.outcome, t.reason, t.last_time FROM (
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
		if err := rows.Scan(&t.WorkSessionID, &t.Title, &t.Task, &t.FromAgent, &t.ToAgent, &t.Outcome, &t.Reason, &t.LastTime); err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, rows.Err()
}
