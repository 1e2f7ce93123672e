package tasks

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

const (
	selectCounts = `SELECT t.agent, t.status, count(*), max(w.last_seq), max(w.active_at) FROM tasks t CROSS JOIN task_work w ON w.id = t.id
 WHERE t.over = 0 GROUP BY t.agent, t.status`
	// One index entry for each agent.
	selectNextAgent = "SELECT min(t.agent) FROM tasks t WHERE t.over <> 0 AND t.agent > ?"
	selectLastOver  = `SELECT w.last_seq, max(w.active_at, t.over_at) FROM tasks t CROSS JOIN task_work w ON w.id = t.id
 WHERE t.over <> 0 AND t.agent = ? ORDER BY t.over_at DESC, t.id DESC LIMIT 1`
)

const selectHadOwn = `SELECT 1 FROM tasks t WHERE t.over = 0 AND t.agent = ?1 AND t.own <> 0
 UNION ALL SELECT 1 FROM tasks t WHERE t.over <> 0 AND t.agent = ?1 AND t.own <> 0 LIMIT 1`

// HadOwn reports whether an agent has, or had, a task with events of its own, not only known from files.
func HadOwn(ctx context.Context, tx *sql.Tx, agent string) (had bool, err error) {
	err = each(ctx, tx, selectHadOwn, []any{strings.ToLower(agent)}, func(columns) { had = true })
	return had, err
}

var selectFocused = selectTask + fromTasks + ` WHERE t.over = 0 AND t.agent = ? AND t.status = 'in_progress' AND w.focus > 0 ORDER BY w.focus DESC, ` + inOrder + " LIMIT 1"

// Boards returns those of all agents that have, or had, tasks, by agent id. Its cost does not grow with the number of
// finished tasks.
func Boards(ctx context.Context, tx *sql.Tx) ([]Board, error) {
	boards := map[string]*Board{}
	of := func(agent string) *Board {
		b, known := boards[agent]
		if !known {
			b = &Board{AgentID: agent, Counts: map[string]int{}}
			boards[agent] = b
		}
		return b
	}
	err := each(ctx, tx, selectCounts, nil, func(r columns) {
		b := of(r.Text(0))
		b.Counts[r.Text(1)] = int(r.Int(2))
		b.Seq, b.LastMs = max(b.Seq, r.Int(3)), max(b.LastMs, r.Int(4))
	})
	if err != nil {
		return nil, err
	}
	for agent, more := "", true; more; {
		var found string
		if err := each(ctx, tx, selectNextAgent, []any{agent}, func(r columns) { found = r.Text(0) }); err != nil {
			return nil, err
		}
		if agent, more = found, found != ""; !more {
			break
		}
		err := each(ctx, tx, selectLastOver, []any{agent}, func(r columns) {
			b := of(agent)
			b.Seq, b.LastMs = max(b.Seq, r.Int(0)), max(b.LastMs, r.Int(1))
		})
		if err != nil {
			return nil, err
		}
	}
	var all []Board
	for _, agent := range slices.Sorted(maps.Keys(boards)) {
		b := boards[agent]
		if b.Counts[coordination.StateInProgress] > 0 {
			err := each(ctx, tx, selectFocused, []any{agent}, func(r columns) {
				h := scanTask(r)
				b.Focus = h.brief()
				b.Focus.Focus = true
			})
			if err != nil {
				return nil, err
			}
		}
		all = append(all, *b)
	}
	return all, nil
}
