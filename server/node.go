package server

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/pronto-lab/openclawd/cluster"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/eventstore/shared/backend"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/backoff"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/ui"
)

// node is what the programs of one node of a cluster share. A node lives through several programs, one for each time in
// a role; a Program that has no cluster has none.
type node struct {
	*cluster.Node
	shared       shared.Log
	api, gateway *front // gateway is nil if none is open
	passAPI      *cluster.Passing
	passGateway  *cluster.Passing
	ready        sync.Once
}

// followerDrain is how long requests in progress may take when a follower becomes the writer. They are reads, which may
// be repeated; the cluster waits for its writer.
const followerDrain = 250 * time.Millisecond

// follows reports whether the program only follows the log of a cluster: it appends nothing.
func (p *Program) follows() bool { return p.node != nil && p.role != cluster.Writer }

// withoutAgents reports whether agents do not run here: another gateway produces the events, or another node writes.
func (p *Program) withoutAgents() bool { return p.opts.Follow || p.follows() }

// runNode runs the program as a node of a cluster.
func (p *Program) runNode(ctx context.Context, c *config.Cluster) error {
	if p.opts.Follow {
		return &config.SettingError{Setting: settings.FileName + " cluster", Value: settings.ClusterNode(c), Err: errors.New("a node of a cluster cannot follow another gateway"),
			HintText: "start it without --follow, or remove cluster from " + settings.FileName}
	}
	p.notifier.starting("connecting to the shared log")
	log, err := p.openShared(ctx, c)
	if err != nil {
		return err
	}
	n := &node{shared: log}
	p.node = n
	if err := p.openLog(ctx); err != nil {
		return errors.Join(err, log.Close())
	}
	if err := p.openFronts(ctx); err != nil {
		return errors.Join(err, log.Close())
	}
	schema, err := sqlite.NewestSchema()
	if err != nil {
		return errors.Join(err, log.Close())
	}
	at := p.advertised(c)
	n.Node = cluster.New(cluster.Options{Log: log, Store: p.log, Name: settings.ClusterNode(c), Reader: c.Reader, Lease: c.Lease, At: at, Token: c.Token.Reveal(),
		Version: buildinfo.Read().Version, Schema: schema, Process: rand.Text(), Now: time.Now, Logger: p.opts.Logger.With("component", "cluster"),
		Serve: func(serving context.Context, role cluster.Role) error {
			return p.serveRole(serving, role, func() bool { return ctx.Err() != nil })
		}})
	n.passAPI, n.passGateway = n.PassAPI(grantHeader), n.PassGateway()
	p.opts.Logger.Info("this server is a node of a cluster", "node", settings.ClusterNode(c), "api", at.API, "gateway", at.Gateway, "lease", c.Lease)
	err = n.Run(ctx)
	n.passAPI.Close()
	n.passGateway.Close()
	return errors.Join(err, p.closeFronts(), log.Close())
}

// openShared connects to the shared log. It waits for one that cannot be reached yet: nodes and brokers may be started
// together.
func (p *Program) openShared(ctx context.Context, c *config.Cluster) (shared.Log, error) {
	const patience = time.Minute
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	for {
		log, err := backend.Open(ctx, c.Log.Reveal(), backend.Options{Field: settings.FileName + " cluster.log", Relaxed: c.Durability == config.ClusterRelaxed})
		if err == nil {
			if log.Doubt != "" {
				p.opts.Logger.Warn("it is not known whether acknowledged events survive a power cut", "why", log.Doubt)
			}
			return log, nil
		}
		if !errors.As(err, new(*shared.UnavailableError)) || ctx.Err() != nil {
			return nil, err
		}
		p.opts.Logger.Warn("the shared log cannot be reached; will retry", "err", err)
		if wait.For(ctx, time.Second) != nil {
			return nil, err
		}
	}
}

// openFronts binds the addresses for all programs of the node.
func (p *Program) openFronts(ctx context.Context) error {
	listener, err := listen(ctx, &p.settings)
	if err != nil {
		return err
	}
	p.node.api = newFront(listener, http.HandlerFunc(p.answerBetween))
	s := p.opts.gatewaySettings(p.config.inForce)
	if s.Off() {
		return nil
	}
	gateway, err := listenForGateway(ctx, &s)
	if err != nil {
		return errors.Join(err, p.closeFronts())
	}
	p.node.gateway = newFront(gateway, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.node.passGateway.ServeHTTP(w, r) }))
	return nil
}

func (p *Program) closeFronts() error {
	var errs []error
	for _, f := range []*front{p.node.api, p.node.gateway} {
		if f != nil {
			errs = append(errs, f.close())
		}
	}
	return errors.Join(errs...)
}

