package messenger

import (
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// workContext holds what determines the work session and task of a message or delegation.
type workContext struct {
	from             tool.Caller
	agent            string // the caller's agent
	explicit, taskID string // named by the request
	session, to      string // of a message: key of the sending session, and the target agent
}

// workSession finds the work session of a message or delegation, and its task: the named one, that of the task, the caller's own, that
// of the task in focus, the last one between session and target unless it is archived, else a new one. Without any of these the messages
// of a run share one.
func (s *Service) workSession(tx eventstore.Tx, b *workContext) (ws, task string, err error) {
	if ws, task, err = s.knownWorkSession(tx, b); ws == "" && err == nil {
		ws = workSessionPrefix + s.o.NewID()
	}
	return ws, task, err
}

// knownWorkSession is workSession, but "" for a new one that nothing else belongs to.
func (s *Service) knownWorkSession(tx eventstore.Tx, b *workContext) (ws, task string, err error) {
	from, explicit, taskID := b.from, b.explicit, b.taskID
	if explicit != "" {
		if taskID == "" && explicit == from.WorkSessionID {
			taskID = from.TaskID
		}
		return explicit, taskID, nil
	}
	if taskID != "" {
		if ws, err = s.workSessionOf(tx, taskID); ws != "" || err != nil {
			return ws, taskID, err
		}
	}
	if taskID == "" {
		taskID = from.TaskID
	}
	focus, focusSession, err := s.focus(tx, b.agent, taskID)
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
		ws, err = s.workSessionOf(tx, taskID)
	}
	if ws != "" || err != nil {
		return ws, taskID, err
	}
	if ws, err = s.continued(tx, b); ws != "" || err != nil {
		return ws, taskID, err
	}
	if from.RunID == "" {
		return "", taskID, nil
	}
	one, _, err := runs.Load(tx, from.RunID)
	if err != nil {
		return "", "", fmt.Errorf("find the work session of run %s: %w", from.RunID, err)
	}
	return RunWorkSession(run.RootOf(from.RunID, one.RetryOf)), taskID, nil
}

// continued returns the work session of the last exchange of a session and an agent outside of tasks, in whatever turn of the user; else
// that of earlier messages of the sending run. It is "" for none, and for an archived one: then a new one begins.
func (s *Service) continued(tx eventstore.Tx, b *workContext) (string, error) {
	if b.session == "" {
		return "", nil
	}
	last, found, err := flows.LastSent(tx, b.session, b.to)
	if err == nil && !found && b.from.RunID != "" {
		if last, found, err = flows.LastSent(tx, b.session, ""); last.RequesterRun != b.from.RunID {
			found = false
		}
	}
	if !found || err != nil {
		return "", err
	}
	active, known, err := conversations.LastActivity(tx, last.WorkSessionID)
	if !known {
		active = last.CreatedAt
	}
	if err != nil || s.o.Now().UnixMilli()-active > coordination.ArchiveAfterMs {
		return "", err
	}
	return last.WorkSessionID, nil
}

// focus returns the task that an agent has in focus, and its work session; "" if another task is known.
func (s *Service) focus(tx eventstore.Tx, agent, other string) (task, ws string, err error) {
	if other != "" || s.o.Tasks == nil {
		return "", "", nil
	}
	if task, ws, err = s.o.Tasks.Focus(tx, agent); err != nil {
		return "", "", fmt.Errorf("find the task in focus of agent %s: %w", agent, err)
	}
	if why := checkIDs(namedValue{"task", task}, namedValue{"work session", ws}); why != nil {
		s.o.Logger.Debug("ignoring an invalid task in focus", "agent", agent, "err", why.reason)
		return "", "", nil
	}
	return task, ws, nil
}

// workSessionOf returns the work session of a task, "" if it is not known.
func (s *Service) workSessionOf(tx eventstore.Tx, taskID string) (ws string, err error) {
	if s.o.Tasks == nil {
		return conversations.WorkSessionOfTask(tx, taskID)
	}
	return s.o.Tasks.WorkSession(tx, taskID)
}
