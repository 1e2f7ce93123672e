package responses_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/responses"
)

// The views tell people who ask SQL the same as the answers do.
func TestViews(t *testing.T) {
	t.Parallel()
	l := setup(t)
	a, b, c := asks("c1"), asks("c2"), asks("요청 / 3")
	c.thread, b.reuse = "901", "ruda:eden:인증: 모듈"
	l.append(t, a.requested(1), a.opened(2), a.sent(3, "1001"), a.reminded(4, 1, "1002"), a.responded(5, "1003"), b.requested(6), b.failed(7, "denied", false, ""),
		b.opened(8), c.requested(9))
	lines := func(query string) []string {
		return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (found []string, err error) {
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
		})
	}
	want(t, "requests", lines(`SELECT concat_ws(' ', collab_id, from_agent, to_agent, delivery, code, error, status, reason, mode, '|', thread_id, thread_name,
 channel_id, guild_id, message, message_ids, account_id, session_key, run_id, work_session_id, task_id, hop, '|', accepted_at, accepted_ms, sent_at, sent_ms, step,
 last_attempt_at, last_attempt_ms, responded_at, responded_ms, answer_message_id, response_ms, '|', version, seq, last_seq) FROM v_collaborations ORDER BY seq`),
		[]string{
			`c1 ruda eden sent responded new_thread | 900 [협업] 루다 → 이든 100 500 코드 리뷰 c1 ["1001"] ruda-bot agent:ruda:main run_c1 ws_1 task_1 1 | ` +
				`2026-09-21T14:13:20.001Z 1790000000001 2026-09-21T14:13:20.002Z 1790000000002 1 2026-09-21T14:13:20.004Z 1790000000004 ` +
				`2026-09-21T14:13:20.005Z 1790000000005 1003 3 | 4 1 5`,
			`c2 ruda eden failed denied Discord says no new_thread | 900 [협업] 루다 → 이든 100 500 코드 리뷰 c2 agent:ruda:main run_c2 ws_1 task_1 1 | ` +
				`2026-09-21T14:13:20.006Z 1790000000006 0 | 2 6 8`,
			`요청 / 3 ruda eden accepted new_thread | name of 요청 / 3 100 500 코드 리뷰 요청 / 3 agent:ruda:main run_요청 / 3 ws_1 task_1 1 | 2026-09-21T14:13:20.009Z 1790000000009 0 | 1 9 9`,
		})
	want(t, "threads", lines(`SELECT concat_ws(' ', reuse_key, '|', from_agent, to_agent, thread_id, thread_name, channel_id, messages, created_at, created_ms,
 last_used_at, last_used_ms, seq) FROM v_collaboration_threads ORDER BY seq`), []string{
		`ruda:eden | ruda eden 900 [협업] 루다 → 이든 100 1 2026-09-21T14:13:20.002Z 1790000000002 2026-09-21T14:13:20.003Z 1790000000003 2`,
		`ruda:eden:인증: 모듈 | ruda eden 900 [협업] 루다 → 이든 100 0 2026-09-21T14:13:20.008Z 1790000000008 2026-09-21T14:13:20.008Z 1790000000008 8`,
	})
}

// Reminded requests are counted, whatever is listed; those that are only sent, or answered, are not.
func TestReminded(t *testing.T) {
	t.Parallel()
	l := setup(t)
	a, b, c, d := asks("c1"), asks("c2"), asks("c3"), asks("c4")
	a.thread, b.thread, c.thread, d.thread = "901", "902", "903", "904"
	l.append(t, a.requested(1), a.opened(2), a.sent(3, "1001"), a.reminded(4, 1, "1002"), b.requested(5), b.opened(6), b.sent(7, "1003"), b.reminded(8, 2, "1004"),
		c.requested(9), c.opened(10), c.sent(11, "1005"), d.requested(12), d.opened(13), d.sent(14, "1006"), d.reminded(15, 1, "1007"), d.responded(16, "1008"))
	listed := func(most int) []string {
		return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (found []string, err error) {
			list, n, err := responses.Reminded(ctx, tx, most)
			for i := range list {
				found = append(found, list[i].ID)
			}
			return append(found, fmt.Sprint("of ", n)), err
		})
	}
	want(t, "all", listed(9), []string{"c2", "c1", "of 2"})
	want(t, "the newest", listed(1), []string{"c2", "of 2"})
	want(t, "none", listed(0), []string{"of 2"})
}
