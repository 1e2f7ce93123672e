package monitor

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/workspace"
)

// currentAnswer answers GET /api/agents/:id/current. TaskSummary is the task's title; TaskID is what names it in the file.
type currentAnswer struct {
	AgentID        string  `json:"agentId"`
	HasTask        bool    `json:"hasTask"`
	Content        *string `json:"content"` // of CURRENT_TASK.md
	TaskSummary    *string `json:"taskSummary"`
	TaskID         *string `json:"taskId"`
	State          string  `json:"state"` // task, none, error: the last task ended with one
	DerivedFromSeq int64   `json:"derivedFromSeq,omitempty"`
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// historyAnswer answers GET /api/agents/:id/history.
type historyAnswer struct {
	AgentID        string            `json:"agentId"`
	History        string            `json:"history"` // Markdown
	Months         []string          `json:"months"`  // newest first
	CurrentMonth   *string           `json:"currentMonth"`
	HasHistory     bool              `json:"hasHistory"`
	DerivedFromSeq int64             `json:"derivedFromSeq,omitempty"` // the end of the last task in it
	Invalid        []workspace.Fault `json:"invalid,omitempty"`
}

// defaultHistory is how many pieces of a month are answered with unless somebody asks for others.
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

// plansAnswer answers GET /api/agents/:id/plans.
type plansAnswer struct {
	AgentID string            `json:"agentId"`
	Plans   []json.RawMessage `json:"plans"`
	Count   int               `json:"count"`
	Invalid []workspace.Fault `json:"invalid,omitempty"`
}

// listPlans reads plans from files, whoever keeps the tasks.
func (s *Server) listPlans(c echo.Context, agent string) error {
	reading, err := s.opts.Workspace.Begin(c.Request().Context())
	if err != nil {
		return err
	}
	defer reading.End()
	plans, faults, err := reading.Plans(agent)
	if errors.Is(err, workspace.ErrNoAgent) {
		err = s.unlessKnown(c.Request().Context(), agent)
	}
	if err != nil {
		return err
	}
	slices.SortStableFunc(plans, func(a, b workspace.Plan) int { return cmp.Compare(planTime(&b), planTime(&a)) })
	list := make([]json.RawMessage, len(plans))
	for i := range plans {
		list[i] = plans[i].JSON
	}
	return s.answerFiles(c, plansAnswer{AgentID: agent, Plans: list, Count: len(list), Invalid: faults})
}

// unlessKnown refuses an agent without a workspace that is not on the board either.
func (s *Server) unlessKnown(ctx context.Context, agent string) error {
	if s.opts.OwnTasks == nil {
		return noAgent(agent)
	}
	return s.opts.Store.View(ctx, func(tx *sql.Tx) error {
		b, err := newLogBoard(ctx, &view{Options: &s.opts, tx: tx}, nil)
		if err != nil {
			return err
		}
		if there, err := b.has(agent); !there && err == nil {
			return noAgent(agent)
		}
		return err
	})
}

// planTime is the latest that a plan says of when it changed, in ms since 1970; 0 where it says nothing.
func planTime(p *workspace.Plan) float64 {
	ms, _ := coordination.ParseTime(cmp.Or(p.Text("updatedAt"), p.Text("createdAt"), p.Text("submittedAt")))
	return ms
}

// teamStateAnswer answers GET /api/team-state.
type teamStateAnswer struct {
	Version       json.RawMessage   `json:"version"`
	Agents        json.RawMessage   `json:"agents"` // as they are in the file, or teamMember by id
	LastUpdatedMs float64           `json:"lastUpdatedMs"`
	Invalid       []workspace.Fault `json:"invalid,omitempty"`
}

func (s *Server) showTeamState(c echo.Context) error {
	return s.fromBoard(c, func(b board) (any, error) { return b.team() })
}
