package continuations_test

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
	l.append(t, sent(1, "eden", "task_a", "r1", func(d *coordination.Continuation) { d.Reason, d.StepID, d.Measured = "same_step", "s2", 1 }))
	l.append(t, over(2, coordination.TypeRunFailed, "eden", "r1", failed("rate_limited", "slowly")))
	l.append(t, asked(3, "eden", "이름 \"b\"", "seum", "j1"), reminded(4, "eden", "이름 \"b\"", "r2"))
	l.append(t, asked(5, "seum", "task_c", "eden", "j2"), unanswered(6, "seum", "task_c", "eden"), unanswered(7, "seum", "task_c", ""))
	l.append(t, sent(8, "ruda", "", "r3", func(d *coordination.Continuation) { d.Reason = "restart" }))
	l.append(t, over(9, coordination.TypeRunAborted, "ruda", "r3", func(d *coordination.RunOver) { d.Reason = "restart" }))
	for query, lines := range map[string][]string{
		`SELECT agent, failures, cause, backoff_until, backoff_until_ms - 1790000000000, backoff_ms, overflows, failed_task_id, failed_run_id,
 tasks, decided, seq FROM v_continuation`: {
			"eden|1|rate_limit|2026-09-21T14:14:20.002Z|60002|60000|0|task_a|r1|2|3|4", "ruda|0|-|-|-|-|0|-|-|0|1|9", "seum|0|-|-|-|-|0|-|-|1|3|7",
		},
		`SELECT agent, prompt_run_id, prompt_task_id, prompt_reason, prompt_at, prompt_ms - 1790000000000, prompt_over FROM v_continuation`: {
			"eden|r2|이름 \"b\"|still_blocked|2026-09-21T14:13:20.004Z|4|0", "ruda|r3|-|restart|2026-09-21T14:13:20.008Z|8|1", "seum|-|-|-|-|-|-",
		},
		`SELECT agent, ended_run_id, ended_at, ended_ms - 1790000000000, ended_ok, ended_by_restart, summary_at, summary_ms - 1790000000000 FROM v_continuation`: {
			"eden|r1|2026-09-21T14:13:20.002Z|2|0|0|-|-", "ruda|r3|2026-09-21T14:13:20.009Z|9|0|1|2026-09-21T14:13:20.008Z|8", "seum|-|-|-|-|-|-|-",
		},
		`SELECT agent, task_id, prompts, same, step, measured, defines, prompt_at, prompt_ms - 1790000000000, escalated, seq FROM v_continuation_tasks ORDER BY 1, 2`: {
			"eden|task_a|0|0|s2|1|0|2026-09-21T14:13:20.001Z|1|0|4", "eden|이름 \"b\"|0|0|-|0|0|-|-|0|4", "seum|task_c|0|0|-|0|0|-|-|0|7",
		},
		`SELECT task_id, reminders, reminded_at, reminded_ms - 1790000000000, asked_job_id, ask_failed_at, ask_failed_ms - 1790000000000, told
 FROM v_continuation_tasks ORDER BY agent, task_id`: {
			"task_a|0|-|-|-|-|-|0", "이름 \"b\"|1|2026-09-21T14:13:20.004Z|4|j1|-|-|0", "task_c|0|-|-|-|2026-09-21T14:13:20.006Z|6|1",
		},
	} {
		want(t, query, projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]string, error) { return lined(ctx, tx, query) }), lines)
	}
}

// lined are the rows of an answer, a line each; - is NULL.
func lined(ctx context.Context, tx *sql.Tx, query string) (lines []string, err error) {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		line := ""
		for i, v := range values {
			if i > 0 {
				line += "|"
			}
			if !v.Valid {
				v.String = "-"
			}
			line += v.String
		}
		lines = append(lines, line)
	}
	return lines, rows.Err()
}
