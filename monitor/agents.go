package monitor

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/workspace"
)

// agentsPath is the list of agents; what there is to know of one is below it.
const agentsPath = "/api/agents"

// agentsAnswer answers GET /api/agents.
type agentsAnswer struct {
	Agents []agentAnswer `json:"agents"`
	Count  int           `json:"count"`
}

// agentAnswer is what a workspace shows of its agent, with what the configuration says of it.
type agentAnswer struct {
	ID             string            `json:"id"`
	WorkspaceDir   string            `json:"workspaceDir"`
	HasCurrentTask bool              `json:"hasCurrentTask"`
	TaskCount      int               `json:"taskCount"` // task files, those included that hold no task
	Name           string            `json:"name,omitempty"`
	Kind           string            `json:"kind"`        // main, utility, unknown
	CurrentTask    *currentTask      `json:"currentTask"` // null for none
	TaskCounts     map[string]int    `json:"taskCounts"`  // by status
	Invalid        []workspace.Fault `json:"invalid,omitempty"`
}

// currentTask is the task that an agent is at. ID or Title may be "".
type currentTask struct {
	ID    string `json:"id,omitempty"`
	Title string `json:"title,omitempty"`
}

// listAgents answers GET /api/agents: everybody who has a workspace, by id.
func (s *Server) listAgents(c echo.Context) error {
	reading, err := s.opts.Workspace.Begin(c.Request().Context())
	if err != nil {
		return err
	}
	defer reading.End()
	ids, err := s.opts.Workspace.Agents()
	if err != nil {
		return err
	}
	return s.answerAgents(c, reading, ids, func(list []agentAnswer) any { return agentsAnswer{Agents: list, Count: len(list)} })
}

// showAgent answers everything below /api/agents/:id.
func (s *Server) showAgent(c echo.Context) error {
	parts := segmentsOf(c, agentsPath+"/")
	if len(parts) < 2 || parts[0] == "" || parts[len(parts)-1] == "" {
		return notFound("Not found")
	}
	id, action, rest := parts[0], parts[1], parts[2:]
	there, err := s.opts.Workspace.HasAgent(id)
	switch {
	case err != nil:
		return err
	case !there:
		return notFound("Agent not found: " + shortened(id))
	case action == "tasks" && len(rest) > 0:
		return s.showTask(c, id, strings.Join(rest, "/"))
	case len(rest) > 0:
		return notFound("Unknown action: " + shortened(strings.Join(parts[1:], "/")))
	}
	reading, err := s.opts.Workspace.Begin(c.Request().Context())
	if err != nil {
		return err
	}
	defer reading.End()
	switch action {
	case "info":
		return s.answerAgents(c, reading, []string{id}, func(list []agentAnswer) any { return list[0] })
	case "tasks":
		return s.listTasks(c, reading, id)
	case "current":
		return s.showCurrent(c, id)
	case "history":
		return s.showHistory(c, id)
	case "blocked":
		return s.listBlocked(c, reading, id)
	case "plans":
		return s.listPlans(c, reading, id)
	}
	return notFound("Unknown action: " + shortened(action))
}

// answerAgents reads workspaces first, and then, in a short transaction, what the configuration says of their agents.
func (s *Server) answerAgents(c echo.Context, reading *workspace.Reading, ids []string, body func([]agentAnswer) any) error {
	p := parametersOf(c)
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	list := make([]agentAnswer, 0, len(ids))
	for _, id := range ids {
		a, err := s.agent(reading, id)
		if err != nil {
			return err
		}
		list = append(list, a)
	}
	return s.answer(c, minSeq, func(_ context.Context, v *view) (any, error) {
		for i := range list {
			list[i].describe(v.roster)
		}
		return body(list), nil
	})
}

func (s *Server) agent(reading *workspace.Reading, id string) (agentAnswer, error) {
	files := s.opts.Workspace
	a := agentAnswer{ID: id, WorkspaceDir: files.AgentDir(id), TaskCounts: map[string]int{}}
	tasks, err := reading.Tasks(id)
	if err != nil {
		return a, unknownAgent(err, id)
	}
	a.TaskCount, a.Invalid = tasks.Files, tasks.Faults
	for i := range tasks.Tasks {
		a.TaskCounts[tasks.Tasks[i].Status]++
	}
	current, err := files.Current(id)
	if err != nil {
		return a, unknownAgent(err, id)
	}
	if a.HasCurrentTask = current.State == taskfile.CurrentTask; a.HasCurrentTask {
		title, err := s.titleOf(id, &current)
		if err != nil {
			return a, err
		}
		a.CurrentTask = &currentTask{ID: kept(current.TaskID), Title: kept(title)}
	}
	return a, nil
}

// kept is a text for a list of many agents: without the file that it is part of, and of a bounded length.
func kept(text string) string {
	const shown = 1_000
	if len(text) > shown {
		text = strings.ToValidUTF8(text[:shown], "") + "..."
	}
	return strings.Clone(text)
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
