package settings

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/pronto-lab/openclawd/config"
)

// FileName is the configuration's file in a state directory.
const FileName = "openclaw.json"

// File is where a state directory has its configuration.
func File(stateDir string) string { return filepath.Join(stateDir, FileName) }

// Unusable says that the configuration at path cannot be used.
func Unusable(path string, err error) error {
	return &Error{Setting: "configuration", Value: path, Err: err,
		Mend: "openclawd config check " + path + " lists everything that is to be mended"}
}

// LogUnsupported logs what a configuration sets and openclawd does not go by: one line for each group, with the lines of the files.
func LogUnsupported(logger *slog.Logger, c *config.Config) {
	for _, group := range config.Groups() {
		level, message := slog.LevelWarn, "the configuration sets what openclawd has not built yet: it has no effect"
		if group == config.NoMatter {
			level, message = slog.LevelInfo, "the configuration sets what does not matter to openclawd"
		}
		var places []string
		for i := range c.Unsupported {
			if u := &c.Unsupported[i]; u.Group == group {
				places = append(places, u.String()+" at "+u.Where())
			}
		}
		if len(places) > 0 {
			logger.Log(context.Background(), level, message, "settings", strings.Join(places, ", "), "mend", "openclawd config check lists them")
		}
	}
}

// LogFindings logs everything that is wrong or odd in a configuration, each with its place.
func LogFindings(logger *slog.Logger, findings config.Findings) {
	for i := range findings {
		f := &findings[i]
		level := slog.LevelWarn
		if f.Severity == config.Error {
			level = slog.LevelError
		}
		logger.Log(context.Background(), level, f.Message, "at", f.Where(), "setting", f.Path, "code", f.Code, "mend", f.Mend)
	}
}
