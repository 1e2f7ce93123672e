package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
)

// readTeam reads whom a configuration names as agents. Its error is a *settings.Error if the configuration cannot be used, and
// os.ErrNotExist if there is none. Everything that is wrong or odd is logged, each with its place.
func readTeam(path string, getenv func(string) string, logger *slog.Logger) (coordination.ConfigApplied, error) {
	loaded, findings := config.Load(path, getenv)
	settings.LogFindings(logger, findings)
	if err := findings.Err(); err != nil {
		return coordination.ConfigApplied{}, settings.Unusable(path, err)
	}
	if !loaded.Found {
		return coordination.ConfigApplied{}, fmt.Errorf("read configuration %s: %w", path, os.ErrNotExist)
	}
	return loaded.Applied(), nil
}
