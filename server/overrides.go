package server

import (
	"path/filepath"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/services/overrides"
)

// newOverrides synchronizes the category overrides file of the state directory with the log.
func (p *Program) newOverrides() *overrides.Sync {
	return overrides.New(overrides.Options{
		Path: filepath.Join(p.opts.StateDir, overrides.Name), Database: p.log.Path(), Agreement: database.OverridesFile(p.log.Path()),
		Log: p.log.Paced(), Watcher: p.watcher, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "overrides"),
	})
}
