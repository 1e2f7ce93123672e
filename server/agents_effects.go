package server

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/policy"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/mcp"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/tools/effects"
)

// openEffects opens what agents reach outside of openclawd: the MCP servers, and the record of calls, in which what the previous process has
// left open becomes unknown.
func (p *Program) openEffects(ctx context.Context, a *agents) error {
	a.effects = effects.New(effects.Options{Log: p.log.Decided(), Now: p.opts.Now, NewID: uuid.NewString, Logger: a.logger, Desk: a.calls})
	a.mcp = mcp.New(mcp.Options{Config: p.newConfiguration().InForce, Logger: p.opts.Logger.With("component", "mcp"), Getenv: p.opts.getenv,
		Version: buildinfo.Read().Version, Grants: cmp.Or(p.opts.StateDir, filepath.Dir(p.opts.DB)), Called: a.metrics.recordMCP})
	if _, err := a.effects.Recover(ctx); err != nil {
		return fmt.Errorf("close the tool calls of the previous process: %w", err)
	}
	return nil
}

// toolsOf is what the API says of tools; nil: another gateway runs the agents.
func (a *agents) toolsOf() monitor.Tools {
	if a == nil {
		return nil
	}
	return apiTools{a}
}

// apiTools implements monitor.Tools.
type apiTools struct{ agents *agents }

func (t apiTools) Rights(agent string, most int) (policy.Rights, error) {
	return t.agents.tools.Rights(agent, most)
}

func (t apiTools) MCPServers() []health.MCPServer {
	states := t.agents.mcp.States()
	list := make([]health.MCPServer, len(states))
	for i := range states {
		s := &states[i]
		list[i] = health.MCPServer{Name: s.Name, Transport: s.Transport, Launch: s.Launch, State: health.MCPState(s.State), Since: millis(s.Since), Version: s.Server,
			Protocol: s.Protocol, Tools: s.Tools, Problems: s.Problems, Starts: s.Starts, Failures: s.Failures, Error: s.Error, RetryAt: millis(s.RetryAt), Log: s.Log}
	}
	return list
}

// millis is a time in ms since 1970; 0 for none.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// schedulesOf is what the API changes of scheduled jobs; nil: another gateway keeps them.
func (a *agents) schedulesOf() monitor.Schedules {
	if a == nil {
		return nil
	}
	return a.schedules
}