// answerBetween answers requests to the API while no program does.
func (p *Program) answerBetween(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"ok"}`))
		return
	}
	if p.node.passAPI == nil || concernsThisNode(r) {
		cluster.Refuse(w, http.StatusServiceUnavailable, "role_changes", "this node is getting another role", "repeat it: that takes about a second")
		return
	}
	p.node.Granted(r)
	p.node.passAPI.ServeHTTP(w, r)
}

// advertised are the addresses of this node for other nodes: the configured ones, else those it listens on.
func (p *Program) advertised(c *config.Cluster) health.NodeAddresses {
	a := health.NodeAddresses{API: strings.TrimSuffix(c.Advertise.API, "/"), Gateway: strings.TrimSuffix(c.Advertise.Gateway, "/")}
	if a.API == "" {
		a.API = "http://" + reachableAt(p.node.api.listener.Addr())
	}
	if a.Gateway == "" && p.node.gateway != nil {
		a.Gateway = "ws://" + reachableAt(p.node.gateway.listener.Addr())
	}
	return a
}

// reachableAt is a listener's address, with the host name in place of all interfaces.
func reachableAt(at net.Addr) string {
	tcp, is := at.(*net.TCPAddr)
	if !is || !tcp.IP.IsUnspecified() {
		return at.String()
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return net.JoinHostPort(name, strconv.Itoa(tcp.Port))
}

// clusterOf is the API's view of the node; nil if there is none.
func (p *Program) clusterOf() monitor.Cluster {
	if p.node == nil {
		return nil
	}
	return nodeState{p}
}

// nodeState adds to what the node knows what became of this process's appends.
type nodeState struct{ p *Program }

// State implements monitor.Cluster.
func (n nodeState) State() health.ClusterState {
	s, counts := n.p.node.State(), n.p.log.SharedCounts()
	s.Commits, s.Conflicts, s.Failures = counts.Commits, counts.Conflicts, counts.Failures
	return s
}

// StepDown implements monitor.Cluster.
func (n nodeState) StepDown(ctx context.Context) error { return n.p.node.StepDown(ctx) }

// Promote implements monitor.Cluster.
func (n nodeState) Promote(ctx context.Context, force bool) error {
	return n.p.node.Promote(ctx, force)
}

// beginsAgain are the pauses between attempts to begin the services of a role.
var beginsAgain = backoff.Backoff{First: 100 * time.Millisecond, Most: 5 * time.Second}

// serveRole runs a program for as long as the node has a role. One that cannot begin, because the shared log does not
// take what it appends first, begins again: either that passes, or the role ends.
func (p *Program) serveRole(ctx context.Context, role cluster.Role, stopping func() bool) error {
	for failures := 1; ; failures++ {
		err := p.serveOnce(ctx, role, stopping)
		if shared.Refusal(err) == nil {
			return err
		}
		if ctx.Err() == nil {
			p.opts.Logger.Warn("the services of this role could not begin; will retry while this node has it", "role", role, "err", err)
		}
		if wait.For(ctx, beginsAgain.After(failures)) != nil {
			return nil
		}
	}
}

// serveOnce runs a program until ctx ends.
func (p *Program) serveOnce(ctx context.Context, role cluster.Role, stopping func() bool) error {
	t := &Program{opts: p.opts, limits: p.limits, logs: p.logs, reads: p.reads, channelMetrics: newChannelMetrics(), caughtUp: make(chan struct{}), answered: newFirstAnswer(),
		node: p.node, role: role, cluster: p.cluster, log: p.log, engine: p.engine}
	t.config = newLiveConfig(p.config.path, p.opts.getenv, p.opts.Logger.With("component", "config"))
	t.notifier = p.notifier
	t.notifier.Tell = untilStopped(p.notifier.Tell, stopping)
	t.opts.Ready = func(api, gateway net.Addr) {
		p.node.ready.Do(func() {
			p.hub, p.gateway, p.address = t.hub, t.gateway, t.address
			if p.node.gateway != nil {
				gateway = p.node.gateway.listener.Addr() // it passes clients on while another node writes
			}
			if p.opts.Ready != nil {
				p.opts.Ready(api, gateway)
			}
		})
	}
	if role != cluster.Writer {
		t.limits.drain = followerDrain
	}
	if err := t.configure(); err != nil {
		return err
	}
	t.openBeside()
	err := t.serveOn(ctx, p.node.api.begin())
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, t.closeBeside())
}

// untilStopped passes on what the service manager is told, except that a program ends while the process goes on.
func untilStopped(tell func(string) error, stopping func() bool) func(string) error {
	if tell == nil {
		return nil
	}
	return func(state string) error {
		if strings.HasPrefix(state, daemon.SdNotifyStopping) && !stopping() {
			return nil
		}
		return tell(state)
	}
}

// grantHeader is what the page's session permits, for the writer.
func grantHeader(r *http.Request) string {
	g, granted := monitor.GrantOf(r.Context())
	if !granted {
		return ""
	}
	return strings.Join([]string{strconv.FormatBool(g.Write), strconv.FormatBool(g.Admin), url.QueryEscape(g.By)}, ";")
}

// readGrant reads grantHeader.
func readGrant(text string) (g monitor.Grant, ok bool) {
	parts := strings.SplitN(text, ";", 3)
	if len(parts) != 3 {
		return g, false
	}
	by, err := url.QueryUnescape(parts[2])
	return monitor.Grant{Write: parts[0] == "true", Admin: parts[1] == "true", By: by}, err == nil
}

// ofNode adds to an API what nodes of a cluster do: the writer reads what other nodes have found out about who asks, and
// others pass writes on to it.
func (p *Program) ofNode(ctx context.Context, api http.Handler) http.Handler {
	if p.node == nil {
		return api
	}
	pulse := p.node.Pulse(ctx)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isPeer := p.node.IsPeer(r)
		g, granted := readGrant(p.node.Granted(r))
		granted = granted && isPeer
		if isPeer && !granted && strings.HasPrefix(r.URL.Path, ofCluster) {
			g, granted = monitor.Grant{Write: true, Admin: true, By: "another node"}, true
		}
		if granted {
			r = r.WithContext(monitor.WithGrant(r.Context(), g))
		}
		switch {
		case r.URL.Path == cluster.PulsePath && isPeer:
			pulse.ServeHTTP(w, r)
		case r.URL.Path == pageGateway && isPeer && granted:
			p.admitPassed(w, r, g)
		case p.follows() && p.isForWriter(r):
			if !p.monitor.Admits(r) {
				api.ServeHTTP(w, r) // it says why
				return
			}
			p.node.passAPI.ServeHTTP(w, r)
		default:
			api.ServeHTTP(w, r)
		}
	})
}

// ofPage is the API behind the page: where another node writes, changes are passed on to that with what the page's
// session permits.
func (p *Program) ofPage(api http.Handler) http.Handler {
	if !p.follows() {
		return api
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.isForWriter(r) {
			p.node.passAPI.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}

// pageGateway is where the writer serves the chat of pages of other nodes.
const pageGateway = ofCluster + "gateway"

// passPage passes the chat of a page on to the writer, with what the page's session permits.
func (p *Program) passPage(w http.ResponseWriter, r *http.Request) {
	who := ui.SessionOf(r.Context())
	r = r.Clone(monitor.WithGrant(r.Context(), monitor.Grant{Write: who.Role >= ui.Operate, By: who.By}))
	r.URL = &url.URL{Path: pageGateway}
	p.node.passAPI.ServeHTTP(w, r)
}

// admitPassed serves the chat of a page of another node.
func (p *Program) admitPassed(w http.ResponseWriter, r *http.Request, g monitor.Grant) {
	if p.gateway == nil {
		cluster.Refuse(w, http.StatusServiceUnavailable, "no_gateway", "the node that writes has no gateway", "start it without --gateway off")
		return
	}
	who := ui.Session{Role: ui.Read, By: g.By}
	if g.Write {
		who.Role = ui.Operate
	}
	p.admitPage(w, r, who)
}

// ofThisNode are paths of requests that concern this node's own files and role.
var ofThisNode = []string{ui.Base, "/api/sql", "/api/backups", ofCluster, "/debug/"}

// ofCluster are the paths of what operators and other nodes have this node do.
const ofCluster = "/api/cluster/"

// ofRunning are reads of what only the program that runs the agents knows.
var ofRunning = []string{"/api/approvals", "/api/channels", "/api/continuation", "/api/discord/bots", "/api/mcp/servers", "/api/tools/rights"}

// isForWriter reports whether a request is passed on: all that are no reads, and few that are. The page passes on what it
// checked itself.
func (p *Program) isForWriter(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return slices.Contains(ofRunning, r.URL.Path) && p.node.HasWriter()
	case http.MethodOptions:
		return false
	}
	return !concernsThisNode(r)
}

func concernsThisNode(r *http.Request) bool {
	return slices.ContainsFunc(ofThisNode, func(own string) bool { return strings.HasPrefix(r.URL.Path, own) })
}
