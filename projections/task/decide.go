package task

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
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
	selectStarter = "SELECT t.session_key FROM tasks t WHERE t.over = 0 AND t.agent = ? AND t.status IN ('in_progress', 'pending_approval')"
)

// Load gives a task, within the transaction that is going to append. One that was known from a file that is not there any more is not found.
func Load(tx eventstore.Tx, taskID string) (t *decide.Task, found bool, err error) {
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

// scanTask reads what selectTask gives.
func scanTask(r columns) held {
	return held{state: scanState(r), work: scanWork(r, len(stateColumns)), known: true}
}

// Focus is the task that an agent has in focus: of those in progress the one that it turned to last; "" for none. workSession is its own. One that
// is known from a file alone is not in focus, unless CURRENT_TASK.md names it.
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

// Active is the task that an agent means who names none: the one in focus, else the first of those in progress; "" for none.
func Active(tx eventstore.Tx, agent string) (taskID string, err error) {
	if taskID, _, err = Focus(tx, agent); taskID != "" || err != nil {
		return taskID, err
	}
	return FirstOf(tx, agent, coordination.StateInProgress)
}

// FirstOf is the first task of an agent in that state by the order of lists: priority, due date, start date, age; "" for none.
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

// OpenOf is how many tasks an agent has that are not over.
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

// States are those of tasks, by id. What is not known is missing, and so is what was known from a file that is not there any more.
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
	err := tx.Query(selectStates, []any{list(names)}, func(r eventstore.Row) error {
		states[byName[r.Text(0)]] = r.Text(1)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look how tasks stand: %w", err)
	}
	return states, nil
}

// HasOpen reports whether a session has started a task that is in progress, or waits for approval.
func HasOpen(tx eventstore.Tx, agent, sessionKey string) (bool, error) {
	var starters []string
	err := tx.Query(selectStarter, []any{strings.ToLower(agent)}, func(r eventstore.Row) error {
		starters = append(starters, keyOf(r.Text(0)))
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("look for an open task of a session: %w", err)
	}
	return sessionKey != "" && slices.Contains(starters, keyOf(sessionKey)), nil
}

// keyOf is a session's key as it is compared; one that cannot be read stays as it is.
func keyOf(text string) string {
	k, err := coordination.ParseSessionKey(text)
	if err != nil {
		return text
	}
	return k.String()
}

// LoadDelegation gives a delegation.
func LoadDelegation(tx eventstore.Tx, id string) (d *decide.Delegation, found bool, err error) {
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

// DelegationsOf are those of a task, oldest first.
func DelegationsOf(tx eventstore.Tx, taskID string) (all []decide.Delegation, err error) {
	err = tx.Query(selectDelegations, []any{nameOf(taskID)}, func(r eventstore.Row) error {
		all = append(all, scanOfTask(r).d)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load delegations: %w", err)
	}
	return all, nil
}

// NumberOfDelegations is how many a task has.
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

// scanOfTask reads what selectDelegation gives.
func scanOfTask(r columns) delegation {
	x := scanDelegation(r)
	n := len(delegationColumns)
	x.d.TaskID = idOf(r.Text(n), r.Text(n+1))
	return x
}
