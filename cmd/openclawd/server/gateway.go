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

	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway"
	"github.com/pronto-lab/openclawd/gateway/page"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/monitor"
)

// gatewayPort is the gateway and the port that it has. A Program whose gateway is nil has opened none.
type gatewayPort struct {
	server   *gateway.Server
	listener net.Listener
	bound    string // what it was told to listen at
	logger   *slog.Logger
	page     *page.Site // nil where none is served

	mu      sync.Mutex
	inForce settings.Gateway
	lost    bool  // the token's file could not be read when it was last looked at
	ended   error // why it has, while the program goes on
}

// gatewaySettings are those of the program's gateway with a configuration. Where another gateway produces, none is opened.
func (o *Options) gatewaySettings(c *config.Config) settings.Gateway {
	address := o.Gateway
	if o.Follow {
		address = settings.NoGateway
	}
	return settings.GatewayOf(c, o.getenv, address, o.Hosts)
}

// openGateway binds the gateway's address and finds, or makes, its token.
func (p *Program) openGateway(ctx context.Context) error {
	s := p.opts.gatewaySettings(p.config.inForce)
	if s.Off() {
		return nil
	}
	listener, err := listenForGateway(ctx, &s)
	if err != nil {
		return err
	}
	logger := p.opts.Logger.With("component", "gateway")
	kept, err := p.findToken(&s, listener.Addr(), logger, rand.Reader)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if file := settings.TokenFile(p.opts.StateDir); kept.Exposed {
		logger.Warn("other users of this machine may read the gateway's token", "file", file, "mend", "chmod 600 "+file)
	}
	site, err := p.openPage()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	p.gateway = &gatewayPort{listener: listener, bound: s.Listen.Value, logger: logger, page: site, inForce: s}
	return nil
}

// openPage opens the files of the Control UI, if any are to be served.
func (p *Program) openPage() (*page.Site, error) {
	dir := p.opts.ControlUI
	if dir == "" {
		return nil, nil
	}
	const mend = "name dist/control-ui of an installed npm package, e.g. --control-ui \"$(npm root -g)/openclaw\""
	base, err := page.Base(p.config.inForce.Gateway.PageBase)
	if err != nil {
		return nil, &settings.Error{Setting: settings.FileName + " gateway.controlUi.basePath", Value: p.config.inForce.Gateway.PageBase, Err: err,
			Mend: "write a path such as /openclaw, or leave it out"}
	}
	site, err := page.Open(dir, base)
	if err != nil {
		return nil, &settings.Error{Setting: "--control-ui", Value: dir, Err: err, Mend: mend}
	}
	return site, nil
}

// closePage closes the files of the page.
func (g *gatewayPort) closePage() {
	if g.page != nil {
		_ = g.page.Close() // it was only read
	}
}

// PageAddress is where browsers find the Control UI at the gateway's address, "" where none is served.
func (p *Program) PageAddress() string {
	if p.gateway == nil || p.gateway.page == nil {
		return ""
	}
	return "http://" + p.gateway.listener.Addr().String() + p.gateway.page.Base() + "/"
}

// listenForGateway binds the address. That somebody else has it mostly means that there is a gateway already.
func listenForGateway(ctx context.Context, s *settings.Gateway) (net.Listener, error) {
	var c net.ListenConfig
	listener, err := c.Listen(ctx, "tcp", s.Listen.Value)
	switch {
	case err == nil:
		return listener, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &settings.Error{Setting: s.Listen.Source, Value: s.Listen.Value,
			Err: fmt.Errorf("another gateway, perhaps OpenClaw's, listens there already: %w", err),
			Mend: "start openclawd with --follow beside the gateway that runs, with --gateway 127.0.0.1:0 or another address for one of its own, " +
				"with --gateway off for none, or stop the other one"}
	}
	return nil, &settings.Error{Setting: s.Listen.Source, Value: s.Listen.Value, Err: err,
		Mend: "name another address, e.g. --gateway 127.0.0.1:18789, or --gateway off"}
}

// findToken takes the token of s from its file where nobody has set one, and refuses to go on without where others can reach the gateway:
// only where nobody else can, a token is made, of random, that nobody has asked for. Without random none is made.
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
		logger.Info("made a token for clients of the gateway: openclawd token prints it", "file", file)
	}
	return kept, s.CheckReach(at)
}

