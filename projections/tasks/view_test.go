package tasks_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// The views tell people who ask SQL the same as the answers do.
func TestViews(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, started(1, "task_a", "eden", planned), started(2, "task_b", "eden"), started(3, "이름 c", "seum"), updated(4, "task_a", "eden", "goes on"),
		delegated(5, "delegation.spawned", "task_a", coordination.Delegation{DelegationID: "d1", FromAgent: "eden", ToAgent: "seum", JobID: "d1", Work: "look"}),
		change(6, coordination.TypeTaskCancelled, "이름 c", "seum", coordination.TaskState{Reason: "중복", Progress: "Task cancelled: 중복"}),
		imported(7, atMonth, month(ended("task_z", "2026-02-18T12:00:00.000Z"))))
	for query, lines := range map[string][]string{
		`SELECT concat_ws(' ', task_id, agent, status, open, focus, steps, steps_done, progress_count, progress, outcome, outcome_text, history_month, seq, last_seq)
 FROM v_agent_tasks ORDER BY seq`: {
			"task_a eden in_progress 1 1 2 0 2 goes on 1 4", "task_b eden in_progress 1 0 0 0 1 Task started 2 2",
			"이름 c seum cancelled 0 0 0 0 2 Task cancelled: 중복 cancelled 중복 2026-09 3 6", "task_z eden completed 0 0 0 0 2 Task completed completed good 2026-02 7 7",
		},
		"SELECT concat_ws(' ', task_id, step, content, status, position) FROM v_task_steps":                              {"task_a s1 first in_progress 1", "task_a s2 둘째 pending 2"},
		"SELECT concat_ws(' ', task_id, n, text, seq) FROM v_task_progress WHERE agent = 'seum'":                         {"이름 c 1 Task started 3", "이름 c 2 Task cancelled: 중복 6"},
		"SELECT concat_ws(' ', delegation_id, task_id, from_agent, to_agent, status, task, seq) FROM v_task_delegations": {"d1 task_a eden seum spawned look 5"},
		"SELECT concat_ws(' ', path, sha256, through_seq, ours, seq) FROM v_task_files":                                  {atMonth + " h:" + atMonth + " 7 0 7"},
	} {
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
		}), lines)
	}
}
