package monitor

import (
	"cmp"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/workspace"
)

// tasksAnswer answers GET /api/agents/:id/tasks.
type tasksAnswer struct {
	AgentID string            `json:"agentId"`
	Tasks   []boardTask       `json:"tasks"`
	Count   int               `json:"count"`
	Invalid []workspace.Fault `json:"invalid,omitempty"`
}

// taskAnswer answers GET /api/agents/:id/tasks/:taskId. Source is the task's stated origin, or else Location.
type taskAnswer struct {
	AgentID  string     `json:"agentId"`
	Task     *boardTask `json:"task"`
	Source   string     `json:"source"`
	Location location   `json:"location"`
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
	DerivedFromSeq         int64    `json:"derivedFromSeq,omitempty"`
}

func listTasks(b board, p *parameters, agent string) (*tasksAnswer, error) {
	status := p.word("status", TaskStates...)
	if p.err != nil {
		return nil, p.err
	}
	list, faults, err := sortedTasks(b, agent, status)
	return &tasksAnswer{AgentID: agent, Tasks: list, Count: len(list), Invalid: faults}, err
}

func listBlocked(b board, agent string) (*blockedAnswer, error) {
	list, faults, err := sortedTasks(b, agent, coordination.StateBlocked)
	blocked := make([]blockedTask, len(list))
	for i, t := range list {
		blocked[i] = blockedTask{ID: t.ID, Description: t.Description, BlockedReason: t.BlockedReason, UnblockedBy: t.UnblockedBy,
			UnblockedAction: t.UnblockedAction, UnblockRequestCount: t.UnblockRequestCount, EscalationState: t.EscalationState,
			LastUnblockerIndex: t.LastUnblockerIndex, LastUnblockRequestAt: t.LastUnblockRequestAt,
			UnblockRequestFailures: t.UnblockRequestFailures, LastActivity: t.LastActivity, DerivedFromSeq: t.DerivedFromSeq}
	}
	return &blockedAnswer{AgentID: agent, BlockedTasks: blocked, Count: len(blocked), Invalid: faults}, err
}

// sortedTasks are an agent's tasks of a status, "" for any, sorted by byUrgency.
func sortedTasks(b board, agent, status string) ([]boardTask, []workspace.Fault, error) {
	list, faults, err := b.tasks(agent, status)
	slices.SortFunc(list, func(a, b boardTask) int { return byUrgency(&a.Task, &b.Task) })
	return list, faults, err
}

// byUrgency sorts tasks by priority (urgent, high, medium, low, others), then newest first with unreadable times last,
// then by id.
func byUrgency(a, b *taskfile.Task) int {
	return cmp.Or(cmp.Compare(urgency(a.Priority), urgency(b.Priority)), -cmp.Compare(createdAt(a), createdAt(b)), cmp.Compare(a.ID, b.ID))
}

var priorities = []string{"urgent", "high", "medium", "low"}

func urgency(priority string) int {
	if i := slices.Index(priorities, priority); i >= 0 {
		return i
	}
	return len(priorities)
}

func createdAt(t *taskfile.Task) float64 {
	ms, ok := coordination.ParseTime(t.Created)
	if !ok {
		return -maxInstantMs
	}
	return ms
}

// showTask answers with an open task, or else the newest finished one with the id. A missing task is a regular answer
// too.
func (s *Server) showTask(b board, agent, id string) (*taskAnswer, error) {
	task, where, err := b.task(agent, id)
	if err != nil {
		return nil, err
	}
	a := &taskAnswer{AgentID: agent, Task: task, Source: string(where), Location: where}
	switch where {
	case locatedActive:
		a.Source = cmp.Or(task.Source, a.Source)
	case locatedHistory:
		if s.opts.Rules == coordination.RulesV1 {
			task.Status = coordination.StateCompleted // the original reports every task in the history as completed
		}
	}
	return a, nil
}
