package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/internal/backoff"
)

// restarts are the delays before a server is started again after consecutive failures.
var restarts = backoff.Backoff{First: time.Second, Most: 5 * time.Minute}

// stable is how long a connection has to last so that earlier failures no longer count.
const stable = time.Minute

// server is one MCP server.
type server struct {
	opts   *Options
	conf   config.MCPServer
	logger *slog.Logger
	hide   *secrets
	oauth  auth.OAuthHandler // nil: the server needs none

	offer atomic.Pointer[offer] // nil until it was connected once

	mu       sync.Mutex
	live     *connection             // nil: none
	opening  chan struct{}           // closed when the start under way is over; nil: none
	abandon  context.CancelCauseFunc // ends that start
	failures int                     // consecutive
	retryAt  time.Time               // zero: at once
	problem  string                  // of the last failure
	granted  string                  // the grant at that time, as grants.state says it
	wrote    *tail                   // what its last program has written; nil: it had none
	closed   bool

	starts, failed int64
}

func newServer(o *Options, c config.MCPServer) *server {
	s := &server{opts: o, conf: c, logger: o.Logger.With("server", c.Name), hide: hider(&c)}
	if c.OAuth != nil {
		s.oauth = &authorizer{server: s, grants: grants{o.Grants}}
	}
	return s
}

// shown is a text of a server, or about it, without secrets and bounded.
func (s *server) shown(text string, most int) string {
	return coordination.Clipped(config.Shown(s.hide.Replace(strings.ToValidUTF8(text, "\uFFFD"))), most)
}

// recovered makes an error of a panic, which servers can cause with messages that the library does not expect.
func (s *server) recovered(err *error) {
	if p := recover(); p != nil {
		s.logger.Error("a message of an MCP server caused a panic", "panic", s.shown(fmt.Sprint(p), maxProblem), "stack", string(debug.Stack()))
		*err = errors.New("it sent what cannot be read")
	}
}

// runs reports whether the server is that of a configuration.
func (s *server) runs(c *config.MCPServer) bool { return reflect.DeepEqual(s.conf, *c) }

// downError says why a server is not reachable.
type downError struct {
	server, problem string
	retryAt         time.Time
}

func (e *downError) Error() string {
	return fmt.Sprintf("MCP server %s is not available: %s", e.server, e.problem)
}

// unavailable is a downError for callers of tools.
func (e *downError) unavailable() *tool.Error {
	hint := "openclawd mcp list shows its state"
	if left := time.Until(e.retryAt).Round(time.Second); left > 0 {
		hint = fmt.Sprintf("it is started again when it is called after %s; %s", left, hint)
	}
	return &tool.Error{Code: tool.CodeUnavailable, Text: e.Error(), Hint: hint}
}

var errClosed = errors.New("it was removed from the configuration, or openclawd ends")

