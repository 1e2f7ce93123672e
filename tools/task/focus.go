package task

import (
	"strings"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/conversation"
	projection "github.com/pronto-lab/openclawd/projections/task"
)

// Focus implements a2a.Tasks: of the tasks that an agent has in progress, the one that it turned to last.
func (d *Desk) Focus(tx eventstore.Tx, agentID string) (taskID, workSessionID string, err error) {
	return projection.Focus(tx, strings.ToLower(agentID))
}

// WorkSession implements a2a.Tasks. That of a task which does not say it is the one that the newest of its events names.
func (d *Desk) WorkSession(tx eventstore.Tx, taskID string) (string, error) {
	t, found, err := projection.Load(tx, taskID)
	switch {
	case err != nil:
		return "", err
	case found && t.WorkSessionID != "":
		return t.WorkSessionID, nil
	}
	return conversation.WorkSessionOfTask(tx, taskID)
}
