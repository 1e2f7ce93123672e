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

// List lists plans, the newest first, or the oldest.
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

// ByID is a plan, nil if there is none.
func ByID(ctx context.Context, tx *sql.Tx, planID string) (found *decide.Plan, err error) {
	err = projections.Reading(ctx, tx).Query(selectByName, []any{nameOf(planID)}, func(r eventstore.Row) error {
		one := scanRow(r)
		found = &one.plan
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	return found, nil
}

// Count is how many plans a query selects, whatever its limit.
func Count(ctx context.Context, tx *sql.Tx, q Query) (n int, err error) {
	query, args := q.count()
	err = projections.Reading(ctx, tx).Query(query, args, func(r eventstore.Row) error {
		n = int(r.Int(0))
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count plans: %w", err)
	}
	return n, nil
}

// sql is what List asks for.
func (q *Query) sql() (query string, args []any) {
	where, few, args := q.where()
	query = selectPlan + where + " ORDER BY " + few + "p.id"
	if !q.Oldest {
		query += " DESC"
	}
	if q.Limit > 0 {
		query, args = query+" LIMIT ?", append(args, q.Limit)
	}
	return query, args
}

// count is what Count asks for.
func (q *Query) count() (query string, args []any) {
	where, _, args := q.where()
	return "SELECT count(*) FROM plans p" + where, args
}

// where is what the plans have in common. Where a task or a work session is given, they are found by that alone: it has few plans, and few is what
// keeps other columns out of the search.
func (q *Query) where() (condition, few string, args []any) {
	var where []string
	only := func(condition string, value any) { where, args = append(where, condition), append(args, value) }
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
	if len(where) == 0 {
		return "", few, nil
	}
	return " WHERE " + strings.Join(where, " AND "), few, args
}
