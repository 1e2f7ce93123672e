package server

import (
	"context"
	"path/filepath"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/services/overrides"
)

// runOverrides synchronizes until ctx ends. Where another node writes, that does.
func (p *Program) runOverrides(ctx context.Context) error {
	if p.follows() {
		return nil
	}
	return p.overrides.Run(ctx)
}

// newOverrides synchronizes the category overrides file of the state directory with the log.
func (p *Program) newOverrides() *overrides.Sync {
	return overrides.New(overrides.Options{
		Path: filepath.Join(p.opts.StateDir, overrides.Name), Database: p.log.Path(), Agreement: database.OverridesFile(p.log.Path()),
		Log: p.log.Paced(), Watcher: p.watcher, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "overrides"),
	})
}
