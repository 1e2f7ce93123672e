package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/gateway"
	"github.com/pronto-lab/openclawd/gateway/page"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/server/settings"
)

// gatewayPort is the gateway and its port. A Program whose gateway is nil has none.
type gatewayPort struct {
	server   *gateway.Server
	listener net.Listener
	bound    string // the requested address
	logger   *slog.Logger
	page     *page.Site // nil if not served

	mu      sync.Mutex
	inForce settings.Gateway
	lost    bool  // the token file could not be read at the last attempt
	ended   error // why it stopped, while the program continues
}

// gatewaySettings are the gateway settings under a configuration. Where another gateway produces the events, none is
// opened.
func (o *Options) gatewaySettings(c *config.Config) settings.Gateway {
	address := o.Gateway
	if o.Follow {
		address = settings.NoGateway
	}
	return settings.GatewayOf(c, o.getenv, address, o.Hosts)
}

// openGateway binds the gateway's address and reads or creates its token.
func (p *Program) openGateway(ctx context.Context) error {
	s := p.opts.gatewaySettings(p.config.inForce)
	if s.Off() {
		return nil
	}
	listener, err := p.gatewayListener(ctx, &s)
	if err != nil || listener == nil {
		return err
	}
	logger := p.opts.Logger.With("component", "gateway")
	kept, err := p.findToken(&s, listener.Addr(), logger, rand.Reader)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if file := settings.TokenFile(p.opts.StateDir); kept.Exposed {
		logger.Warn("other users of this machine may read the gateway's token", "file", file, "hint", "chmod 600 "+file)
	}
	site, err := p.openPage()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	p.gateway = &gatewayPort{listener: listener, bound: s.Listen.Value, logger: logger, page: site, inForce: s}
	return nil
}

// gatewayListener binds the address, or takes the turn of the writer of a cluster. It is nil while another node writes:
// then clients are passed on to that.
func (p *Program) gatewayListener(ctx context.Context, s *settings.Gateway) (net.Listener, error) {
	switch {
	case p.node == nil:
		return listenForGateway(ctx, s)
	case p.follows() || p.node.gateway == nil:
		return nil, nil
	}
	return p.node.gateway.begin(), nil
}

// openPage opens the files of the Control UI, if they are to be served.
func (p *Program) openPage() (*page.Site, error) {
	dir := p.opts.ControlUI
	if dir == "" {
		return nil, nil
	}
	const hint = "name dist/control-ui of an installed npm package, e.g. --control-ui \"$(npm root -g)/openclaw\""
	base, err := page.Base(p.config.inForce.Gateway.PageBase)
	if err != nil {
		return nil, &config.SettingError{Setting: settings.FileName + " gateway.controlUi.basePath", Value: p.config.inForce.Gateway.PageBase, Err: err,
			HintText: "write a path such as /openclaw, or omit it"}
	}
	site, err := page.Open(dir, base)
	if err != nil {
		return nil, &config.SettingError{Setting: "--control-ui", Value: dir, Err: err, HintText: hint}
	}
	return site, nil
}

// closePage closes the Control UI's files.
func (g *gatewayPort) closePage() {
	if g.page != nil {
		_ = g.page.Close() // opened read-only
	}
}

// PageAddress is the URL of the Control UI at the gateway's address, "" if it is not served.
func (p *Program) PageAddress() string {
	if p.gateway == nil || p.gateway.page == nil {
		return ""
	}
	return "http://" + p.gateway.listener.Addr().String() + p.gateway.page.Base() + "/"
}

// listenForGateway binds the address. If it is taken, a gateway is probably running there.
func listenForGateway(ctx context.Context, s *settings.Gateway) (net.Listener, error) {
	var c net.ListenConfig
	listener, err := c.Listen(ctx, "tcp", s.Listen.Value)
	switch {
	case err == nil:
		return listener, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &config.SettingError{Setting: s.Listen.Source, Value: s.Listen.Value,
			Err: fmt.Errorf("another gateway, perhaps OpenClaw's, already listens there: %w", err),
			HintText: "start openclawd with --follow beside the running gateway, with --gateway 127.0.0.1:0 or another address for its own, " +
				"with --gateway off for none, or stop the other one"}
	}
	return nil, &config.SettingError{Setting: s.Listen.Source, Value: s.Listen.Value, Err: err,
		HintText: "name another address, e.g. --gateway 127.0.0.1:18789, or --gateway off"}
}

