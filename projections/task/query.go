package task

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/task"
)

var (
	selectByName = selectTask + fromTasks + " WHERE t.name = ?"

	selectLines = `WITH RECURSIVE l(n, text, previous) AS (SELECT p.n, p.text, p.previous FROM task_progress p WHERE p.id = ?
 UNION ALL SELECT p.n, p.text, p.previous FROM l CROSS JOIN task_progress p ON p.id = l.previous) SELECT text FROM l`
)

// ByID gives a task with its progress and delegations.
func ByID(ctx context.Context, tx *sql.Tx, taskID string) (row *Row, found bool, err error) {
	var h held
	if err := each(ctx, tx, selectByName, []any{nameOf(taskID)}, func(r columns) { h = scanTask(r) }); err != nil || !h.known {
		return nil, false, err
	}
	x, err := h.row(ctx, tx)
	if err != nil {
		return nil, false, err
	}
	if err := markFocus(ctx, tx, []*Row{x}, []int64{h.state.id}); err != nil {
		return nil, false, err
	}
	return x, true, nil
}

// row is the task with its progress and delegations.
func (h *held) row(ctx context.Context, tx *sql.Tx) (*Row, error) {
	x := h.brief()
	lines, err := linesOf(ctx, tx, h.work.end)
	if err != nil {
		return nil, err
	}
	var delegations []decide.Delegation
	var happened []incidentOf
	err = each(ctx, tx, selectDelegations, []any{h.state.name}, func(r columns) {
		d := scanOfTask(r)
		delegations = append(delegations, d.d)
		x.Seq = max(x.Seq, d.d.Last)
		for _, i := range d.events {
			happened = append(happened, incidentOf{i, d.d.ID})
		}
	})
	if err != nil {
		return nil, err
	}
	t := h.task()
	x.Task = decide.File(&t, lines, delegations, eventsOf(happened))
	onto(&x.Task, h.state.carried)
	return x, nil
}

// brief is the task without its progress and delegations.
func (h *held) brief() *Row {
	t := h.task()
	return &Row{Task: decide.File(&t, nil, nil, nil), AgentID: t.Agent, LastProgress: t.Progress, ProgressCount: t.ProgressCount, EndedMs: t.EndedAt,
		Gone: h.state.gone, Version: t.Version, Seq: t.Last}
}

// incidentOf is something that has happened to the delegation of that id.
type incidentOf struct {
	incident
	delegation string
}

// eventsOf is what has happened to the delegations of a task, as its file tells it, oldest first.
func eventsOf(happened []incidentOf) []decide.DelegationEvent {
	slices.SortStableFunc(happened, func(a, b incidentOf) int { return int(a.Seq - b.Seq) })
	var events []decide.DelegationEvent
	for _, h := range happened {
		events = append(events, decide.DelegationEvent{Type: eventWord(h.Type), DelegationID: h.delegation, At: isoOf(h.At), Note: h.Note})
	}
	return events
}

// linesOf are the lines of progress of a task whose last one has that id, oldest first.
func linesOf(ctx context.Context, tx *sql.Tx, end int64) (lines []string, err error) {
	if end == 0 {
		return nil, nil
	}
	err = each(ctx, tx, selectLines, []any{end}, func(r columns) { lines = append(lines, r.Text(0)) })
	slices.Reverse(lines)
	return lines, err
}

// markFocus says which of these tasks are in focus. ids are their rows' own.
func markFocus(ctx context.Context, tx *sql.Tx, rows []*Row, ids []int64) error {
	focused := map[string]int64{}
	for i, x := range rows {
		if x.Status != coordination.StateInProgress || x.Gone {
			continue
		}
		id, asked := focused[x.AgentID]
		if !asked {
			if err := each(ctx, tx, selectFocus, []any{x.AgentID}, func(r columns) { id = r.Int(2) }); err != nil {
				return err
			}
			focused[x.AgentID] = id
		}
		x.Focus = id == ids[i]
	}
	return nil
}

// cells is a row that was read by database/sql.
type cells []any

func (c cells) Int(i int) int64 {
	n, _ := c[i].(int64)
	return n
}

func (c cells) Text(i int) string {
	switch v := c[i].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

// each reads the rows of an answer.
func each(ctx context.Context, tx *sql.Tx, query string, args []any, do func(columns)) error {
	return some(ctx, tx, query, args, func(r columns) bool {
		do(r)
		return true
	})
}

// some is each for as long as do gives true.
func some(ctx context.Context, tx *sql.Tx, query string, args []any, do func(columns) bool) error {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("read tasks: %w", err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return fmt.Errorf("read tasks: %w", err)
	}
	row, into := make(cells, len(names)), make([]any, len(names))
	for i := range row {
		into[i] = &row[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("read tasks: %w", err)
		}
		if !do(row) {
			return nil
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read tasks: %w", err)
	}
	return nil
}
