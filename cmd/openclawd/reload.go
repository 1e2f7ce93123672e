package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/watch"
	"github.com/pronto-lab/openclawd/config"
)

const (
	// settleTime is how long files have to stay as they are before what is wrong with them counts: an editor may still be writing.
	settleTime = 200 * time.Millisecond
	// reapplyTime is how long to wait before a configuration is told to the log again, where the log did not take it.
	reapplyTime = 5 * time.Second
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
// One goroutine at a time reads; anybody may ask for the status.
type liveConfig struct {
	path   string
	getenv func(string) string
	logger *slog.Logger

	inForce *config.Config // the last good one, else the defaults
	files   []string
	seen    []os.FileInfo // of files; nil where one is not there
	told    config.Findings

	mu     sync.Mutex
	status configStatus
}

func newLiveConfig(path string, getenv func(string) string, logger *slog.Logger) *liveConfig {
	c := &liveConfig{path: path, getenv: getenv, logger: logger, inForce: config.Default(), files: []string{path}}
	c.status = configStatus{File: path, Hash: c.inForce.Hash()}
	return c
}

// read reads the files as they are now. Its error says why they cannot be used.
func (c *liveConfig) read() (*config.Config, config.Findings, error) {
	before := look(c.files)
	loaded, findings := config.Load(c.path, c.getenv)
	if !slices.Equal(c.files, loaded.Files) {
		c.files = loaded.Files
		before = look(c.files)
	}
	c.seen = before
	if err := findings.Err(); err != nil {
		return loaded, findings, badConfig(c.path, err)
	}
	if !loaded.Found && c.inForce.Found {
		return loaded, findings, &configError{setting: "configuration", value: c.path, err: errors.New("the file is gone"),
			mend: "put it back; until then the last one stays in force"}
	}
	return loaded, findings, nil
}

// moved reports whether a file is not the one that was read.
func (c *liveConfig) moved() bool {
	return !slices.EqualFunc(look(c.files), c.seen, func(a, b os.FileInfo) bool {
		if a == nil || b == nil {
			return a == nil && b == nil
		}
		return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
	})
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

// tell logs findings, unless they are those that were logged last.
func (c *liveConfig) tell(findings config.Findings) {
	if !slices.Equal(findings, c.told) {
		logFindings(c.logger, findings)
		c.told = findings
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
	c.inForce = loaded
	c.note(func(s *configStatus) {
		s.Found, s.Hash, s.Error, s.Errors, s.Warnings, s.Restart = loaded.Found, loaded.Hash(), "", 0, findings.Count(config.Warning), restart
		if loaded.Found {
			s.LoadedAt = at
		}
	})
}

// refuse notes what has been read, and why it is not in force.
func (c *liveConfig) refuse(loaded *config.Config, findings config.Findings, err error) {
	c.note(func(s *configStatus) {
		s.Found, s.Error, s.Errors, s.Warnings = loaded.Found, err.Error(), findings.Count(config.Error), findings.Count(config.Warning)
	})
}

// configStatus may be asked for at any time.
func (p *Program) configStatus() configStatus {
	p.config.mu.Lock()
	defer p.config.mu.Unlock()
	s := p.config.status
	s.Restart = slices.Clone(s.Restart)
	return s
}

// configure reads the configuration for the first time. Without a good one the defaults are in force; where a bad one may ask for a write
// token that nobody knows, nobody may write until it is mended.
func (p *Program) configure() error {
	c := p.config
	loaded, findings, err := c.read()
	c.tell(findings)
	if err == nil {
		c.keep(loaded, findings, p.opts.Now(), nil)
	} else {
		c.refuse(loaded, findings, err)
		c.logger.Warn("configuration not applied: the team stays as it was", "err", err)
	}
	p.settings = p.opts.settings(c.inForce)
	p.settings.sealed = err != nil && p.settings.token.value == ""
	return p.settings.check()
}

// followConfig keeps the configuration in force up to date with its files. It looks whenever one of them may have changed, and reads on
// SIGHUP in any case.
func (p *Program) followConfig(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	changed <- struct{}{} // something may have happened since the start
	watched := watchedFiles{watcher: p.watcher, changed: changed}
	defer watched.are(nil)
	again := time.NewTimer(settleTime)
	for {
		watched.are(p.config.files)
		var wait time.Duration
		select {
		case <-ctx.Done():
			again.Stop()
			return nil
		case <-changed:
			if !p.config.moved() {
				continue
			}
			wait = p.reload(ctx, false)
		case <-again.C:
			if p.config.moved() {
				wait = p.reload(ctx, false)
			} else {
				wait = p.reload(ctx, true)
			}
		case <-p.opts.Reload:
			p.config.logger.Info("configuration is read again, as asked")
			p.config.told = nil
			wait = p.reload(ctx, true)
		}
		if again.Stop(); wait > 0 {
			again.Reset(wait)
		}
	}
}

// reload reads the files and puts in force what they say, if it can be used. settled says that they have stayed as they are for a while:
// only then what is wrong counts. It returns when to read them again, whatever happens to them; 0 is never.
func (p *Program) reload(ctx context.Context, settled bool) (again time.Duration) {
	c := p.config
	loaded, findings, err := c.read()
	next := p.opts.settings(loaded)
	if err == nil && p.reachable && next.token.value == "" {
		err = &configError{setting: "taskMonitor.writeToken", value: "", err: errors.New("other machines reach this API, so there has to be a write token"),
			mend: "set one again, or restart openclawd on a loopback address"}
	}
	switch {
	case err != nil && !settled:
		return settleTime
	case err != nil:
		known := c.status.Error == err.Error() && c.told != nil
		c.refuse(loaded, findings, err)
		if !known {
			c.tell(findings)
			c.logger.Error("configuration not applied: the last good one stays in force", "err", err)
		}
		return 0
	}
	c.tell(findings)
	if err := p.apply(ctx, loaded, findings, next); err != nil {
		if ctx.Err() == nil {
			c.logger.Error("configuration is in force, but not in the log yet; trying again", "after", reapplyTime, "err", err)
		}
		return reapplyTime
	}
	if !settled {
		return settleTime // a clock is too coarse to tell two changes at one moment apart
	}
	return 0
}

// apply puts a good configuration in force and tells the log.
func (p *Program) apply(ctx context.Context, loaded *config.Config, findings config.Findings, next settings) error {
	c := p.config
	before := p.opts.settings(c.inForce)
	if changed := next.changedFrom(&before); len(changed) > 0 || p.settings.sealed {
		c.logger.Info("settings applied", "changed", changed)
	}
	p.settings.sealed = false
	p.monitor.Configure(next.monitor())
	var restart []string
	if next.api.value != p.settings.api.value {
		restart = []string{"taskMonitor.host, taskMonitor.port"}
		if next.api.value != before.api.value {
			c.logger.Warn("the API goes on listening where it is until openclawd is restarted", "now", p.settings.api.value, "then", next.api.value)
		}
	}
	mended := c.status.Error != ""
	c.keep(loaded, findings, p.opts.Now(), restart)
	if mended {
		c.logger.Info("configuration can be used again", "hash", loaded.Hash())
	}
	return p.applyTeam(ctx)
}

// applyTeam tells the log whom the configuration in force names, unless it knows.
func (p *Program) applyTeam(ctx context.Context) error {
	if !p.config.inForce.Found {
		return nil
	}
	team := p.config.inForce.Applied()
	changed, err := applyTeam(ctx, p.log, team)
	if changed {
		p.config.logger.Info("configuration applied", "agents", len(team.Agents), "hash", team.Hash)
	}
	if err != nil {
		return fmt.Errorf("append configuration: %w", err)
	}
	return nil
}

// watchedFiles are those that a watcher reports to one channel.
type watchedFiles struct {
	watcher *watch.Watcher
	changed chan<- struct{}
	files   []string
}

// are makes files the ones that are watched.
func (w *watchedFiles) are(files []string) {
	for _, file := range w.files {
		if !slices.Contains(files, file) {
			w.watcher.Forget(file, w.changed)
		}
	}
	for _, file := range files {
		if !slices.Contains(w.files, file) {
			w.watcher.Path(file, w.changed)
		}
	}
	w.files = slices.Clone(files)
}

// configPath is where a state directory has its configuration.
func configPath(stateDir string) string { return filepath.Join(stateDir, configName) }
