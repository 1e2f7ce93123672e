package plans

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// List lists plans, newest or oldest first.
func List(ctx context.Context, tx *sql.Tx, q Query) (plans []plan.Plan, err error) {
	query, args := q.sql()
	return projections.ReadAll(projections.Reading(ctx, tx), "list plans", query, args, func(r eventstore.Row) plan.Plan {
		return scanRow(r).plan
	})
}

// ByID returns a plan, nil if there is none.
func ByID(ctx context.Context, tx *sql.Tx, planID string) (found *plan.Plan, err error) {
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

// Count returns how many plans a query selects, ignoring its limit.
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

// sql builds the query of List.
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

// count builds the query of Count.
func (q *Query) count() (query string, args []any) {
	where, _, args := q.where()
	return "SELECT count(*) FROM plans p" + where, args
}

// where builds the conditions. If a task or a work session is given, only that is used as an index: it has few plans,
// so other columns are kept out of the index choice.
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
