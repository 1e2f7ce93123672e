package monitor

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/workspace"
)

// agentsPath is the list of agents; what there is to know of one is below it.
const agentsPath = "/api/agents"

// agentsAnswer answers GET /api/agents.
type agentsAnswer struct {
	Agents []*agentAnswer `json:"agents"`
	Count  int            `json:"count"`
}

// agentAnswer is an agent with its tasks in numbers, and with what the configuration says of it.
type agentAnswer struct {
	ID             string            `json:"id"`
	WorkspaceDir   string            `json:"workspaceDir"`
	HasCurrentTask bool              `json:"hasCurrentTask"`
	TaskCount      int               `json:"taskCount"` // open tasks; task files, where these are read, those included that hold no task
	Name           string            `json:"name,omitempty"`
	Kind           string            `json:"kind"`        // main, utility, unknown
	CurrentTask    *currentTask      `json:"currentTask"` // null for none
	TaskCounts     map[string]int    `json:"taskCounts"`  // by status
	DerivedFromSeq int64             `json:"derivedFromSeq,omitempty"`
	Invalid        []workspace.Fault `json:"invalid,omitempty"`
}

// currentTask is the task that an agent is at. ID or Title may be "".
type currentTask struct {
	ID    string `json:"id,omitempty"`
	Title string `json:"title,omitempty"`
}

func (a *agentsAnswer) describe(roster *coordination.Roster) {
	for _, agent := range a.Agents {
		agent.describe(roster)
	}
}

func (a *agentAnswer) describe(roster *coordination.Roster) {
	id := strings.ToLower(a.ID)
	a.Name, a.Kind = roster.Names[id], "unknown"
	switch {
	case roster.Utility[id]:
		a.Kind = coordination.KindUtility
	case roster.Main[id]:
		a.Kind = "main"
	}
}

// listAgents answers GET /api/agents: everybody who is on the board, by id.
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

// showAgent answers everything below /api/agents/:id.
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
		body, err := s.look(b, parametersOf(c), id, action, rest)
		return body, unknownAgent(err, id)
	})
}

// look reads from the board what is asked for of an agent.
func (s *Server) look(b board, p *parameters, id, action string, rest []string) (any, error) {
	switch {
	case action == "tasks" && len(rest) > 0:
		return s.showTask(b, id, strings.Join(rest, "/"))
	case len(rest) > 0:
		return nil, notFound("Unknown action: " + shortened(action+"/"+strings.Join(rest, "/")))
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
	return nil, notFound("Unknown action: " + shortened(action))
}

func noAgent(id string) *problem { return notFound("Agent not found: " + shortened(id)) }

// unknownAgent makes an answer of an agent whose workspace has gone.
func unknownAgent(err error, id string) error {
	if errors.Is(err, workspace.ErrNoAgent) {
		return noAgent(id)
	}
	return err
}

// segmentsOf is what stands in the path after a prefix, parted at slashes and decoded once each.
func segmentsOf(c echo.Context, prefix string) []string {
	parts := strings.Split(strings.TrimPrefix(c.Request().URL.EscapedPath(), prefix), "/")
	for i, part := range parts {
		if decoded, err := url.PathUnescape(part); err == nil {
			parts[i] = decoded
		}
	}
	return parts
}

// shortened repeats what somebody asked for, up to a length.
func shortened(text string) string {
	const shown = 80
	if runes := []rune(text); len(runes) > shown {
		return string(runes[:shown]) + "..."
	}
	return text
}

// answerFiles writes an answer that is made from files.
func (s *Server) answerFiles(c echo.Context, body any) error {
	s.position(c)
	return writeJSON(c, http.StatusOK, body)
}
