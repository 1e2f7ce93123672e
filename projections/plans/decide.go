package plans

import (
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/eventstore"
)

var (
	selectPlan    = "SELECT p." + strings.Join(planColumns, ", p.") + " FROM plans p"
	selectByName  = selectPlan + " WHERE p.name = ?"
	selectOfTask  = selectPlan + " WHERE p.task_id = ? AND p.agent = ? ORDER BY p.id DESC"
	selectPending = "SELECT count(*) FROM plans p WHERE p.agent = ? AND p.status = 'pending'"
)

// Load reads a plan, within the transaction that is going to append.
func Load(tx eventstore.Tx, planID string) (p *plan.Plan, found bool, err error) {
	err = tx.Query(selectByName, []any{nameOf(planID)}, func(r eventstore.Row) error {
		x := scanRow(r)
		p, found = &x.plan, true
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("load plan: %w", err)
	}
	return p, found, nil
}

// Of returns the plans of an agent for a task, newest first, as needed by a Gate. An empty task has none.
func Of(tx eventstore.Tx, agent, taskID string) (plans []*plan.Plan, err error) {
	if taskID == "" {
		return nil, nil
	}
	err = tx.Query(selectOfTask, []any{taskID, strings.ToLower(agent)}, func(r eventstore.Row) error {
		x := scanRow(r)
		plans = append(plans, &x.plan)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load plans of a task: %w", err)
	}
	return plans, nil
}

// PendingOf returns the number of pending plans of an agent.
func PendingOf(tx eventstore.Tx, agent string) (n int, err error) {
	err = tx.Query(selectPending, []any{strings.ToLower(agent)}, func(r eventstore.Row) error {
		n = int(r.Int(0))
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count pending plans: %w", err)
	}
	return n, nil
}