// open returns the connection, and starts the server if there is none. Concurrent callers share a start, which goes on without them.
func (s *server) open(ctx context.Context) (*connection, error) {
	for waited := false; ; waited = true {
		s.mu.Lock()
		s.forgiveAfterLogin()
		switch {
		case s.closed:
			s.mu.Unlock()
			return nil, &downError{server: s.conf.Name, problem: errClosed.Error()}
		case s.live != nil && s.live.ended.Err() == nil:
			live := s.live
			s.mu.Unlock()
			return live, nil
		case s.live != nil:
			s.drop(s.live)
			s.mu.Unlock()
			continue
		case s.opening == nil && (waited || time.Now().Before(s.retryAt)) && s.failures > 0:
			down := &downError{s.conf.Name, s.problem, s.retryAt}
			s.mu.Unlock()
			return nil, down
		case s.opening == nil:
			ctx, abandon := context.WithCancelCause(context.Background())
			s.opening, s.abandon = make(chan struct{}), abandon
			s.starts++
			go s.start(ctx, s.failures)
		}
		opening := s.opening
		s.mu.Unlock()
		select {
		case <-opening:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// forgiveAfterLogin forgets failures, with the lock held, if a person has logged in since the last one.
func (s *server) forgiveAfterLogin() {
	if s.failures > 0 && s.conf.OAuth != nil && s.granted != (grants{s.opts.Grants}).state(s.conf.Name) {
		s.failures, s.retryAt = 0, time.Time{}
	}
}

// await starts the server if there is no connection, and waits for it unless it has failed before. Failures are in its state, and logged.
func (s *server) await(ctx context.Context) {
	s.mu.Lock()
	s.forgiveAfterLogin()
	failed := s.failures > 0
	s.mu.Unlock()
	if failed {
		now, stop := context.WithCancel(ctx)
		stop()
		ctx = now
	}
	_, _ = s.open(ctx)
}

// start connects to the server, and reads its tools.
func (s *server) start(ctx context.Context, failures int) {
	ctx, stop := context.WithTimeoutCause(ctx, s.conf.ConnectTimeout, fmt.Errorf("it was not ready after %s", s.conf.ConnectTimeout))
	defer stop()
	c, err := connect(ctx, s, failures)
	if err == nil {
		e := &exchange{}
		err = c.list(withExchange(ctx, e))
		c.traced = e.requests.Load() > 0
		if err != nil {
			err = fmt.Errorf("list its tools: %w", err)
			c.close()
		}
	}
	s.mu.Lock()
	if err == nil && s.closed {
		s.mu.Unlock()
		c.close() // before close returns
		err = errClosed
		s.mu.Lock()
	}
	s.abandon(nil)
	close(s.opening)
	s.opening = nil
	switch {
	case err == nil:
		s.live = c
	case !s.closed:
		s.fail(err)
	}
	s.mu.Unlock()
	if err != nil {
		return
	}
	s.logger.Info("connected to an MCP server", "tools", len(s.offer.Load().names), "protocol", c.protocol)
	go s.watch(c)
}

// fail records a failure, with the lock held.
func (s *server) fail(err error) {
	s.failures++
	s.failed++
	s.problem = s.shown(err.Error(), maxProblem)
	if s.conf.OAuth != nil {
		s.granted = grants{s.opts.Grants}.state(s.conf.Name)
	}
	delay := restarts.After(s.failures)
	s.retryAt = time.Now().Add(delay)
	s.logger.Warn("an MCP server is not available", "err", s.problem, "failures", s.failures, "retry_in", delay)
}

// maxProblem bounds the text of a failure, in bytes.
const maxProblem = 1_000

// watch waits for the end of a connection.
func (s *server) watch(c *connection) {
	c.wait()
	c.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == c {
		s.drop(c)
	}
}

// drop records the loss of the connection, with the lock held.
func (s *server) drop(c *connection) {
	s.live = nil
	if time.Since(c.since) >= stable {
		s.failures = 0
	}
	s.fail(context.Cause(c.ended))
}

// close ends the server. It is not started again.
func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	live, opening := s.live, s.opening
	s.live = nil
	if opening != nil {
		s.abandon(errClosed)
	}
	s.mu.Unlock()
	if live != nil {
		live.close()
	}
	if opening != nil {
		<-opening // it closes the connection itself
	}
}

func (s *server) state() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := State{Name: s.conf.Name, Transport: s.conf.Transport(), Launch: s.shown(s.conf.Launch(), maxProblem), State: StateIdle, Tools: []string{},
		Starts: s.starts, Failures: s.failed}
	if s.wrote != nil {
		state.Log = s.wrote.lines(s.live == nil && s.opening == nil)
	}
	switch {
	case s.live != nil:
		state.Since = s.live.since
		state.State, state.Server, state.Protocol = StateReady, s.live.name, s.live.protocol
	case s.opening != nil:
		state.State = StateStarting
	case s.failures > 0:
		state.State, state.Error, state.RetryAt = StateDown, s.problem, s.retryAt
	}
	if offer := s.offer.Load(); offer != nil {
		state.Tools, state.Problems = append(state.Tools, offer.names...), offer.problems
	}
	return state
}
