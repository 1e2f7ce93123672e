package task

import (
	"fmt"
	"strings"

	decide "github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
)

var selectStanding = selectTask + fromTasks + " WHERE t.over = 0 AND t.agent = ?" +
	" AND t.status IN ('in_progress', 'blocked', 'pending_approval', 'interrupted') ORDER BY " + inOrder

const selectBacklog = "SELECT t.task_id, t.name, t.priority, t.depends_on, t.start_date, t.status FROM tasks t" +
	" WHERE t.over = 0 AND t.agent = ? AND t.status IN ('backlog', 'pending') ORDER BY " + inOrder

// Standing are the tasks of an agent that are not over and have begun, or wait for approval, in the order of lists, whole but for their lines of progress.
func Standing(tx eventstore.Tx, agent string) (all []decide.Task, err error) {
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

// Backlog are the ids of the tasks of an agent that have not begun, those that files call pending among them, in the order of lists, with what says whether they can.
func Backlog(tx eventstore.Tx, agent string) (all []decide.Task, err error) {
	agent = strings.ToLower(agent)
	err = tx.Query(selectBacklog, []any{agent}, func(r eventstore.Row) error {
		all = append(all, decide.Task{ID: idOf(r.Text(0), r.Text(1)), Agent: agent, Status: r.Text(5), Priority: r.Text(2),
			Backlog: decide.Backlog{Assignee: agent, DependsOn: unlist[string](r.Text(3)), StartDate: r.Text(4)}})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load backlog of %s: %w", agent, err)
	}
	return all, nil
}
