package monitor

import (
	"cmp"
	"errors"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/workspace"
)

// tasksAnswer answers GET /api/agents/:id/tasks.
type tasksAnswer struct {
	AgentID string            `json:"agentId"`
	Tasks   []taskfile.Task   `json:"tasks"`
	Count   int               `json:"count"`
	Invalid []workspace.Fault `json:"invalid,omitempty"`
}

// taskAnswer answers GET /api/agents/:id/tasks/:taskId. Source is what the task says of where it comes from, or else, like Location, where
// it was found: active, history, not_found.
type taskAnswer struct {
	AgentID  string         `json:"agentId"`
	Task     *taskfile.Task `json:"task"`
	Source   string         `json:"source"`
	Location string         `json:"location"`
}

// blockedAnswer answers GET /api/agents/:id/blocked.
type blockedAnswer struct {
	AgentID      string            `json:"agentId"`
	BlockedTasks []blockedTask     `json:"blockedTasks"`
	Count        int               `json:"count"`
	Invalid      []workspace.Fault `json:"invalid,omitempty"`
}

type blockedTask struct {
	ID                     string   `json:"id"`
	Description            string   `json:"description"`
	BlockedReason          string   `json:"blockedReason,omitempty"`
	UnblockedBy            []string `json:"unblockedBy,omitempty"`
	UnblockedAction        string   `json:"unblockedAction,omitempty"`
	UnblockRequestCount    *float64 `json:"unblockRequestCount,omitempty"`
	EscalationState        string   `json:"escalationState,omitempty"`
	LastUnblockerIndex     *float64 `json:"lastUnblockerIndex,omitempty"`
	LastUnblockRequestAt   string   `json:"lastUnblockRequestAt,omitempty"`
	UnblockRequestFailures *float64 `json:"unblockRequestFailures,omitempty"`
	LastActivity           string   `json:"lastActivity"`
}

func (s *Server) listTasks(c echo.Context, reading *workspace.Reading, agent string) error {
	p := parametersOf(c)
	status := p.first("status")
	if p.err != nil {
		return p.err
	}
	list, faults, err := s.tasks(reading, agent, status)
	if err != nil {
		return err
	}
	return s.answerFiles(c, tasksAnswer{AgentID: agent, Tasks: list, Count: len(list), Invalid: faults})
}

func (s *Server) listBlocked(c echo.Context, reading *workspace.Reading, agent string) error {
	list, faults, err := s.tasks(reading, agent, coordination.StateBlocked)
	if err != nil {
		return err
	}
	blocked := make([]blockedTask, len(list))
	for i, t := range list {
		blocked[i] = blockedTask{ID: t.ID, Description: t.Description, BlockedReason: t.BlockedReason, UnblockedBy: t.UnblockedBy,
			UnblockedAction: t.UnblockedAction, UnblockRequestCount: t.UnblockRequestCount, EscalationState: t.EscalationState,
			LastUnblockerIndex: t.LastUnblockerIndex, LastUnblockRequestAt: t.LastUnblockRequestAt,
			UnblockRequestFailures: t.UnblockRequestFailures, LastActivity: t.LastActivity}
	}
	return s.answerFiles(c, blockedAnswer{AgentID: agent, BlockedTasks: blocked, Count: len(blocked), Invalid: faults})
}

// tasks reads an agent's tasks of a status, "" for any, the most urgent first; see byUrgency.
func (s *Server) tasks(reading *workspace.Reading, agent, status string) ([]taskfile.Task, []workspace.Fault, error) {
	read, err := reading.Tasks(agent)
	if err != nil {
		return nil, nil, unknownAgent(err, agent)
	}
	now := s.opts.Now().UTC().Format(timestampLayout)
	list := []taskfile.Task{}
	for _, t := range read.Tasks {
		if status == "" || t.Status == status {
			list = append(list, t.At(now))
		}
	}
	slices.SortFunc(list, byUrgency)
	return list, read.Faults, nil
}

// byUrgency orders tasks: urgent, high, medium, low, any other priority; among these the latest created first, those last whose time cannot
// be read; among these by id.
func byUrgency(a, b taskfile.Task) int {
	return cmp.Or(cmp.Compare(urgency(a.Priority), urgency(b.Priority)), -cmp.Compare(createdAt(&a), createdAt(&b)), cmp.Compare(a.ID, b.ID))
}

func urgency(priority string) int {
	order := [...]string{"urgent", "high", "medium", "low"}
	if i := slices.Index(order[:], priority); i >= 0 {
		return i
	}
	return len(order)
}

func createdAt(t *taskfile.Task) float64 {
	ms, ok := coordination.ParseTime(t.Created)
	if !ok {
		return -maxInstantMs
	}
	return ms
}

// showTask answers with an open task, or else with the newest finished one of that id. There being none is an answer too.
func (s *Server) showTask(c echo.Context, agent, id string) error {
	task, ok, err := s.opts.Workspace.Task(agent, id)
	if err != nil {
		return unknownAgent(err, agent)
	}
	if ok {
		task = task.At(s.opts.Now().UTC().Format(timestampLayout))
		return s.answerFiles(c, taskAnswer{AgentID: agent, Task: &task, Source: cmp.Or(task.Source, "active"), Location: "active"})
	}
	entry, err := s.opts.Workspace.HistoryOf(agent, id)
	switch {
	case err != nil:
		return unknownAgent(err, agent)
	case entry == nil:
		return s.answerFiles(c, taskAnswer{AgentID: agent, Source: "not_found", Location: "not_found"})
	}
	task = entry.Task()
	if s.opts.Rules == coordination.RulesV1 {
		task.Status = coordination.StateCompleted // the original takes everything in history for completed
	}
	return s.answerFiles(c, taskAnswer{AgentID: agent, Task: &task, Source: "history", Location: "history"})
}

// unknownAgent makes an answer of an agent whose workspace has gone.
func unknownAgent(err error, id string) error {
	if errors.Is(err, workspace.ErrNoAgent) {
		return notFound("Agent not found: " + shortened(id))
	}
	return err
}
