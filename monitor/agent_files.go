package monitor

import (
	"encoding/json"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/workspace"
)

// currentAnswer answers GET /api/agents/:id/current. TaskSummary is the task's title; TaskID is its id in the file.
type currentAnswer struct {
	AgentID        string  `json:"agentId"`
	HasTask        bool    `json:"hasTask"`
	Content        *string `json:"content"` // of CURRENT_TASK.md
	TaskSummary    *string `json:"taskSummary"`
	TaskID         *string `json:"taskId"`
	State          string  `json:"state"` // task, none, error: the last task failed
	DerivedFromSeq int64   `json:"derivedFromSeq,omitempty"`
}

// historyAnswer answers GET /api/agents/:id/history.
type historyAnswer struct {
	AgentID        string            `json:"agentId"`
	History        string            `json:"history"` // Markdown
	Months         []string          `json:"months"`  // newest first
	CurrentMonth   *string           `json:"currentMonth"`
	HasHistory     bool              `json:"hasHistory"`
	DerivedFromSeq int64             `json:"derivedFromSeq,omitempty"` // end time of its last task
	Invalid        []workspace.Fault `json:"invalid,omitempty"`
}

// defaultHistory is the default number of entries of a month.
const defaultHistory = 50

func showHistory(b board, p *parameters, agent string) (*historyAnswer, error) {
	limit := p.integer("limit", defaultHistory, 1, maxLimit)
	month := p.first("month")
	if month != "" && !workspace.IsMonth(month) {
		p.refuse("month", month, "give a month such as 2026-02")
	}
	if p.err != nil {
		return nil, p.err
	}
	return b.history(agent, month, int(limit))
}

// teamStateAnswer answers GET /api/team-state.
type teamStateAnswer struct {
	Version       json.RawMessage   `json:"version"`
	Agents        json.RawMessage   `json:"agents"` // as in the file, or teamMember by id
	LastUpdatedMs float64           `json:"lastUpdatedMs"`
	Invalid       []workspace.Fault `json:"invalid,omitempty"`
}

func (s *Server) showTeamState(c echo.Context) error {
	return s.fromBoard(c, func(b board) (any, error) { return b.team() })
}