// findToken reads the token of s from its file if none is configured. Without one it fails if others can reach the gateway; a token is
// generated only if no one else can. random is the source; nil generates none.
func (p *Program) findToken(s *settings.Gateway, at net.Addr, logger *slog.Logger, random io.Reader) (kept settings.KeptToken, err error) {
	file := settings.TokenFile(p.opts.StateDir)
	if settings.Reachable(at) {
		random = nil
	}
	kept, made, err := s.Keep(file, random)
	if err != nil {
		return kept, err
	}
	if made {
		logger.Info("created a token for gateway clients: openclawd token prints it", "file", file)
	}
	return kept, s.CheckReach(at)
}

// newGateway assembles the gateway without starting it.
func (p *Program) newGateway() {
	g := p.gateway
	if g == nil {
		return
	}
	opts := gateway.Options{
		Log: p.log, Configuration: p.newConfiguration(), Logs: p.logs, Access: g.inForce.Access(), Now: p.opts.Now, NewID: uuid.NewString,
		Logger: g.logger, Version: buildinfo.Read().Version, StateDir: p.opts.StateDir, Database: p.opts.DB, StartedAt: p.startedAt,
		Workspace: p.workspaceOf, Page: g.page, Reads: p.reads, Transcripts: p.transcripts,
		Skills: p.skillsOf,
	}
	if a := p.agents; a != nil {
		opts.Runs, opts.Tools, opts.Posts, opts.Media = a.runner, a.tools, allSends{a.sides}, a.clientFile(p.newConfiguration().InForce)
		opts.Bots = a.bots()
		opts.Approvals, opts.Files = a.approvals, gatewayFiles{p.workspaceOf}
		opts.Schedules, opts.Pairings, opts.Workers = a.schedules, p.pairings(), a.workers
	}
	g.server = gateway.New(opts)
}

// runGateway serves clients until ctx ends. If the gateway stops earlier, the rest of the program continues and
// readiness reports it.
func (p *Program) runGateway(ctx context.Context) error {
	g := p.gateway
	if g == nil {
		return nil
	}
	parts, together := errgroup.WithContext(ctx)
	parts.Go(func() error { return unexpectedEnd(together, g.server.Run(together)) })
	g.logger.Info("serving", "gateway", g.listener.Addr().String(), "auth", g.settings().Mode.Value)
	parts.Go(func() error {
		return unexpectedEnd(together, p.answer(together, g.listener, p.withHooks(p.withSlack(g.server.Handler())), g.logger))
	})
	err := parts.Wait()
	if ctx.Err() != nil {
		return nil
	}
	g.logger.Error("the gateway has stopped; the API continues", "err", err)
	g.mu.Lock()
	g.ended = err
	g.mu.Unlock()
	<-ctx.Done()
	return nil
}

// unexpectedEnd makes an error of an end that comes before ctx's.
func unexpectedEnd(ctx context.Context, err error) error {
	if err == nil && ctx.Err() == nil {
		return errors.New("stopped unexpectedly")
	}
	return err
}

// followToken applies a new token when its file changes: connected clients stay, new ones need it.
func (p *Program) followToken(ctx context.Context) error {
	g := p.gateway
	if g == nil {
		return nil
	}
	file := settings.TokenFile(p.opts.StateDir)
	changed := make(chan struct{}, 1)
	p.watcher.Path(file, changed)
	defer p.watcher.Forget(file, changed)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			g.rereadToken(file)
		}
	}
}

// newToken is logged when the token has changed, by whichever path detected it first.
const newToken = "the gateway has a new token"

