package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/cmd/openclawd/watch"
	"github.com/pronto-lab/openclawd/config"
)

const (
	// settleTime is how long files have to stay as they are before what is wrong with them counts: an editor may still be writing.
	settleTime = 200 * time.Millisecond
	// reapplyTime is how long to wait before a configuration is told to the log again, where the log did not take it.
	reapplyTime = 5 * time.Second
)

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
	c.tell(loaded, findings)
	if err == nil {
		c.keep(loaded, findings, p.opts.Now(), nil)
	} else {
		c.refuse(loaded, findings, err)
		c.logger.Warn("configuration not applied: the team stays as it was", "err", err)
	}
	p.settings = p.opts.settings(c.inForce)
	p.settings.Sealed = err != nil && p.settings.Token.Value == ""
	if err := p.settings.Check(); err != nil {
		return err
	}
	gateway := p.opts.gatewaySettings(c.inForce)
	return gateway.Check()
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
		watched.are(p.config.watched())
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
			p.notifier.reloading()
			p.config.forgetTold()
			wait = p.reload(ctx, true)
			p.notifier.ready()
		case wait = <-p.config.later:
		}
		if again.Stop(); wait > 0 {
			again.Reset(wait)
		}
	}
}

// reload reads the files and puts in force what they say, if it can be used. settled says that they have stayed as they are for a while:
// only then what is wrong counts. It returns when to read them again, whatever happens to them; 0 is never.
func (p *Program) reload(ctx context.Context, settled bool) (again time.Duration) {
	p.config.turn.Lock()
	defer p.config.turn.Unlock()
	return p.reloadInTurn(ctx, settled)
}

func (p *Program) reloadInTurn(ctx context.Context, settled bool) (again time.Duration) {
	c := p.config
	unsettled := p.settlePatch(ctx)
	if unsettled != nil {
		c.logger.Error("whether a client has changed the configuration is not in the log yet; trying again", "after", reapplyTime, "err", unsettled)
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
			c.tell(loaded, findings)
			c.logger.Error("configuration not applied: the last good one stays in force", "err", err)
		}
		return 0
	}
	c.tell(loaded, findings)
	p.putInForce(loaded, findings, next, gateway)
	if unsettled != nil {
		return reapplyTime // the log hears of the change before it hears what came of it
	}
	if err := p.applyTeam(ctx); err != nil {
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

// settingsOf finds what would be in force with a configuration, and why the program as it runs cannot go on with that.
func (p *Program) settingsOf(loaded *config.Config) (next settings.Settings, gateway settings.Gateway, err error) {
	next, gateway = p.opts.settings(loaded), p.opts.gatewaySettings(loaded)
	if p.reachable && next.Token.Value == "" {
		return next, gateway, &settings.Error{Setting: "taskMonitor.writeToken", Value: "",
			Err:  errors.New("other machines reach this API, so there has to be a write token"),
			Mend: "set one again, or restart openclawd on a loopback address"}
	}
	return next, gateway, p.checkGateway(&gateway)
}

// putInForce does so with a good configuration.
func (p *Program) putInForce(loaded *config.Config, findings config.Findings, next settings.Settings, gateway settings.Gateway) {
	c := p.config
	before := p.opts.settings(c.inForce)
	changed, restart := p.applyGateway(gateway)
	if changed = append(next.ChangedFrom(&before), changed...); len(changed) > 0 || p.settings.Sealed {
		c.logger.Info("settings applied", "changed", changed)
	}
	p.settings.Sealed = false
	p.monitor.Configure(next.Monitor())
	if next.API.Value != p.settings.API.Value {
		restart = append(restart, "taskMonitor.host, taskMonitor.port")
		if next.API.Value != before.API.Value {
			c.logger.Warn("the API goes on listening where it is until openclawd is restarted", "now", p.settings.API.Value, "then", next.API.Value)
		}
	}
	mended := c.status.Error != ""
	c.keep(loaded, findings, p.opts.Now(), restart)
	if mended {
		c.logger.Info("configuration can be used again", "hash", loaded.Hash())
	}
}

// settings are those of the program with a configuration.
func (o *Options) settings(c *config.Config) settings.Settings {
	return settings.Of(c, o.getenv, o.API, o.Hosts)
}

func (o *Options) getenv(name string) string {
	if o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}

// applyTeam tells the log whom the configuration in force names, unless it knows.
func (p *Program) applyTeam(ctx context.Context) error {
	if !p.config.inForce.Found {
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
