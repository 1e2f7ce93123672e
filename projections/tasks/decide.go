package tasks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

var (
	selectTask   = "SELECT t." + strings.Join(stateColumns, ", t.") + ", w." + strings.Join(workColumns, ", w.")
	fromTasks    = " FROM tasks t CROSS JOIN task_work w ON w.id = t.id"
	selectByName = selectTask + fromTasks + " WHERE t.name = ?"

	selectDelegation    = "SELECT d." + strings.Join(delegationColumns, ", d.") + ", t.task_id, t.name FROM task_delegations d CROSS JOIN tasks t ON t.id = d.task"
	selectOneDelegation = selectDelegation + " WHERE d.name = ?"
	selectDelegations   = "SELECT d." + strings.Join(delegationColumns, ", d.") +
		", t.task_id, t.name FROM tasks t CROSS JOIN task_delegations d ON d.task = t.id WHERE t.name = ? ORDER BY d.id"
)

const (
	inOrder = "t.rank, t.due_at, t.start_at, t.created_at, t.id"
	said    = "CASE t.task_id WHEN '' THEN t.name ELSE t.task_id END"

	selectFocus = "SELECT " + said + `, t.work_session_id, t.id FROM tasks t CROSS JOIN task_work w ON w.id = t.id
 WHERE t.over = 0 AND t.agent = ? AND t.status = 'in_progress' AND w.focus > 0 ORDER BY w.focus DESC, ` + inOrder + " LIMIT 1"
	selectFirst   = "SELECT " + said + " FROM tasks t WHERE t.over = 0 AND t.agent = ? AND t.status = ? ORDER BY " + inOrder + " LIMIT 1"
	selectOpen    = "SELECT count(*) FROM tasks t WHERE t.over = 0 AND t.agent = ?"
	selectNumber  = "SELECT count(*) FROM tasks t CROSS JOIN task_delegations d ON d.task = t.id WHERE t.name = ?"
	selectStates  = "SELECT j.value, t.status FROM json_each(?) j CROSS JOIN tasks t ON t.name = j.value WHERE t.gone = 0"
	selectWaiters = "SELECT " + said + ` FROM tasks t WHERE t.over = 0 AND t.gone = 0 AND t.depends_on <> '[]'
 AND EXISTS (SELECT 1 FROM json_each(t.depends_on) d WHERE d.value = ?) ORDER BY ` + inOrder + " LIMIT 10"
	selectStarter = "SELECT t.session_key FROM tasks t WHERE t.over = 0 AND t.agent = ? AND t.status IN ('in_progress', 'pending_approval')"
)

