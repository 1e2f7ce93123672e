package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/policy"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/services/access"
)

// Limits of one connection, beside those in limits. Answers may be long; requests are short.
const (
	writeTime      = time.Minute
	idleTime       = 2 * time.Minute
	maxHeaderBytes = 64 << 10
)

// serve answers API requests on listener until ctx ends, then drains.
func (p *Program) serve(ctx context.Context, listener net.Listener) error {
	p.opts.Logger.Info("serving", "api", listener.Addr().String(), "db", p.opts.DB, "state_dir", p.opts.StateDir, "mode", p.mode(),
		"classifier", p.opts.Rules)
	if p.opts.Ready != nil {
		p.opts.Ready(listener.Addr(), p.gatewayAddress())
	}
	return p.answer(ctx, listener, p.answered.of(p.ofNode(ctx, p.handler())), p.opts.Logger)
}

// answer serves HTTP on listener until ctx ends, then drains. Hijacked connections belong to their handler.
func (p *Program) answer(ctx context.Context, listener net.Listener, handler http.Handler, logger *slog.Logger) error {
	unasked := idleConns{}
	server := &http.Server{
		ConnState:         unasked.track,
		Handler:           handler,
		ReadHeaderTimeout: p.limits.readHeaderTime,
		ReadTimeout:       p.limits.readTime,
		WriteTimeout:      writeTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(p.opts.Logger.With("component", "http").Handler(), slog.LevelDebug),
	}
	server.RegisterOnShutdown(unasked.end)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	logger.Info("draining")
	draining, stop := context.WithTimeout(context.WithoutCancel(ctx), p.limits.drain)
	defer stop()
	err := server.Shutdown(draining)
	if errors.Is(err, context.DeadlineExceeded) {
		logger.Warn("requests cut off", "after", p.limits.drain)
		err = server.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return err
}

// idleConns tracks connections without a request so far, such as those that browsers keep ready. Shutdown would wait seconds for them for
// no reason.
type idleConns struct {
	mu    sync.Mutex
	conns map[net.Conn]bool
}

// track is the ConnState callback.
func (s *idleConns) track(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state != http.StateNew {
		delete(s.conns, conn)
		return
	}
	if s.conns == nil {
		s.conns = map[net.Conn]bool{}
	}
	s.conns[conn] = true
}

func (s *idleConns) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		_ = conn.Close()
	}
}

func (p *Program) newMonitor() *monitor.Server {
	return monitor.New(monitor.Options{
		Store: p.log, Rules: p.opts.Rules, Now: p.opts.Now, Version: buildinfo.Read().Version,
		Logger: p.opts.Logger.With("component", "monitor"), Settings: p.settings.Monitor(), Durability: string(p.log.Durability()),
		Importing: p.importing.progress, Operations: p.operations(), Search: p.search, Workspace: p.newWorkspace(), Work: p.agents.workOf(),
		SQL: p.sql.sqlOf(), AdminToken: settings.AdminToken(p.opts.getenv).Value,
		Flows: p.agents.flowsOf(), OwnTasks: p.ownTasks(), Approvals: p.agents.approvalsOf(), Operator: p.agents.operatorOf(), Pairings: p.pairings(),
		Schedules: p.agents.schedulesOf(), Tools: p.agents.toolsOf(),
		Continuation: p.explainer(), Reminders: p.agents.remindersOf(),
		Names: p.agents.names(), Bots: p.agents.bots(), Past: p.past, Redactions: p.redactor, Reads: p.reads, Backup: p.backUp,
		Backups: backupFiles{p}, Stored: storedFiles{p.files}, Configuration: configurationFile{p}, Cluster: p.clusterOf(), Replay: p.newReplay(),
		Policy: func(from, to string) (policy.Policy, error) {
			return access.Explain(p.newConfiguration().InForce(), from, to)
		},
		PolicyMatrix: func(from string, most int) (policy.Matrix, error) {
			return access.ExplainAll(p.newConfiguration().InForce(), from, most)
		},
	})
}

// ownTasks is the API's view of the tasks managed here; nil where another gateway manages them.
func (p *Program) ownTasks() *monitor.OwnTasks {
	if p.taskFiles == nil {
		return nil
	}
	return &monitor.OwnTasks{Team: p.team, Home: p.workspaceOf, Files: p.taskFiles.syncer}
}

func (p *Program) team() []config.Agent { return p.newConfiguration().InForce().Agents }

func (p *Program) mode() string {
	if p.withoutAgents() {
		return "follow"
	}
	return "produce"
}
