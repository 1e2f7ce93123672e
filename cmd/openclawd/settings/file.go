package settings

import (
	"context"
	"log/slog"
	"path/filepath"

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
