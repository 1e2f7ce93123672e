package runs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Query selects runs, newest first.
type Query struct {
	SessionKey     string      // "": of any session
	Agent          string      // "": of any
	JobID          string      // "": of any, and of none; so are the next two
	WorkSessionID  string      //
	ConversationID string      //
	States         []run.State // none: in any
	Before         int64       // queued before the event of this seq; 0: any
	Limit          int         // 0: all
}

const (
	selectListed = selectResult + `, r.provider, r.model, r.stop_reason, r.reason, r.error_class, r.input_tokens, r.output_tokens, r.total_tokens,
 r.model_calls, r.tool_calls`

	selectByID  = selectResult + `, e.type, e.ver, e.data FROM runs r LEFT JOIN events e ON e.seq = r.over_seq WHERE r.name = ?`
	selectAhead = `SELECT count(o.id) FROM runs r LEFT JOIN runs o
 ON o.session_key = r.session_key AND o.over_seq = 0 AND o.place <= r.place AND (o.place < r.place OR o.id < r.id)
 WHERE r.name = ? AND r.over_seq = 0 GROUP BY r.id`
	selectCounts = "SELECT state, runs FROM run_states"
)

// ByID returns a run with its state, and its result if it is over. Over is also nil if the event that ended it is
// redacted.
func ByID(ctx context.Context, tx *sql.Tx, runID string) (r run.Result, found bool, err error) {
	var typ sql.NullString
	var ver sql.NullInt64
	var data []byte
	err = tx.QueryRowContext(ctx, selectByID, nameOf(runID)).Scan(append(fields(&r), &typ, &ver, &data)...)
	if errors.Is(err, sql.ErrNoRows) {
		return run.Result{}, false, nil
	}
	if err != nil {
		return run.Result{}, false, fmt.Errorf("read run: %w", err)
	}
	if data != nil {
		r.Over = overOf(typ.String, int(ver.Int64), data)
	}
	return r, true, nil
}

// overOf returns the result of a run from the event that ended it. A member of another type is blank.
func overOf(typ string, ver int, data json.RawMessage) *coordination.RunOver {
	e := projections.Current(&eventstore.Event{Type: typ, Ver: ver, Data: data})
	over := new(coordination.RunOver)
	_ = json.Unmarshal(e.Data, over) // decoding continues after a member of another type
	return over
}

// Position returns how many runs of its session come before an open one, including the running one. A retry of an
// interrupted run takes that one's place, so the order is that of OpenOf, not that of Seq. A finished or unknown run
// is not found.
func Position(ctx context.Context, tx *sql.Tx, runID string) (ahead int, found bool, err error) {
	err = tx.QueryRowContext(ctx, selectAhead, nameOf(runID)).Scan(&ahead)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("count runs before one: %w", err)
	}
	return ahead, true, nil
}

// List returns runs. Over lacks the texts and what only its event has; ByID reads these.
func List(ctx context.Context, tx *sql.Tx, q Query) (list []run.Result, err error) {
	query, args := q.sql()
	return projections.ListRows(ctx, tx, "list runs", query, args, func(rows *sql.Rows, r *run.Result) error {
		var o coordination.RunOver
		var u coordination.SessionUsage
		err := rows.Scan(append(fields(r), &o.Provider, &o.Model, &o.StopReason, &o.Reason, &o.ErrorClass, &u.Input, &u.Output, &u.Total,
			&o.ModelCalls, &o.ToolCalls)...)
		if err == nil && r.State.Over() {
			o.RunID, o.SessionKey, o.SessionID, o.StartedAtMs, o.EndedAtMs = r.RunID, r.SessionKey, r.SessionID, r.StartedAt, r.EndedAt
			if u != (coordination.SessionUsage{}) {
				o.Usage = &u
			}
			r.Over = &o
		}
		return err
	})
}

// sql builds the query.
func (q *Query) sql() (query string, args []any) {
	var where []string
	only := func(condition string, values ...any) { where, args = append(where, condition), append(args, values...) }
	if q.SessionKey != "" {
		only("r.session_key = ?", q.SessionKey)
	}
	if q.Agent != "" {
		only("r.agent = ?", strings.ToLower(q.Agent))
	}
	if q.JobID != "" {
		only("r.job = ? AND r.job <> ''", q.JobID)
	}
	if q.WorkSessionID != "" {
		only("r.work_session = ? AND r.work_session <> ''", q.WorkSessionID)
	}
	if q.ConversationID != "" {
		only("r.conversation = ? AND r.conversation <> ''", q.ConversationID)
	}
	order := " ORDER BY r.id DESC"
	if q.inStates(only) {
		order = " ORDER BY +r.id DESC" // there are few, in their own index, which has another order
	}
	if q.Before > 0 {
		only("r.id < ?", q.Before)
	}
	query = selectListed + " FROM runs r"
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	query += order
	if q.Limit > 0 {
		query, args = query+" LIMIT ?", append(args, q.Limit)
	}
	return query, args
}

// inStates is the condition on states, written so that partial indexes are used. open: only open ones.
func (q *Query) inStates(only func(condition string, values ...any)) (open bool) {
	if len(q.States) == 0 {
		return false
	}
	values := make([]any, 0, len(q.States))
	open = true
	fine := false
	for _, s := range q.States {
		values = append(values, string(s))
		open, fine = open && !s.Over(), fine || s == run.OK
	}
	only("r.state IN (?"+strings.Repeat(", ?", len(values)-1)+")", values...)
	if !fine {
		only("r.state <> 'ok'")
	}
	if open {
		only("r.over_seq = 0")
	}
	return open
}

// Count returns the number of runs in each state.
func Count(ctx context.Context, tx *sql.Tx) (map[run.State]int64, error) {
	counts := map[run.State]int64{}
	return counts, projections.EachRow(ctx, tx, "count runs", selectCounts, nil, func(rows *sql.Rows) error {
		var s run.State
		var n int64
		err := rows.Scan(&s, &n)
		counts[s] = n
		return err
	})
}

// fields returns the scan targets for selectResult.
func fields(r *run.Result) []any {
	return []any{&r.RunID, &r.SessionKey, &r.SessionID, &r.AgentID, &r.Lane, &r.Cause, &r.State, &r.QueuedAt, &r.StartedAt, &r.EndedAt, &r.Seq, &r.RetryOf,
		&r.JobID, &r.WorkSessionID, &r.ConversationID, &r.ParentRunID}
}