// rereadToken reads the token file again. If it is unreadable or gone, the last token stays in force, which is logged
// once.
func (g *gatewayPort) rereadToken(file string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.inForce.Kept() {
		return
	}
	kept, err := settings.ReadToken(file)
	told := g.lost
	g.lost = err != nil
	switch {
	case err != nil && told:
	case err != nil:
		g.logger.Warn("cannot read the gateway's token again: the last one stays in force", "err", err,
			"hint", "openclawd token --new creates one that clients find there")
	case kept.Token != g.inForce.Token.Value:
		g.inForce.Token.Value = kept.Token
		g.server.Configure(g.inForce.Access())
		g.logger.Info(newToken, "file", file)
	}
}

// checkGateway rejects settings with which the open gateway cannot continue, and completes the others with the token from the file, or with
// the current one if the file is gone. It changes nothing.
func (p *Program) checkGateway(next *settings.Gateway) error {
	g := p.gateway
	if g == nil {
		return nil
	}
	if err := next.Check(); err != nil {
		return err
	}
	err := g.findTokenAgain(next, settings.TokenFile(p.opts.StateDir))
	return cmp.Or(err, next.CheckReach(g.listener.Addr()))
}

func (g *gatewayPort) findTokenAgain(next *settings.Gateway, file string) error {
	_, _, err := next.Keep(file, nil)
	if before := g.settings(); err == nil && next.Kept() && next.Token.Value == "" && before.Kept() {
		next.Token.Value = before.Token.Value
	}
	return err
}

// applyGateway applies settings accepted by checkGateway. changed names the settings that differ, restart those that
// need a restart.
func (p *Program) applyGateway(next settings.Gateway) (changed, restart []string) {
	g := p.gateway
	if g == nil {
		return nil, nil
	}
	before := g.settings()
	if next.Kept() && next.Token.Value == "" {
		if _, err := p.findToken(&next, g.listener.Addr(), g.logger, rand.Reader); err != nil {
			g.logger.Error("no token for gateway clients: access is denied", "err", err)
		}
	}
	if changed = next.ChangedFrom(&before); len(changed) > 0 {
		g.admit(next)
	}
	if next.Kept() && before.Kept() && next.Token.Value != before.Token.Value { // before rereadToken has seen it
		g.logger.Info(newToken, "file", settings.TokenFile(p.opts.StateDir))
	}
	if next.Listen.Value == g.bound {
		return changed, nil
	}
	if next.Listen.Value != before.Listen.Value {
		g.logger.Warn("gateway address changed: takes effect when openclawd is restarted", "now", g.bound, "then", next.Listen.Value)
	}
	return changed, []string{"gateway.port, gateway.bind"}
}

func (g *gatewayPort) settings() settings.Gateway {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inForce
}

// admit applies the access settings of s from now on.
func (g *gatewayPort) admit(s settings.Gateway) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inForce = s
	g.server.Configure(s.Access())
}

// gatewayFacts is the state of the gateway; nil: not open.
type gatewayFacts struct {
	stats wire.Stats
	auth  string
	ended error
}

func (p *Program) gatewayFacts() *gatewayFacts {
	g := p.gateway
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return &gatewayFacts{g.server.Stats(), g.inForce.Mode.Value, g.ended}
}

// gatewayState is the state of the gateway, for operators; nil: not open.
func (p *Program) gatewayState() *health.GatewayState {
	f := p.gatewayFacts()
	if f == nil {
		return nil
	}
	g := &health.GatewayState{Address: p.gatewayAddress().String(), Auth: f.auth, Clients: f.stats.Clients, Requests: f.stats.Requests,
		Errors: sum(f.stats.Failures) + f.stats.Malformed, Refused: sum(f.stats.Refused), SlowCloses: f.stats.Slow}
	if f.ended != nil {
		g.Error = f.ended.Error()
	}
	return g
}

func sum(counts map[string]int64) (all int64) {
	for _, n := range counts {
		all += n
	}
	return all
}

// gatewayAddress is where the gateway listens; nil: not open.
func (p *Program) gatewayAddress() net.Addr {
	if p.gateway == nil {
		return nil
	}
	return p.gateway.listener.Addr()
}
