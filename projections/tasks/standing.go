package tasks

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

var selectStanding = selectTask + fromTasks + " WHERE t.over = 0 AND t.agent = ?" +
	" AND t.status IN ('in_progress', 'blocked', 'pending_approval', 'interrupted') ORDER BY " + inOrder

const selectBacklog = "SELECT t.task_id, t.name, t.priority, t.depends_on, t.start_date, t.status FROM tasks t" +
	" WHERE t.over = 0 AND t.agent = ? AND t.status IN ('backlog', 'pending') ORDER BY " + inOrder

// Standing returns the tasks of an agent that are in progress, or wait for approval, in the order of lists, complete
// except for their progress lines.
func Standing(tx eventstore.Tx, agent string) (all []task.Task, err error) {
	err = tx.Query(selectStanding, []any{strings.ToLower(agent)}, func(r eventstore.Row) error {
		h := scanTask(r)
		all = append(all, h.task())
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load tasks of %s: %w", agent, err)
	}
	return all, nil
}

// Backlog returns the tasks of an agent that have not started, including those that files call pending, in the order of
// lists, with what determines whether they can begin.
func Backlog(tx eventstore.Tx, agent string) (all []task.Task, err error) {
	agent = strings.ToLower(agent)
	return projections.ReadAll(tx, fmt.Sprintf("load backlog of %s", agent), selectBacklog, []any{agent}, func(r eventstore.Row) task.Task {
		return task.Task{ID: cmp.Or(r.Text(0), r.Text(1)), Agent: agent, Status: r.Text(5), Priority: r.Text(2),
			Backlog: task.Backlog{Assignee: agent, DependsOn: projections.ListOf[string](r.Text(3)), StartDate: r.Text(4)}}
	})
}