// Load reads a task, within the transaction that is going to append. One that was known only from a file that no
// longer exists is not found.
func Load(tx eventstore.Tx, taskID string) (t *task.Task, found bool, err error) {
	err = tx.Query(selectByName, []any{nameOf(taskID)}, func(r eventstore.Row) error {
		h := scanTask(r)
		if !h.state.gone {
			loaded := h.task()
			t, found = &loaded, true
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("load task: %w", err)
	}
	return t, found, nil
}

// scanTask reads the columns of selectTask.
func scanTask(r columns) loadedTask {
	return loadedTask{state: scanState(r), work: scanWork(r, len(stateColumns)), known: true}
}

// Focus returns the task that an agent has in focus: of those in progress the one that it last turned to; "" if none.
// workSession is the task's. A task known only from a file is not in focus, unless CURRENT_TASK.md names it.
func Focus(tx eventstore.Tx, agent string) (taskID, workSession string, err error) {
	err = tx.Query(selectFocus, []any{strings.ToLower(agent)}, func(r eventstore.Row) error {
		taskID, workSession = r.Text(0), r.Text(1)
		return nil
	})
	if err != nil {
		return "", "", fmt.Errorf("find task in focus: %w", err)
	}
	return taskID, workSession, nil
}

// Active returns the default task of an agent: the one in focus, otherwise the first of those in progress; "" if none.
func Active(tx eventstore.Tx, agent string) (taskID string, err error) {
	if taskID, _, err = Focus(tx, agent); taskID != "" || err != nil {
		return taskID, err
	}
	return FirstOf(tx, agent, coordination.StateInProgress)
}

// FirstOf returns the first task of an agent in that state by the order of lists: priority, due date, start date, age;
// "" if none.
func FirstOf(tx eventstore.Tx, agent, status string) (taskID string, err error) {
	err = tx.Query(selectFirst, []any{strings.ToLower(agent), status}, func(r eventstore.Row) error {
		taskID = r.Text(0)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("find first task: %w", err)
	}
	return taskID, nil
}

// OpenOf returns the number of open tasks of an agent.
func OpenOf(tx eventstore.Tx, agent string) (n int, err error) {
	err = tx.Query(selectOpen, []any{strings.ToLower(agent)}, func(r eventstore.Row) error {
		n = int(r.Int(0))
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count open tasks: %w", err)
	}
	return n, nil
}

// States returns the states of tasks, by id. Unknown ones are missing, and so are those known only from a file that no
// longer exists.
func States(tx eventstore.Tx, ids []string) (map[string]string, error) {
	states := make(map[string]string, len(ids))
	if len(ids) == 0 {
		return states, nil
	}
	names := make([]string, len(ids))
	byName := make(map[string]string, len(ids))
	for i, id := range ids {
		names[i] = nameOf(id)
		byName[names[i]] = id
	}
	err := tx.Query(selectStates, []any{projections.JSONList(names)}, func(r eventstore.Row) error {
		states[byName[r.Text(0)]] = r.Text(1)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read states of tasks: %w", err)
	}
	return states, nil
}

// WaitingFor returns the first open tasks that depend on a task.
func WaitingFor(tx eventstore.Tx, taskID string) (ids []string, err error) {
	return projections.ReadAll(tx, "find tasks that wait for another", selectWaiters, []any{taskID}, func(r eventstore.Row) string { return r.Text(0) })
}

// HasOpen reports whether a session has started a task that is in progress, or waits for approval.
func HasOpen(tx eventstore.Tx, agent, sessionKey string) (bool, error) {
	var starters []string
	err := tx.Query(selectStarter, []any{strings.ToLower(agent)}, func(r eventstore.Row) error {
		starters = append(starters, coordination.NormalizeSessionKey(r.Text(0)))
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("find open task of a session: %w", err)
	}
	return sessionKey != "" && slices.Contains(starters, coordination.NormalizeSessionKey(sessionKey)), nil
}

// LoadDelegation reads a delegation.
func LoadDelegation(tx eventstore.Tx, id string) (d *task.Delegation, found bool, err error) {
	err = tx.Query(selectOneDelegation, []any{id}, func(r eventstore.Row) error {
		loaded := scanOfTask(r).d
		d, found = &loaded, true
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("load delegation: %w", err)
	}
	return d, found, nil
}

// DelegationsOf returns those of a task, oldest first.
func DelegationsOf(tx eventstore.Tx, taskID string) (all []task.Delegation, err error) {
	return projections.ReadAll(tx, "load delegations", selectDelegations, []any{nameOf(taskID)}, func(r eventstore.Row) task.Delegation {
		return scanOfTask(r).d
	})
}

// NumberOfDelegations returns how many a task has.
func NumberOfDelegations(tx eventstore.Tx, taskID string) (n int, err error) {
	err = tx.Query(selectNumber, []any{nameOf(taskID)}, func(r eventstore.Row) error {
		n = int(r.Int(0))
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count delegations: %w", err)
	}
	return n, nil
}

// scanOfTask reads the columns of selectDelegation.
func scanOfTask(r columns) delegation {
	x := scanDelegation(r)
	n := len(delegationColumns)
	x.d.TaskID = cmp.Or(r.Text(n), r.Text(n+1))
	return x
}
