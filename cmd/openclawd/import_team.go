package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/server/settings"
)

// readTeam reads the agents of a configuration. Its error is a *config.SettingError if the configuration cannot be used, and os.ErrNotExist
// if there is none. Every problem is logged with its position.
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
