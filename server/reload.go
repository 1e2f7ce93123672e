package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/internal/watch"
	"github.com/pronto-lab/openclawd/server/settings"
)

const (
	// settleTime is how long files must be unchanged before their errors count: an editor may still be writing.
	settleTime = 200 * time.Millisecond
	// reapplyTime is the delay before a configuration that the log could not record is recorded again.
	reapplyTime = 5 * time.Second
)

// configStatus is safe for concurrent use.
func (p *Program) configStatus() configStatus {
	p.config.mu.Lock()
	defer p.config.mu.Unlock()
	s := p.config.status
	s.Restart = slices.Clone(s.Restart)
	return s
}

// configure reads the configuration for the first time. Without a valid one the defaults are in force; since an invalid one may require an
// unknown write token, writes are refused until it is fixed.
func (p *Program) configure() error {
	c := p.config
	loaded, findings, err := c.read()
	c.logFindings(loaded, findings)
	if err == nil {
		c.recordInForce(loaded, findings, p.opts.Now(), nil)
	} else {
		c.refuse(loaded, findings, err)
		c.logger.Warn("configuration not applied: the team is unchanged", "err", err)
	}
	p.settings = p.opts.settings(c.inForce)
	p.settings.Sealed = err != nil && p.settings.Token.Value == ""
	if err := p.settings.Check(); err != nil {
		return err
	}
	gateway := p.opts.gatewaySettings(c.inForce)
	return gateway.Check()
}

// followConfig reloads the configuration when its files change. It checks whenever one of them may have changed, and
// always on SIGHUP.
func (p *Program) followConfig(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	changed <- struct{}{} // something may have happened since the start
	watched := watchedFiles{watcher: p.watcher, changed: changed}
	defer watched.are(nil)
	again := time.After(settleTime)
	for {
		watched.are(p.config.watched())
		var wait time.Duration
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			if !p.config.moved() {
				continue
			}
			wait = p.reload(ctx, false)
		case <-again:
			if p.config.moved() {
				wait = p.reload(ctx, false)
			} else {
				wait = p.reload(ctx, true)
			}
		case <-p.opts.Reload:
			p.config.logger.Info("reloading configuration on request")
			p.notifier.reloading()
			p.config.resetLogged()
			wait = p.reload(ctx, true)
			p.notifier.ready()
		case wait = <-p.config.later:
		}
		if again = nil; wait > 0 {
			again = time.After(wait)
		}
	}
}

// reload reads the files and applies them, if valid. settled means that they have been unchanged for a while: only then errors count. It
// returns when to read them again regardless; 0 is never.
func (p *Program) reload(ctx context.Context, settled bool) (again time.Duration) {
	p.config.turn.Lock()
	defer p.config.turn.Unlock()
	return p.reloadInTurn(ctx, settled)
}

func (p *Program) reloadInTurn(ctx context.Context, settled bool) (again time.Duration) {
	c := p.config
	unsettled := p.settlePatch(ctx)
	if unsettled != nil {
		c.logger.Error("cannot check for an unrecorded config patch; will retry", "retry_in", reapplyTime, "err", unsettled)
		defer func() { again = reapplyTime }()
	}
	loaded, findings, err := c.read()
	next, gateway, unusable := p.settingsOf(loaded)
	if err == nil {
		err = unusable
	}
	switch {
	case err != nil && !settled:
		return settleTime
	case err != nil:
		known := c.status.Error == err.Error() && c.told != nil
		c.refuse(loaded, findings, err)
		if !known {
			c.logFindings(loaded, findings)
			c.logger.Error("configuration not applied: the last good one stays in force", "err", err)
		}
		return 0
	}
	c.logFindings(loaded, findings)
	p.putInForce(loaded, findings, next, gateway)
	if unsettled != nil {
		return reapplyTime // the log gets the change before its consequences
	}
	if err := p.applyTeam(ctx); err != nil {
		if ctx.Err() == nil {
			c.logger.Error("configuration in force but not recorded yet; will retry", "retry_in", reapplyTime, "err", err)
		}
		return reapplyTime
	}
	if !settled {
		return settleTime // file times are too coarse to distinguish two changes in quick succession
	}
	return 0
}

// settingsOf computes the settings under a configuration, and why the program as it runs cannot use them.
func (p *Program) settingsOf(loaded *config.Config) (next settings.Settings, gateway settings.Gateway, err error) {
	next, gateway = p.opts.settings(loaded), p.opts.gatewaySettings(loaded)
	if p.reachable && next.Token.Value == "" {
		return next, gateway, &config.SettingError{Setting: "taskMonitor.writeToken", Value: "",
			Err:      errors.New("the API is reachable from other machines, so a write token is required"),
			HintText: "set one again, or restart openclawd on a loopback address"}
	}
	return next, gateway, p.checkGateway(&gateway)
}

// putInForce applies a valid configuration.
func (p *Program) putInForce(loaded *config.Config, findings config.Findings, next settings.Settings, gateway settings.Gateway) {
	c := p.config
	before := p.opts.settings(c.inForce)
	changed, restart := p.applyGateway(gateway)
	if changed = append(next.ChangedFrom(&before), changed...); len(changed) > 0 || p.settings.Sealed {
		c.logger.Info("settings applied", "changed", changed)
	}
	p.settings.Sealed = false
	p.monitor.Configure(next.Monitor())
	p.hub.configure(next)
	if next.API.Value != p.settings.API.Value {
		restart = append(restart, "taskMonitor.host, taskMonitor.port")
		if next.API.Value != before.API.Value {
			c.logger.Warn("API address changed: takes effect when openclawd is restarted", "now", p.settings.API.Value, "then", next.API.Value)
		}
	}
	if loaded.Cluster != p.cluster {
		restart = append(restart, "cluster")
	}
	recovered := c.status.Error != ""
	c.recordInForce(loaded, findings, p.opts.Now(), restart)
	if recovered {
		c.logger.Info("configuration is usable again", "hash", loaded.Hash())
	}
}

func (o *Options) settings(c *config.Config) settings.Settings {
	return settings.Of(c, o.getenv, o.API, o.Hosts)
}

func (o *Options) getenv(name string) string {
	if o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}

// applyTeam records the agents of the configuration in force in the log, unless it has them.
func (p *Program) applyTeam(ctx context.Context) error {
	if !p.config.inForce.Found || p.follows() {
		return nil
	}
	team := p.config.inForce.Applied()
	changed, err := database.ApplyTeam(ctx, p.log, team)
	if changed {
		p.config.logger.Info("configuration applied", "agents", len(team.Agents), "hash", team.Hash)
	}
	if err != nil {
		return fmt.Errorf("append configuration: %w", err)
	}
	return nil
}

// watchedFiles is a set of files whose changes a watcher reports to one channel.
type watchedFiles struct {
	watcher *watch.Watcher
	changed chan<- struct{}
	files   []string
}

// are replaces the set of watched files.
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
