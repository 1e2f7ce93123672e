package monitor

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/policy"
	"github.com/pronto-lab/openclawd/projections/sandboxes"
)

const (
	mcpServersPath = "/api/mcp/servers"
	rightsPath     = "/api/tools/rights"
	sandboxesPath  = "/api/sandboxes"
)

// Tools says what tools there are in this process.
type Tools interface {
	// MCPServers returns how the MCP servers of the configuration are, by name.
	MCPServers() []health.MCPServer
	// Rights says which tools the first configured agents have, at most so many agents; with an agent, each tool of this one. Its errors are
	// *policy.NoAgentError.
	Rights(agent string, most int) (policy.Rights, error)
}

// MCPServersAnswer answers GET /api/mcp/servers.
type MCPServersAnswer struct {
	Servers []health.MCPServer `json:"servers"`
	Count   int                `json:"count"`
	Note    string             `json:"note,omitempty"` // why there are none
}

func (s *Server) listMCPServers(c echo.Context) error {
	a := MCPServersAnswer{Servers: []health.MCPServer{}}
	if s.opts.Tools == nil {
		a.Note = "no agents run here: another gateway starts their MCP servers"
	} else if a.Servers = listOf(s.opts.Tools.MCPServers()); len(a.Servers) == 0 {
		a.Note = "no MCP servers are configured: add them to mcp.servers of openclaw.json"
	}
	a.Count = len(a.Servers)
	s.position(c)
	c.Response().Header().Set("Cache-Control", "no-store")
	return writeJSON(c, http.StatusOK, a)
}

// showRights answers GET /api/tools/rights: which tools agents may call, and why not.
func (s *Server) showRights(c echo.Context) error {
	p := parametersOf(c)
	switch {
	case p.err != nil:
		return p.err
	case s.opts.Tools == nil:
		return noAgents()
	}
	answer, err := s.opts.Tools.Rights(p.first("agent"), maxMatrix)
	if err != nil {
		return refuseAgent(err)
	}
	s.position(c)
	return writeJSON(c, http.StatusOK, answer)
}

// sandboxAnswer is what the last probe of an agent's sandbox has found.
type sandboxAnswer struct {
	AgentID    string                        `json:"agentId"`
	Kind       string                        `json:"kind"`
	Sandboxed  bool                          `json:"sandboxed"` // nothing was reached that should not be
	Network    bool                          `json:"network"`   // commands are meant to have it
	Workspace  string                        `json:"workspace"`
	Findings   []coordination.SandboxFinding `json:"findings"`
	Error      string                        `json:"error,omitempty"` // why the probe could not run
	ProbedAtMs int64                         `json:"probedAtMs"`
}

// SandboxesAnswer answers GET /api/sandboxes.
type SandboxesAnswer struct {
	Sandboxes []sandboxAnswer `json:"sandboxes"`
	Count     int             `json:"count"`
	AsOfSeq   int64           `json:"asOfSeq"`
}

// listSandboxes lists the last probe of each kind of sandbox of each agent, the last one of an agent first. Agents whose sandbox was never
// probed are absent.
func (s *Server) listSandboxes(c echo.Context) error {
	p := parametersOf(c)
	agent := p.agent("agent")
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		probes, err := sandboxes.Last(ctx, v.tx, agent)
		list := each(probes, func(p *sandboxes.Probe) sandboxAnswer {
			return sandboxAnswer{AgentID: p.AgentID, Kind: p.Kind, Sandboxed: p.Sandboxed, Network: p.Network, Workspace: p.Workspace, Findings: listOf(p.Findings),
				Error: p.Error, ProbedAtMs: p.ProbedAtMs}
		})
		return SandboxesAnswer{Sandboxes: list, Count: len(list), AsOfSeq: v.asOf}, err
	})
}
