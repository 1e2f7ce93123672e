package plans_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// The view tells people who ask SQL the same as the answers do.
func TestView(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, submitted(1, planA, "eden", "task_1"), submitted(2, planC, "seum", "task_2"), submitted(3, planB, "eden", ""), rejected(4, planC, "seum"))
	const query = `SELECT concat_ws(' ', plan_id, agent, status, task_id, work_session_id, session_key, title, steps, steps_count, tools_requested, submitted_at,
 submitted_ms, decided_at, decided_ms, decided_by, reason, version, seq, last_seq) FROM v_plans ORDER BY seq`
	want(t, query, projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (found []string, err error) {
		rows, err := tx.QueryContext(ctx, query)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				return nil, err
			}
			found = append(found, line)
		}
		return found, rows.Err()
	}), []string{
		`plan_a eden pending task_1 ws_task_1 agent:eden:main plan of plan_a ["first","둘째"] 2 ["exec"] 2026-09-21T14:13:20.001Z 1790000000001 1 1 1`,
		`계획 / c seum rejected task_2 ws_task_2 agent:seum:main plan of 계획 / c ["first","둘째"] 2 ["exec"] 2026-09-21T14:13:20.002Z 1790000000002 ` +
			`2026-09-21T14:13:20.004Z 1790000000004 영희 너무 크다 2 2 4`,
		`plan_b eden pending ws_ agent:eden:main plan of plan_b ["first","둘째"] 2 ["exec"] 2026-09-21T14:13:20.003Z 1790000000003 1 3 3`,
	})
}
