package server

import (
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/config"
)

// configStatus is how the configuration stands, for whoever looks after the server.
type configStatus struct {
	File     string    `json:"file"`
	Found    bool      `json:"found"`    // when it was read last
	Hash     string    `json:"hash"`     // of what is in force
	LoadedAt time.Time `json:"loadedAt"` // when that was read; zero: defaults are in force
	Error    string    `json:"error"`    // why the file as it is now is not in force; "" where it is
	Errors   int       `json:"errors"`   // findings in the file as it is now
	Warnings int       `json:"warnings"`
	Restart  []string  `json:"restart"` // settings that changed since the start and wait for the next one
}

// liveConfig is openclaw.json while the program runs: what is in force, and what its files looked like when they were read last.
// Whoever has the turn reads, changes the main file and puts in force; anybody may ask for the status and for what is in force.
type liveConfig struct {
	path    string
	getenv  func(string) string
	logger  *slog.Logger
	later   chan time.Duration // after which the files are to be read again
	changed chan struct{}      // has one when what is in force may be another one; for the bots

	turn  sync.Mutex // of the next three
	files []string
	seen  []os.FileInfo // of files; nil where one is not there
	told  config.Findings

	unsupported []config.Unsupported // that was logged last

	mu      sync.Mutex     // within turn
	inForce *config.Config // the last good one, else the defaults; changed with both locks held
	status  configStatus   // likewise
}

func newLiveConfig(path string, getenv func(string) string, logger *slog.Logger) *liveConfig {
	c := &liveConfig{path: path, getenv: getenv, logger: logger, later: make(chan time.Duration, 1), changed: make(chan struct{}, 1), inForce: config.Default(), files: []string{path}}
	c.status = configStatus{File: path, Hash: c.inForce.Hash()}
	return c
}

// read reads the files as they are now. Its error says why they cannot be used.
func (c *liveConfig) read() (*config.Config, config.Findings, error) {
	before := look(c.files)
	loaded, findings := config.Load(c.path, c.getenv)
	findings = append(findings, catalogue.Check(loaded)...)
	if !slices.Equal(c.files, loaded.Files) {
		c.files = loaded.Files
		before = look(c.files)
	}
	c.seen = before
	if err := findings.Err(); err != nil {
		return loaded, findings, settings.Unusable(c.path, err)
	}
	if !loaded.Found && c.inForce.Found {
		return loaded, findings, &settings.Error{Setting: "configuration", Value: c.path, Err: errors.New("the file is gone"),
			Mend: "put it back; until then the last one stays in force"}
	}
	return loaded, findings, nil
}

// moved reports whether a file is not the one that was read.
func (c *liveConfig) moved() bool {
	c.turn.Lock()
	defer c.turn.Unlock()
	return !unmoved(look(c.files), c.seen)
}

// watched are the files of which a change may be one of the configuration.
func (c *liveConfig) watched() []string {
	c.turn.Lock()
	defer c.turn.Unlock()
	return slices.Clone(c.files)
}

// forgetTold has findings logged again, though they are those that were logged last.
func (c *liveConfig) forgetTold() {
	c.turn.Lock()
	defer c.turn.Unlock()
	c.told, c.unsupported = nil, nil
}

func look(files []string) []os.FileInfo {
	seen := make([]os.FileInfo, len(files))
	for i, file := range files {
		if info, err := os.Stat(file); err == nil {
			seen[i] = info
		}
	}
	return seen
}

// unmoved reports whether files that were looked at twice are the same, as far as that shows.
func unmoved(now, then []os.FileInfo) bool {
	return slices.EqualFunc(now, then, func(a, b os.FileInfo) bool {
		if a == nil || b == nil {
			return a == nil && b == nil
		}
		return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode()
	})
}

// tell logs findings, and what the files set and openclawd does not go by, unless they are those that were logged last.
func (c *liveConfig) tell(loaded *config.Config, findings config.Findings) {
	if !slices.Equal(findings, c.told) {
		settings.LogFindings(c.logger, findings)
		c.told = findings
	}
	if !slices.Equal(loaded.Unsupported, c.unsupported) {
		settings.LogUnsupported(c.logger, loaded)
		c.unsupported = loaded.Unsupported
	}
}

// note changes the status.
func (c *liveConfig) note(change func(*configStatus)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.status)
}

// keep notes what has been read, and that it is in force.
func (c *liveConfig) keep(loaded *config.Config, findings config.Findings, at time.Time, restart []string) {
	c.note(func(s *configStatus) {
		c.inForce = loaded
		s.Found, s.Hash, s.Error, s.Errors, s.Warnings, s.Restart = loaded.Found, loaded.Hash(), "", 0, findings.Count(config.Warning), restart
		if loaded.Found {
			s.LoadedAt = at
		}
	})
	select {
	case c.changed <- struct{}{}:
	default: // it is looked for already
	}
}

// refuse notes what has been read, and why it is not in force.
func (c *liveConfig) refuse(loaded *config.Config, findings config.Findings, err error) {
	c.note(func(s *configStatus) {
		s.Found, s.Error, s.Errors, s.Warnings = loaded.Found, err.Error(), findings.Count(config.Error), findings.Count(config.Warning)
	})
}
