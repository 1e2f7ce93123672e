package monitor

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/agents"
	"github.com/pronto-lab/openclawd/projections/sandboxes"
	"github.com/pronto-lab/openclawd/workspace"
)

// agentsPath is the list of agents; a single agent's resources are below it.
const agentsPath = "/api/agents"

// agentsAnswer answers GET /api/agents.
type agentsAnswer struct {
	Agents []*agentAnswer `json:"agents"`
	Count  int            `json:"count"`
}

type agentAnswer struct {
	ID             string            `json:"id"`
	WorkspaceDir   string            `json:"workspaceDir"`
	HasCurrentTask bool              `json:"hasCurrentTask"`
	TaskCount      int               `json:"taskCount"` // open tasks; where task files are read, all files, even without a task
	Name           string            `json:"name,omitempty"`
	Kind           string            `json:"kind"`        // main, utility, unknown
	CurrentTask    *currentTask      `json:"currentTask"` // null if none
	TaskCounts     map[string]int    `json:"taskCounts"`  // by status
	DerivedFromSeq int64             `json:"derivedFromSeq,omitempty"`
	Invalid        []workspace.Fault `json:"invalid,omitempty"`
	agentState
}

// currentTask is the task an agent works on. ID or Title may be "".
type currentTask struct {
	ID    string `json:"id,omitempty"`
	Title string `json:"title,omitempty"`
}

func (a *agentsAnswer) describe(ctx context.Context, v *view) error {
	return v.describeAgents(ctx, a.Agents)
}

func (a *agentAnswer) describe(ctx context.Context, v *view) error {
	return v.describeAgents(ctx, []*agentAnswer{a})
}

// describeAgents adds configuration and state.
func (v *view) describeAgents(ctx context.Context, list []*agentAnswer) error {
	ids := make([]string, len(list))
	for i, a := range list {
		ids[i] = a.ID
	}
	states, err := agents.Read(ctx, v.tx, ids, time.UnixMilli(int64(v.now)))
	if err != nil {
		return err
	}
	probes, err := sandboxes.Last(ctx, v.tx, "")
	if err != nil {
		return err
	}
	kept := sandboxes.States(probes)
	for _, a := range list {
		id := strings.ToLower(a.ID)
		a.Name, a.Kind = v.roster.Names[id], "unknown"
		switch {
		case v.roster.Utility[id]:
			a.Kind = coordination.KindUtility
		case v.roster.Main[id]:
			a.Kind = "main"
		}
		if a.agentState, err = v.agentState(ctx, a, states[id]); err != nil {
			return err
		}
		a.Sandbox = sandboxes.StateOf(kept, id)
	}
	return nil
}

// listAgents answers GET /api/agents: all agents on the board, by id.
func (s *Server) listAgents(c echo.Context) error {
	return s.fromBoard(c, func(b board) (any, error) {
		ids, err := b.agents()
		if err != nil {
			return nil, err
		}
		a := &agentsAnswer{Agents: make([]*agentAnswer, len(ids)), Count: len(ids)}
		for i, id := range ids {
			if a.Agents[i], err = b.agent(id); err != nil {
				return nil, unknownAgent(err, id)
			}
		}
		return a, nil
	})
}

// showAgent answers all paths below /api/agents/:id.
func (s *Server) showAgent(c echo.Context) error {
	parts := segmentsOf(c, agentsPath+"/")
	if len(parts) < 2 || parts[0] == "" || parts[len(parts)-1] == "" {
		return notFound("Not found")
	}
	id, action, rest := parts[0], parts[1], parts[2:]
	if len(rest) == 0 {
		switch action {
		case "plans":
			return s.listPlans(c, id)
		case "continuation":
			return s.explainAgent(c, id)
		}
	}
	return s.fromBoard(c, func(b board) (any, error) {
		there, err := b.has(id)
		switch {
		case err != nil:
			return nil, err
		case !there:
			return nil, noAgent(id)
		}
		body, err := s.agentResource(b, parametersOf(c), id, action, rest)
		return body, unknownAgent(err, id)
	})
}

// agentResource reads the requested resource of an agent from the board.
func (s *Server) agentResource(b board, p *parameters, id, action string, rest []string) (any, error) {
	switch {
	case action == "tasks" && len(rest) > 0:
		return s.showTask(b, id, strings.Join(rest, "/"))
	case len(rest) > 0:
		return nil, notFound("Unknown action: " + coordination.Shown(action+"/"+strings.Join(rest, "/")))
	}
	switch action {
	case "info":
		return b.agent(id)
	case "tasks":
		return listTasks(b, p, id)
	case "blocked":
		return listBlocked(b, id)
	case "current":
		return b.current(id)
	case "history":
		return showHistory(b, p, id)
	}
	return nil, notFound("Unknown action: " + coordination.Shown(action))
}

func noAgent(id string) *problem { return notFound("Agent not found: " + coordination.Shown(id)) }

// unknownAgent is the answer for an agent whose workspace has disappeared.
func unknownAgent(err error, id string) error {
	if errors.Is(err, workspace.ErrNoAgent) {
		return noAgent(id)
	}
	return err
}

// segmentsOf splits the path after a prefix at slashes and decodes each segment once.
func segmentsOf(c echo.Context, prefix string) []string {
	parts := strings.Split(strings.TrimPrefix(c.Request().URL.EscapedPath(), prefix), "/")
	for i, part := range parts {
		if decoded, err := url.PathUnescape(part); err == nil {
			parts[i] = decoded
		}
	}
	return parts
}

func (s *Server) answerFiles(c echo.Context, body any) error {
	s.position(c)
	return writeJSON(c, http.StatusOK, body)
}