// newGateway puts the gateway together. It serves nobody yet.
func (p *Program) newGateway() {
	g := p.gateway
	if g == nil {
		return
	}
	opts := gateway.Options{
		Log: p.log, Configuration: p.newConfiguration(), Logs: p.logs, Access: g.inForce.Access(), Now: p.opts.Now, NewID: uuid.NewString,
		Logger: g.logger, Version: buildinfo.Read().Version, StateDir: p.opts.StateDir, Database: p.opts.DB, StartedAt: p.startedAt,
		Workspace: p.workspaceOf, Page: g.page, Reads: p.reads,
	}
	if a := p.agents; a != nil {
		opts.Runs, opts.Tools, opts.Posts = a.runner, a.tools, gatewayPosts{a.discord}
		opts.Approvals, opts.Files = gatewayApprovals{a.office}, gatewayFiles{p.workspaceOf}
	}
	g.server = gateway.New(opts)
}

// runGateway serves clients until ctx ends. A gateway that ends before leaves the rest of the program as it is: readiness says so.
func (p *Program) runGateway(ctx context.Context) error {
	g := p.gateway
	if g == nil {
		return nil
	}
	parts, together := errgroup.WithContext(ctx)
	parts.Go(func() error { return early(together, g.server.Run(together)) })
	g.logger.Info("serving", "gateway", g.listener.Addr().String(), "auth", g.settings().Mode.Value)
	parts.Go(func() error {
		return early(together, p.answer(together, g.listener, g.server.Handler(), g.logger))
	})
	err := parts.Wait()
	if ctx.Err() != nil {
		return nil
	}
	g.logger.Error("the gateway has ended; the API goes on", "err", err)
	g.mu.Lock()
	g.ended = err
	g.mu.Unlock()
	<-ctx.Done()
	return nil
}

// early makes an error of an end that comes before that of ctx.
func early(ctx context.Context, err error) error {
	if err == nil && ctx.Err() == nil {
		return errors.New("it ended untold")
	}
	return err
}

// followToken puts a new token in force when its file has one: whoever is in stays, whoever comes has to know it.
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

// newToken is logged when another token holds than before, whoever has seen first that the file has one.
const newToken = "the gateway has a new token"

// rereadToken takes the token that the file has now. One that cannot be read, or is gone, leaves the last one in force; that is told once.
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
		g.logger.Warn("the gateway's token cannot be read again: the last one stays in force", "err", err,
			"mend", "openclawd token --new makes one that clients find there")
	case kept.Token != g.inForce.Token.Value:
		g.inForce.Token.Value = kept.Token
		g.server.Configure(g.inForce.Access())
		g.logger.Info(newToken, "file", file)
	}
}

// checkGateway refuses settings with which the gateway that is open cannot go on, and completes the others with the token of the file, or
// with the one in force where the file is gone. It changes nothing.
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

// applyGateway puts settings that checkGateway has accepted in force. changed names what is not as it was, restart what waits for one.
func (p *Program) applyGateway(next settings.Gateway) (changed, restart []string) {
	g := p.gateway
	if g == nil {
		return nil, nil
	}
	before := g.settings()
	if next.Kept() && next.Token.Value == "" {
		if _, err := p.findToken(&next, g.listener.Addr(), g.logger, rand.Reader); err != nil {
			g.logger.Error("there is no token for clients of the gateway: nobody is let in", "err", err)
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
		g.logger.Warn("the gateway goes on listening where it is until openclawd is restarted", "now", g.bound, "then", next.Listen.Value)
	}
	return changed, []string{"gateway.port, gateway.bind"}
}

func (g *gatewayPort) settings() settings.Gateway {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inForce
}

// admit has the gateway let in, from now on, whom s lets in.
func (g *gatewayPort) admit(s settings.Gateway) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inForce = s
	g.server.Configure(s.Access())
}

// gatewayFacts are how the gateway stands; nil: none is open.
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

// gatewayState is how the gateway stands, for operators; nil: none is open.
func (p *Program) gatewayState() *monitor.GatewayState {
	f := p.gatewayFacts()
	if f == nil {
		return nil
	}
	g := &monitor.GatewayState{Address: p.gatewayAddress().String(), Auth: f.auth, Clients: f.stats.Clients, Requests: f.stats.Requests,
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

// gatewayAddress is where the gateway listens; nil: none is open.
func (p *Program) gatewayAddress() net.Addr {
	if p.gateway == nil {
		return nil
	}
	return p.gateway.listener.Addr()
}
