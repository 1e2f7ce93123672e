package flows

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/projections"
)

// Query selects flows, newest first.
type Query struct {
	Kind                a2a.Kind // "": any
	Open                bool     // only open ones
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
	isOverdue        = " FROM a2a_jobs j WHERE j.over_seq = 0 AND j.due_at > 0 AND j.due_at < ?"
	countOverdue     = "SELECT count(*)" + isOverdue
	selectOverdue    = selectRow + " WHERE j.id IN (SELECT j.id" + isOverdue + " ORDER BY j.due_at DESC, j.id DESC LIMIT ?) ORDER BY j.due_at DESC, j.id DESC"
	selectBySeqs     = selectRow + " WHERE j.id IN (SELECT value FROM json_each(?))"
	selectCounts     = "SELECT kind, phase, outcome, flows FROM a2a_job_states ORDER BY kind, phase, outcome"
)

// List returns flows.
func List(ctx context.Context, tx *sql.Tx, q Query) (list []Row, err error) {
	query, args := q.sql()
	return readRows(ctx, tx, query, args)
}

// Overdue counts the open flows that were due before a time in ms since 1970, and lists up to most of them, latest due first.
func Overdue(ctx context.Context, tx *sql.Tx, before int64, most int) (list []Row, n int, err error) {
	if err := tx.QueryRowContext(ctx, countOverdue, before).Scan(&n); err != nil {
		return nil, 0, fmt.Errorf("count overdue flows: %w", err)
	}
	if n > 0 && most > 0 {
		list, err = readRows(ctx, tx, selectOverdue, []any{before, most})
	}
	return list, n, err
}

// BySeqs returns flows by the seqs of the events that began them, in no order.
func BySeqs(ctx context.Context, tx *sql.Tx, seqs []int64) (list []Row, err error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(seqs)
	if err != nil {
		return nil, fmt.Errorf("encode seqs: %w", err)
	}
	return readRows(ctx, tx, selectBySeqs, []any{string(text)})
}

func readRows(ctx context.Context, tx *sql.Tx, query string, args []any) ([]Row, error) {
	return projections.ListRows(ctx, tx, "list flows", query, args, func(rows *sql.Rows, r *Row) (err error) {
		*r, err = scan(rows)
		return err
	})
}

// sql builds the query.
func (q *Query) sql() (query string, args []any) {
	var where []string
	only := func(condition string, values ...any) { where, args = append(where, condition), append(args, values...) }
	for _, c := range [...]struct{ condition, value string }{
		{"j.from_agent = ?", strings.ToLower(q.From)}, {"j.to_agent = ?", strings.ToLower(q.To)}, {"j.conversation_id = ?", q.ConversationID},
		{"j.work_session_id = ?", q.WorkSessionID}, {"j.requester_key = ?", coordination.NormalizeSessionKey(q.RequesterSessionKey)},
	} {
		if c.value != "" {
			only(c.condition, c.value)
		}
	}
	switch q.Kind {
	case "":
	case a2a.Spawn:
		only("j.kind = 'spawn'") // so that their indexes are used
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

// ByID returns a flow.
func ByID(ctx context.Context, tx *sql.Tx, jobID string) (r Row, found bool, err error) {
	r, err = scan(tx.QueryRowContext(ctx, selectByID, nameOf(jobID)))
	if errors.Is(err, sql.ErrNoRows) {
		return Row{}, false, nil
	}
	return r, err == nil, err
}

// DelegationOf returns what the flow requested by the event of that seq does for its task: the job of its first
// attempt. It is "" if there is none, or redacted.
func DelegationOf(ctx context.Context, tx *sql.Tx, seq int64) (delegationID string, err error) {
	var id sql.NullString
	if err := tx.QueryRowContext(ctx, selectDelegation, seq).Scan(&id); err != nil {
		return "", fmt.Errorf("read the task of flow %d: %w", seq, err)
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
	r.Said = eventDataOf(said)
	return r, nil
}

// Count returns the number of flows by kind and phase, and for finished ones by outcome. Its cost does not depend on
// their number.
func Count(ctx context.Context, tx *sql.Tx) ([]Tally, error) {
	return projections.ListRows(ctx, tx, "count flows", selectCounts, nil, func(rows *sql.Rows, t *Tally) error {
		return rows.Scan(&t.Kind, &t.Phase, &t.Outcome, &t.Flows)
	})
}
