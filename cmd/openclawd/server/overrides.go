package server

import (
	"path/filepath"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/overrides"
)

// newOverrides keeps the file of category overrides in the state directory and the log the same.
func (p *Program) newOverrides() *overrides.Sync {
	return overrides.New(overrides.Options{
		Path: filepath.Join(p.opts.StateDir, overrides.Name), Database: p.log.Path(), Agreement: database.OverridesFile(p.log.Path()),
		Log: p.log, Watcher: p.watcher, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "overrides"),
	})
}
