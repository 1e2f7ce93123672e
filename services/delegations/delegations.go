// Package delegations records in the tasks of agents what sub-agents do for them: it implements messenger.Tasks. It reads and appends
// only within transactions of the messenger.
package delegations

import (
	"strings"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// Service implements messenger.Tasks. It has no state.
type Service struct{}

// Focus implements messenger.Tasks: it returns the task in progress that the agent turned to last.
func (Service) Focus(tx eventstore.Tx, agentID string) (taskID, workSessionID string, err error) {
	return tasks.Focus(tx, strings.ToLower(agentID))
}

// WorkSession implements messenger.Tasks. A task without one has that of its newest event.
func (Service) WorkSession(tx eventstore.Tx, taskID string) (string, error) {
	t, found, err := tasks.Load(tx, taskID)
	switch {
	case err != nil:
		return "", err
	case found && t.WorkSessionID != "":
		return t.WorkSessionID, nil
	}
	return conversations.WorkSessionOfTask(tx, taskID)
}
