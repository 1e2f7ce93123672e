package server

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/mcp"
	"github.com/pronto-lab/openclawd/tools/effects"
)

// openEffects opens what agents reach outside of openclawd: the MCP servers, and the record of calls, in which what the previous process has
// left open becomes unknown.
func (p *Program) openEffects(ctx context.Context, a *agents) error {
	a.effects = effects.New(effects.Options{Log: p.log.Decided(), Now: p.opts.Now, NewID: uuid.NewString, Logger: a.logger})
	a.mcp = mcp.New(mcp.Options{Config: p.newConfiguration().InForce, Logger: p.opts.Logger.With("component", "mcp"), Getenv: p.opts.getenv,
		Version: buildinfo.Read().Version, Grants: cmp.Or(p.opts.StateDir, filepath.Dir(p.opts.DB)), Called: a.metrics.recordMCP})
	if _, err := a.effects.Recover(ctx); err != nil {
		return fmt.Errorf("close the tool calls of the previous process: %w", err)
	}
	return nil
}
