package server

import (
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/server/settings"
)

// configStatus is the state of the configuration, for operators.
type configStatus struct {
	File     string    `json:"file"`
	Found    bool      `json:"found"`    // last time it was read
	Hash     string    `json:"hash"`     // of the one in force
	LoadedAt time.Time `json:"loadedAt"` // when that was read; zero: defaults are in force
	Error    string    `json:"error"`    // why the current file is not in force; "" if it is
	Errors   int       `json:"errors"`   // findings in the current file
	Warnings int       `json:"warnings"`
	Restart  []string  `json:"restart"` // settings that changed since the start and take effect at the next one
}

// liveConfig manages openclaw.json while the program runs: the configuration in force, and the state of its files when last read. The
// holder of turn reads, changes the main file and applies it; the status and the configuration in force can be read by anyone.
type liveConfig struct {
	path    string
	getenv  func(string) string
	logger  *slog.Logger
	later   chan time.Duration // when the files are to be read again
	changed chan struct{}      // has one when the configuration in force may have changed; for the bots

	turn  sync.Mutex // guards the next three
	files []string
	seen  []os.FileInfo // of files; nil for a missing one
	told  config.Findings

	unsupported []config.Unsupported // last logged

	mu      sync.Mutex     // guarded by turn
	inForce *config.Config // the last good one, else the defaults; changed with both locks held
	status  configStatus   // likewise
}

func newLiveConfig(path string, getenv func(string) string, logger *slog.Logger) *liveConfig {
	c := &liveConfig{path: path, getenv: getenv, logger: logger, later: make(chan time.Duration, 1), changed: make(chan struct{}, 1), inForce: config.Default(), files: []string{path}}
	c.status = configStatus{File: path, Hash: c.inForce.Hash()}
	return c
}

// read reads the current files. Its error says why they cannot be used.
func (c *liveConfig) read() (*config.Config, config.Findings, error) {
	before := statFiles(c.files)
	loaded, findings := config.Load(c.path, c.getenv)
	findings = append(findings, catalogue.Check(loaded)...)
	findings = append(findings, settings.CheckCluster(loaded)...)
	findings = append(findings, settings.CheckKeys(loaded, c.getenv)...)
	if !slices.Equal(c.files, loaded.Files) {
		c.files = loaded.Files
		before = statFiles(c.files)
	}
	c.seen = before
	if err := findings.Err(); err != nil {
		return loaded, findings, settings.Unusable(c.path, err)
	}
	if !loaded.Found && c.inForce.Found {
		return loaded, findings, &config.SettingError{Setting: "configuration", Value: c.path, Err: errors.New("the file is gone"),
			HintText: "restore it; until then the last configuration stays in force"}
	}
	return loaded, findings, nil
}

// moved reports whether a file differs from the one that was read.
func (c *liveConfig) moved() bool {
	c.turn.Lock()
	defer c.turn.Unlock()
	return !unmoved(statFiles(c.files), c.seen)
}

// watched lists the files whose changes may change the configuration.
func (c *liveConfig) watched() []string {
	c.turn.Lock()
	defer c.turn.Unlock()
	return slices.Clone(c.files)
}

// resetLogged makes tell log the same findings again.
func (c *liveConfig) resetLogged() {
	c.turn.Lock()
	defer c.turn.Unlock()
	c.told, c.unsupported = nil, nil
}

func statFiles(files []string) []os.FileInfo {
	seen := make([]os.FileInfo, len(files))
	for i, file := range files {
		if info, err := os.Stat(file); err == nil {
			seen[i] = info
		}
	}
	return seen
}

// unmoved reports whether files are unchanged between two looks, as far as that can be seen.
func unmoved(now, then []os.FileInfo) bool {
	return slices.EqualFunc(now, then, func(a, b os.FileInfo) bool {
		if a == nil || b == nil {
			return a == nil && b == nil
		}
		return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode()
	})
}

// logFindings logs findings and ignored settings, unless they are those logged last.
func (c *liveConfig) logFindings(loaded *config.Config, findings config.Findings) {
	if !slices.Equal(findings, c.told) {
		settings.LogFindings(c.logger, findings)
		c.told = findings
	}
	if !slices.Equal(loaded.Unsupported, c.unsupported) {
		settings.LogUnsupported(c.logger, loaded)
		c.unsupported = loaded.Unsupported
	}
}

// updateStatus changes the status.
func (c *liveConfig) updateStatus(change func(*configStatus)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.status)
}

// recordInForce records that the configuration was read and is in force.
func (c *liveConfig) recordInForce(loaded *config.Config, findings config.Findings, at time.Time, restart []string) {
	c.updateStatus(func(s *configStatus) {
		c.inForce = loaded
		s.Found, s.Hash, s.Error, s.Errors, s.Warnings, s.Restart = loaded.Found, loaded.Hash(), "", 0, findings.Count(config.Warning), restart
		if loaded.Found {
			s.LoadedAt = at
		}
	})
	select {
	case c.changed <- struct{}{}:
	default: // already being looked for
	}
}

// refuse records that the configuration was read, and why it is not in force.
func (c *liveConfig) refuse(loaded *config.Config, findings config.Findings, err error) {
	c.updateStatus(func(s *configStatus) {
		s.Found, s.Error, s.Errors, s.Warnings = loaded.Found, err.Error(), findings.Count(config.Error), findings.Count(config.Warning)
	})
}
