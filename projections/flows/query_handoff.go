package flows

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/projections"
)

// HandoffQuery selects handoffs, newest first.
type HandoffQuery struct {
	Agent         string // sender or receiver; "": any
	WorkSessionID string
	Open          bool
	Before        int64 // sent before the event of this seq; 0: any
	Limit         int   // 0: all
}

// handoffFields are the columns of a Handoff.
const handoffFields = `h.seq, CASE j.job_id WHEN '' THEN j.name ELSE j.job_id END, h.run_id, h.from_agent, h.to_agent, h.type, h.subject, h.hash,
 h.conversation_id, h.work_session_id, h.at, h.state, h.status, h.answered_seq, h.answered_at`

// Handoffs lists handoffs with their results.
func Handoffs(ctx context.Context, tx *sql.Tx, q HandoffQuery) (list []Handoff, err error) {
	query, args := q.sql()
	return readHandoffs(ctx, tx, query, args)
}

const selectHandoffsBySeqs = "SELECT " + handoffFields + " FROM json_each(?) v CROSS JOIN a2a_handoffs h ON h.seq = v.value CROSS JOIN a2a_jobs j ON j.name = h.job"

// HandoffsBySeqs returns handoffs by their seqs, in no order.
func HandoffsBySeqs(ctx context.Context, tx *sql.Tx, seqs []int64) (list []Handoff, err error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(seqs)
	if err != nil {
		return nil, fmt.Errorf("encode seqs: %w", err)
	}
	return readHandoffs(ctx, tx, selectHandoffsBySeqs, []any{string(text)})
}

func readHandoffs(ctx context.Context, tx *sql.Tx, query string, args []any) ([]Handoff, error) {
	return projections.ListRows(ctx, tx, "list handoffs", query, args, func(rows *sql.Rows, h *Handoff) error {
		return rows.Scan(&h.Seq, &h.JobID, &h.RunID, &h.From, &h.To, &h.Type, &h.Subject, &h.Hash, &h.ConversationID, &h.WorkSessionID, &h.At, &h.State,
			&h.Status, &h.AnsweredSeq, &h.AnsweredAt)
	})
}

// sql builds the query. The handoffs of an agent are the newest of two lists, so that each is read from its index.
func (q *HandoffQuery) sql() (query string, args []any) {
	list := func(agent string) string {
		var where []string
		only := func(condition string, values ...any) { where, args = append(where, condition), append(args, values...) }
		if agent != "" {
			only(agent, strings.ToLower(q.Agent))
		}
		if q.WorkSessionID != "" {
			only("h.work_session_id = ?", q.WorkSessionID)
		}
		if q.Open {
			only("h.state = '" + HandoffOpen + "'")
		}
		if q.Before > 0 {
			only("h.seq < ?", q.Before)
		}
		from := "SELECT h.* FROM a2a_handoffs h"
		if len(where) > 0 {
			from += " WHERE " + strings.Join(where, " AND ")
		}
		from += " ORDER BY h.seq DESC"
		if q.Limit > 0 {
			from, args = from+" LIMIT ?", append(args, q.Limit)
		}
		return from
	}
	from := list("")
	if q.Agent != "" {
		args = nil
		from = "SELECT * FROM (" + list("h.from_agent = ?") + ") UNION SELECT * FROM (" + list("h.to_agent = ?") + ") ORDER BY seq DESC"
		if q.Limit > 0 {
			from, args = from+" LIMIT ?", append(args, q.Limit)
		}
	}
	return "SELECT " + handoffFields + " FROM (" + from + ") h JOIN a2a_jobs j ON j.name = h.job ORDER BY h.seq DESC", args
}
