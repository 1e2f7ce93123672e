package plan

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	decide "github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// List lists plans, the newest first.
func List(ctx context.Context, tx *sql.Tx, q Query) (plans []decide.Plan, err error) {
	query, args := q.sql()
	err = projections.Reading(ctx, tx).Query(query, args, func(r eventstore.Row) error {
		plans = append(plans, scanRow(r).plan)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list plans: %w", err)
	}
	return plans, nil
}

// sql is what is asked for. Where a task or a work session is given, it is found by that alone: it has few plans.
func (q *Query) sql() (query string, args []any) {
	var where []string
	only := func(condition string, value any) { where, args = append(where, condition), append(args, value) }
	few := ""
	switch {
	case q.TaskID != "":
		only("p.task_id = ?", q.TaskID)
		few = "+"
	case q.WorkSession != "":
		only("p.work_session_id <> '' AND p.work_session_id = ?", q.WorkSession)
		few = "+"
	}
	if q.TaskID != "" && q.WorkSession != "" {
		only("+p.work_session_id = ?", q.WorkSession)
	}
	if q.Agent != "" {
		only(few+"p.agent = ?", strings.ToLower(q.Agent))
	}
	if q.Status != "" {
		only(few+"p.status = ?", q.Status)
	}
	if q.Before > 0 {
		only(few+"p.id < ?", q.Before)
	}
	query = selectPlan
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	query += " ORDER BY " + few + "p.id DESC"
	if q.Limit > 0 {
		query, args = query+" LIMIT ?", append(args, q.Limit)
	}
	return query, args
}
