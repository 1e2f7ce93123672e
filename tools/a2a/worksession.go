package a2a

import (
	"cmp"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/conversation"
	projected "github.com/pronto-lab/openclawd/projections/run"
)

// belonging is what says which work session and which task a message or a delegation belongs to.
type belonging struct {
	from                tool.Caller
	explicit, taskID    string // that are named
	focus, focusSession string // the task that the agent who asks has in focus, and its work session; "" where they do not matter
}

// belongingOf looks at what the agent has in focus, if nothing else says what this belongs to. It must not be called in a transaction.
func (c *Coordinator) belongingOf(from tool.Caller, agent, explicit, taskID string) belonging {
	b := belonging{from: from, explicit: explicit, taskID: taskID}
	if explicit != "" || from.WorkSessionID != "" {
		return b
	}
	if b.taskID = cmp.Or(taskID, from.TaskID); b.taskID != "" || c.o.CurrentTask == nil {
		return b
	}
	task, ws := c.o.CurrentTask(agent)
	if why := checkIDs(argument{"task", task}, argument{"work session", ws}); why != nil {
		c.o.Logger.Debug("the task that an agent has in focus is left out", "agent", agent, "err", why.reason)
		return b
	}
	if task != "" {
		b.focus, b.focusSession = task, ws
	}
	return b
}

// workSession finds the work session that a message or a delegation belongs to, and its task: the one that is named, that of the task, the
// caller's own, that of the task which the agent has in focus, else a new one. What a run sends without any of these is one work session.
func (c *Coordinator) workSession(tx eventstore.Tx, b *belonging) (ws, task string, err error) {
	if ws, task, err = knownWorkSession(tx, b); ws == "" && err == nil {
		ws = workSessionPrefix + c.o.NewID()
	}
	return ws, task, err
}

// knownWorkSession is workSession, "" where that is a new one and nothing else belongs to it.
func knownWorkSession(tx eventstore.Tx, b *belonging) (ws, task string, err error) {
	from, explicit, taskID := b.from, b.explicit, b.taskID
	if explicit != "" {
		if taskID == "" && explicit == from.WorkSessionID {
			taskID = from.TaskID
		}
		return explicit, taskID, nil
	}
	if taskID != "" {
		if ws, err = conversation.WorkSessionOfTask(tx, taskID); ws != "" || err != nil {
			return ws, taskID, err
		}
	}
	if from.WorkSessionID != "" {
		if taskID == "" {
			taskID = from.TaskID
		}
		return from.WorkSessionID, taskID, nil
	}
	if b.focus != "" {
		if taskID = b.focus; b.focusSession != "" {
			return b.focusSession, taskID, nil
		}
		if ws, err = conversation.WorkSessionOfTask(tx, taskID); ws != "" || err != nil {
			return ws, taskID, err
		}
	}
	if from.RunID == "" {
		return "", taskID, nil
	}
	one, _, err := projected.Load(tx, from.RunID)
	if err != nil {
		return "", "", fmt.Errorf("find the work session of run %s: %w", from.RunID, err)
	}
	return runWorkSession(run.RootOf(from.RunID, one.RetryOf)), taskID, nil
}
