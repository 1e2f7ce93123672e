package settings

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/pronto-lab/openclawd/config"
)

// FileName is the configuration file in a state directory.
const FileName = "openclaw.json"

// File is the path of the configuration of a state directory.
func File(stateDir string) string { return filepath.Join(stateDir, FileName) }

// Unusable reports that the configuration at path cannot be used.
func Unusable(path string, err error) error {
	return &config.SettingError{Setting: "configuration", Value: path, Err: err,
		HintText: "openclawd config check " + path + " lists all errors"}
}

// LogUnsupported logs the settings that openclawd ignores: one line per group, with their positions.
func LogUnsupported(logger *slog.Logger, c *config.Config) {
	for _, group := range config.Groups() {
		level, message := slog.LevelWarn, "the configuration has settings that are not supported yet and have no effect"
		if group == config.NoMatter {
			level, message = slog.LevelInfo, "the configuration has settings that are not relevant to openclawd"
		}
		var places []string
		for i := range c.Unsupported {
			if u := &c.Unsupported[i]; u.Group == group {
				places = append(places, u.String()+" at "+u.Where())
			}
		}
		if len(places) > 0 {
			logger.Log(context.Background(), level, message, "settings", strings.Join(places, ", "), "hint", "openclawd config check lists them")
		}
	}
}

// LogFindings logs all findings about a configuration with their positions.
func LogFindings(logger *slog.Logger, findings config.Findings) {
	for i := range findings {
		f := &findings[i]
		level := slog.LevelWarn
		if f.Severity == config.Error {
			level = slog.LevelError
		}
		logger.Log(context.Background(), level, f.Message, "at", f.Where(), "setting", f.Path, "code", f.Code, "hint", f.Hint)
	}
}
