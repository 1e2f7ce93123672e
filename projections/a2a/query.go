package a2a

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	decide "github.com/pronto-lab/openclawd/coordination/a2a"
)

// Query asks for flows, the one that was asked for last first.
type Query struct {
	Kind                decide.Kind // "": any
	Open                bool        // only those that are not over
	From, To            string
	ConversationID      string
	WorkSessionID       string
	RequesterSessionKey string
	Before              int64 // made before the event of this seq; 0: any
	Limit               int   // 0: all
}

const (
	selectRow = `SELECT j.id, CASE j.job_id WHEN '' THEN j.name ELSE j.job_id END, j.kind, j.phase, j.from_agent, j.to_agent, j.requester_key, j.requester_run,
 j.target_key, j.conversation_id, j.parent_id, j.work_session_id, j.task_id, j.label, j.preview, j.intent, j.payload_type, j.run_id, j.attempt, j.turn,
 j.effective_turns, j.due_at, j.created_at, j.changed_at, j.ended_at, j.resumed, j.outcome, j.reason, j.said FROM a2a_jobs j`

	selectByID       = selectRow + " WHERE j.name = ?"
	selectDelegation = "SELECT json_extract(data, '$.delegationId') FROM events WHERE seq = ?"
	selectCounts     = "SELECT kind, phase, outcome, flows FROM a2a_job_states ORDER BY kind, phase, outcome"
)

// List finds flows.
func List(ctx context.Context, tx *sql.Tx, q Query) (list []Row, err error) {
	query, args := q.sql()
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list flows: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// sql is what is asked for.
func (q *Query) sql() (query string, args []any) {
	var where []string
	only := func(condition string, values ...any) { where, args = append(where, condition), append(args, values...) }
	for _, c := range [...]struct{ condition, value string }{
		{"j.from_agent = ?", strings.ToLower(q.From)}, {"j.to_agent = ?", strings.ToLower(q.To)}, {"j.conversation_id = ?", q.ConversationID},
		{"j.work_session_id = ?", q.WorkSessionID}, {"j.requester_key = ?", keyOf(q.RequesterSessionKey)},
	} {
		if c.value != "" {
			only(c.condition, c.value)
		}
	}
	switch q.Kind {
	case "":
	case decide.Spawn:
		only("j.kind = 'spawn'") // so that the indexes of those are used
	default:
		only("j.kind = ?", string(q.Kind))
	}
	if q.Open {
		only("j.over_seq = 0")
	}
	if q.Before > 0 {
		only("j.id < ?", q.Before)
	}
	query = selectRow
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	query += " ORDER BY j.id DESC"
	if q.Limit > 0 {
		query, args = query+" LIMIT ?", append(args, q.Limit)
	}
	return query, args
}

// ByID is a flow.
func ByID(ctx context.Context, tx *sql.Tx, jobID string) (r Row, found bool, err error) {
	r, err = scan(tx.QueryRowContext(ctx, selectByID, nameOf(jobID)))
	if errors.Is(err, sql.ErrNoRows) {
		return Row{}, false, nil
	}
	return r, err == nil, err
}

// DelegationOf is what the flow that was asked for by the event of that seq does for its task: the job of the first attempt at it. "" is nothing,
// or redacted.
func DelegationOf(ctx context.Context, tx *sql.Tx, seq int64) (delegationID string, err error) {
	var id sql.NullString
	if err := tx.QueryRowContext(ctx, selectDelegation, seq).Scan(&id); err != nil {
		return "", fmt.Errorf("read what flow %d does: %w", seq, err)
	}
	return id.String, nil
}

func scan(row interface{ Scan(...any) error }) (r Row, err error) {
	var said string
	err = row.Scan(&r.Seq, &r.JobID, &r.Kind, &r.Phase, &r.FromAgent, &r.ToAgent, &r.RequesterSessionKey, &r.RequesterRunID, &r.TargetSessionKey,
		&r.ConversationID, &r.ParentConversation, &r.WorkSessionID, &r.TaskID, &r.Label, &r.Preview, &r.Intent, &r.PayloadType, &r.RunID, &r.Attempt, &r.Turn,
		&r.EffectiveTurns, &r.DueAt, &r.CreatedAt, &r.ChangedAt, &r.EndedAt, &r.Resumed, &r.Outcome, &r.Reason, &said)
	if err != nil {
		return Row{}, fmt.Errorf("read flow: %w", err)
	}
	r.Said = saidOf(said)
	return r, nil
}

// Count is how many flows there are by kind and phase, those that are over by their outcome too. What it costs does not depend on how many
// there are.
func Count(ctx context.Context, tx *sql.Tx) (list []Tally, err error) {
	rows, err := tx.QueryContext(ctx, selectCounts)
	if err != nil {
		return nil, fmt.Errorf("count flows: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var t Tally
		if err := rows.Scan(&t.Kind, &t.Phase, &t.Outcome, &t.Flows); err != nil {
			return nil, fmt.Errorf("count flows: %w", err)
		}
		list = append(list, t)
	}
	return list, rows.Err()
}
