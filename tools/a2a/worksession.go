package a2a

import (
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/a2a"
	"github.com/pronto-lab/openclawd/projections/conversation"
	projected "github.com/pronto-lab/openclawd/projections/run"
)

// belonging is what says which work session and which task a message or a delegation belongs to.
type belonging struct {
	from             tool.Caller
	agent            string // who asks
	explicit, taskID string // that are named
	session, to      string // of a message: the key of the session that sends it, and the agent that gets it
}

// workSession finds the work session that a message or a delegation belongs to, and its task: the one that is named, that of the task, the
// caller's own, that of the task which the agent has in focus, that in which the session and the target talked last, unless it is archived, else
// a new one. What a run sends without any of these is one work session.
func (c *Coordinator) workSession(tx eventstore.Tx, b *belonging) (ws, task string, err error) {
	if ws, task, err = c.knownWorkSession(tx, b); ws == "" && err == nil {
		ws = workSessionPrefix + c.o.NewID()
	}
	return ws, task, err
}

// knownWorkSession is workSession, "" where that is a new one and nothing else belongs to it.
func (c *Coordinator) knownWorkSession(tx eventstore.Tx, b *belonging) (ws, task string, err error) {
	from, explicit, taskID := b.from, b.explicit, b.taskID
	if explicit != "" {
		if taskID == "" && explicit == from.WorkSessionID {
			taskID = from.TaskID
		}
		return explicit, taskID, nil
	}
	if taskID != "" {
		if ws, err = c.workSessionOf(tx, taskID); ws != "" || err != nil {
			return ws, taskID, err
		}
	}
	if taskID == "" {
		taskID = from.TaskID
	}
	focus, focusSession, err := c.focus(tx, b.agent, taskID)
	if err != nil {
		return "", "", err
	}
	if from.WorkSessionID != "" {
		if focusSession == from.WorkSessionID {
			taskID = focus
		}
		return from.WorkSessionID, taskID, nil
	}
	if taskID == "" {
		taskID, ws = focus, focusSession
	}
	if ws == "" && taskID != b.taskID {
		ws, err = c.workSessionOf(tx, taskID)
	}
	if ws != "" || err != nil {
		return ws, taskID, err
	}
	if ws, err = c.continued(tx, b); ws != "" || err != nil {
		return ws, taskID, err
	}
	if from.RunID == "" {
		return "", taskID, nil
	}
	one, _, err := projected.Load(tx, from.RunID)
	if err != nil {
		return "", "", fmt.Errorf("find the work session of run %s: %w", from.RunID, err)
	}
	return RunWorkSession(run.RootOf(from.RunID, one.RetryOf)), taskID, nil
}

// continued is the work session in which a session and an agent talked last outside of tasks, whatever turn of the user that was in; else the one
// in which the run that sends has sent something already. It is "" for none, and for one that is archived: then something new begins.
func (c *Coordinator) continued(tx eventstore.Tx, b *belonging) (string, error) {
	if b.session == "" {
		return "", nil
	}
	last, found, err := projection.LastSent(tx, b.session, b.to)
	if err == nil && !found && b.from.RunID != "" {
		if last, found, err = projection.LastSent(tx, b.session, ""); last.RequesterRun != b.from.RunID {
			found = false
		}
	}
	if !found || err != nil {
		return "", err
	}
	active, known, err := conversation.LastActivity(tx, last.WorkSessionID)
	if !known {
		active = last.CreatedAt
	}
	if err != nil || c.o.Now().UnixMilli()-active > coordination.ArchiveAfterMs {
		return "", err
	}
	return last.WorkSessionID, nil
}

// focus is the task that an agent has in focus, and its work session; "" where another task is known.
func (c *Coordinator) focus(tx eventstore.Tx, agent, other string) (task, ws string, err error) {
	if other != "" || c.o.Tasks == nil {
		return "", "", nil
	}
	if task, ws, err = c.o.Tasks.Focus(tx, agent); err != nil {
		return "", "", fmt.Errorf("find what agent %s has in focus: %w", agent, err)
	}
	if why := checkIDs(argument{"task", task}, argument{"work session", ws}); why != nil {
		c.o.Logger.Debug("the task that an agent has in focus is left out", "agent", agent, "err", why.reason)
		return "", "", nil
	}
	return task, ws, nil
}

// workSessionOf is the work session of a task, "" if that is not known.
func (c *Coordinator) workSessionOf(tx eventstore.Tx, taskID string) (ws string, err error) {
	if c.o.Tasks == nil {
		return conversation.WorkSessionOfTask(tx, taskID)
	}
	return c.o.Tasks.WorkSession(tx, taskID)
}
