package tasks

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Both take any number of tasks: the ids of their last lines, and their own ids.
const selectLines = `WITH RECURSIVE l(task, text, previous) AS (
 SELECT p.task, p.text, p.previous FROM json_each(?) j CROSS JOIN task_progress p ON p.id = j.value
 UNION ALL SELECT p.task, p.text, p.previous FROM l CROSS JOIN task_progress p ON p.id = l.previous) SELECT task, text FROM l`

var selectDelegationsOf = "SELECT d." + strings.Join(delegationColumns, ", d.") +
	", t.task_id, t.name FROM json_each(?) j CROSS JOIN task_delegations d ON d.task = j.value CROSS JOIN tasks t ON t.id = d.task ORDER BY d.id"

// ByID returns a task with its progress and delegations.
func ByID(ctx context.Context, tx *sql.Tx, taskID string) (row *Row, found bool, err error) {
	return byID(ctx, tx, taskID, true)
}

// Brief returns a task as in lists: its cost does not grow with the task's progress.
func Brief(ctx context.Context, tx *sql.Tx, taskID string) (row *Row, found bool, err error) {
	return byID(ctx, tx, taskID, false)
}

const selectLabels = `SELECT j.value ->> 1, substr(t.description, 1, 2048), t.status FROM json_each(?) j CROSS JOIN tasks t ON t.name = j.value ->> 0`

// Label is what names a task elsewhere: the beginning of its description, and its status.
type Label struct{ Description, Status string }

// Labels returns those of tasks by id; unknown tasks are absent.
func Labels(ctx context.Context, tx *sql.Tx, ids []string) (map[string]Label, error) {
	named := make([][2]string, len(ids))
	for i, id := range ids {
		named[i] = [2]string{nameOf(id), id}
	}
	list, err := json.Marshal(named)
	if err != nil {
		return nil, fmt.Errorf("encode ids: %w", err)
	}
	found := map[string]Label{}
	return found, projections.EachRow(ctx, tx, "read labels of tasks", selectLabels, []any{string(list)}, func(rows *sql.Rows) error {
		var id string
		var label Label
		err := rows.Scan(&id, &label.Description, &label.Status)
		found[id] = label
		return err
	})
}

func byID(ctx context.Context, tx *sql.Tx, taskID string, whole bool) (row *Row, found bool, err error) {
	var list []loadedTask
	err = each(ctx, tx, selectByName, []any{nameOf(taskID)}, func(r columns) { list = append(list, scanTask(r)) })
	if err != nil || len(list) == 0 {
		return nil, false, err
	}
	rows, err := rowsOf(ctx, tx, list, whole)
	if err != nil {
		return nil, false, err
	}
	return &rows[0], true, nil
}

// rowsOf converts tasks to rows: whole ones with their progress and delegations.
func rowsOf(ctx context.Context, tx *sql.Tx, found []loadedTask, whole bool) (rows []Row, err error) {
	if len(found) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(found))
	for i := range found {
		ids[i] = found[i].state.id
		rows = append(rows, *found[i].brief())
	}
	if whole {
		lines, err := linesOf(ctx, tx, found)
		if err != nil {
			return nil, err
		}
		delegations := map[int64][]delegation{}
		err = each(ctx, tx, selectDelegationsOf, []any{projections.JSONList(ids)}, func(r columns) {
			d := scanOfTask(r)
			delegations[d.task] = append(delegations[d.task], d)
		})
		if err != nil {
			return nil, err
		}
		for i, id := range ids {
			found[i].fill(&rows[i], lines[id], delegations[id])
		}
	}
	return rows, markFocus(ctx, tx, rows, ids)
}

// fill adds its progress and delegations to a task.
func (h *loadedTask) fill(x *Row, lines []string, delegations []delegation) {
	var list []task.Delegation
	var happened []incidentOf
	for i := range delegations {
		d := &delegations[i]
		list = append(list, d.d)
		x.Seq = max(x.Seq, d.d.Last)
		for _, what := range d.events {
			happened = append(happened, incidentOf{what, d.d.ID})
		}
	}
	t := h.task()
	x.Task = task.File(&t, lines, list, eventsOf(happened))
	onto(&x.Task, h.state.carried)
}

// brief returns the task without its progress and delegations.
func (h *loadedTask) brief() *Row {
	t := h.task()
	return &Row{Task: task.File(&t, nil, nil, nil), AgentID: t.Agent, LastProgress: t.Progress, ProgressCount: t.ProgressCount, EndedMs: t.EndedAt,
		Gone: h.state.gone, Version: t.Version, Seq: t.Last}
}

// incidentOf is an incident of the delegation of that id.
type incidentOf struct {
	incident
	delegation string
}

// eventsOf returns the events of a task's delegations as in its file, oldest first.
func eventsOf(happened []incidentOf) []task.DelegationEvent {
	slices.SortStableFunc(happened, func(a, b incidentOf) int { return int(a.Seq - b.Seq) })
	var events []task.DelegationEvent
	for _, h := range happened {
		events = append(events, task.DelegationEvent{Type: eventWord(h.Type), DelegationID: h.delegation, At: coordination.FormatTime(h.At), Note: h.Note})
	}
	return events
}

// linesOf returns the progress lines of tasks by the ids of their rows, oldest first.
func linesOf(ctx context.Context, tx *sql.Tx, found []loadedTask) (map[int64][]string, error) {
	var ends []int64
	for i := range found {
		if end := found[i].work.end; end != 0 {
			ends = append(ends, end)
		}
	}
	lines := make(map[int64][]string, len(ends))
	err := each(ctx, tx, selectLines, []any{projections.JSONList(ends)}, func(r columns) { lines[r.Int(0)] = append(lines[r.Int(0)], r.Text(1)) })
	for _, of := range lines {
		slices.Reverse(of)
	}
	return lines, err
}

// markFocus marks those of these tasks that are in focus. ids are the ids of their rows.
func markFocus(ctx context.Context, tx *sql.Tx, rows []Row, ids []int64) error {
	focused := map[string]int64{}
	for i := range rows {
		x := &rows[i]
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

// each reads the rows of a query.
func each(ctx context.Context, tx *sql.Tx, query string, args []any, do func(columns)) error {
	return some(ctx, tx, query, args, func(r columns) bool {
		do(r)
		return true
	})
}

// some is each, as long as do returns true.
func some(ctx context.Context, tx *sql.Tx, query string, args []any, do func(columns) bool) error {
	err := projections.Reading(ctx, tx).Query(query, args, func(r eventstore.Row) error {
		if !do(r) {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("read tasks: %w", err)
	}
	return nil
}

// errEnough ends the reading of rows early.
var errEnough = errors.New("enough")
