package monitor

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/workspace"
)

// currentAnswer answers GET /api/agents/:id/current. TaskSummary is the task's title; TaskID is what names it in the file.
type currentAnswer struct {
	AgentID     string  `json:"agentId"`
	HasTask     bool    `json:"hasTask"`
	Content     *string `json:"content"`
	TaskSummary *string `json:"taskSummary"`
	TaskID      *string `json:"taskId"`
	State       string  `json:"state"` // task, none, error: the last task ended with one
}

func (s *Server) showCurrent(c echo.Context, agent string) error {
	current, err := s.opts.Workspace.Current(agent)
	if err != nil {
		return unknownAgent(err, agent)
	}
	title, err := s.titleOf(agent, &current)
	if err != nil {
		return err
	}
	a := currentAnswer{AgentID: agent, HasTask: current.State == taskfile.CurrentTask, TaskSummary: orNull(title), TaskID: orNull(current.TaskID),
		State: current.State}
	if current.Exists {
		a.Content = &current.Text
	}
	return s.answerFiles(c, a)
}

// titleOf is what people call the task that an agent is at: the tracker's text, the title of the task in focus, what CURRENT_TASK.md says
// of it, and only then its id.
func (s *Server) titleOf(agent string, current *workspace.Current) (string, error) {
	if current.Current.Text != "" || current.TaskID == "" {
		return current.Current.Text, nil
	}
	task, ok, err := s.opts.Workspace.Task(agent, current.TaskID)
	switch {
	case err != nil:
		return "", unknownAgent(err, agent)
	case ok && task.Description != taskfile.DefaultDescription:
		return task.Title(), nil
	}
	return cmp.Or(current.Description, current.TaskID), nil
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// historyAnswer answers GET /api/agents/:id/history.
type historyAnswer struct {
	AgentID      string            `json:"agentId"`
	History      string            `json:"history"` // Markdown
	Months       []string          `json:"months"`  // newest first
	CurrentMonth *string           `json:"currentMonth"`
	HasHistory   bool              `json:"hasHistory"`
	Invalid      []workspace.Fault `json:"invalid,omitempty"`
}

// defaultHistory is how many pieces of a month are answered with unless somebody asks for others.
const defaultHistory = 50

func (s *Server) showHistory(c echo.Context, agent string) error {
	p := parametersOf(c)
	limit := p.integer("limit", defaultHistory, 1, maxLimit)
	month := p.first("month")
	if month != "" && !workspace.IsMonth(month) {
		p.refuse("month", month, "give a month such as 2026-02")
	}
	if p.err != nil {
		return p.err
	}
	history, err := s.opts.Workspace.History(agent, month)
	if err != nil {
		return unknownAgent(err, agent)
	}
	a := historyAnswer{AgentID: agent, Months: append([]string{}, history.Months...), CurrentMonth: orNull(history.Month), Invalid: history.Faults}
	if a.HasHistory = history.Read != nil; a.HasHistory {
		a.History = history.Read.Last(int(limit))
	}
	return s.answerFiles(c, a)
}

// plansAnswer answers GET /api/agents/:id/plans.
type plansAnswer struct {
	AgentID string            `json:"agentId"`
	Plans   []json.RawMessage `json:"plans"`
	Count   int               `json:"count"`
	Invalid []workspace.Fault `json:"invalid,omitempty"`
}

func (s *Server) listPlans(c echo.Context, reading *workspace.Reading, agent string) error {
	plans, faults, err := reading.Plans(agent)
	if err != nil {
		return unknownAgent(err, agent)
	}
	slices.SortStableFunc(plans, func(a, b workspace.Plan) int { return cmp.Compare(planTime(&b), planTime(&a)) })
	list := make([]json.RawMessage, len(plans))
	for i := range plans {
		list[i] = plans[i].JSON
	}
	return s.answerFiles(c, plansAnswer{AgentID: agent, Plans: list, Count: len(list), Invalid: faults})
}

// planTime is the latest that a plan says of when it changed, in ms since 1970; 0 where it says nothing.
func planTime(p *workspace.Plan) float64 {
	ms, _ := coordination.ParseTime(cmp.Or(p.Text("updatedAt"), p.Text("createdAt"), p.Text("submittedAt")))
	return ms
}

// teamStateAnswer answers GET /api/team-state.
type teamStateAnswer struct {
	Version       json.RawMessage   `json:"version"`
	Agents        json.RawMessage   `json:"agents"` // as they are in the file
	LastUpdatedMs float64           `json:"lastUpdatedMs"`
	Invalid       []workspace.Fault `json:"invalid,omitempty"`
}

func (s *Server) showTeamState(c echo.Context) error {
	state, faults, err := s.opts.Workspace.TeamState()
	if err != nil {
		return err
	}
	a := teamStateAnswer{Version: json.RawMessage("1"), Agents: json.RawMessage("{}"), Invalid: faults}
	if _, ok := coordination.NumberValue(state["version"]); ok {
		a.Version = state["version"]
	}
	if agents := state["agents"]; len(agents) > 0 && agents[0] == '{' {
		a.Agents = agents
	}
	ok := false
	if a.LastUpdatedMs, ok = coordination.NumberValue(state["lastUpdatedMs"]); !ok {
		updated, _ := coordination.StringValue(state["updatedAt"])
		a.LastUpdatedMs, _ = coordination.ParseTime(updated)
	}
	return s.answerFiles(c, a)
}
