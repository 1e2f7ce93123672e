package mcp

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// connection is a connection to a server.
type connection struct {
	server   *server
	session  *sdk.ClientSession
	process  *process // nil: an address
	idle     func()   // closes idle connections to an address
	traced   bool     // requests over HTTP are seen in the context of their exchange
	since    time.Time
	name     string // what the server calls itself
	protocol string

	changed chan struct{} // its tools have changed
	ended   context.Context
	end     context.CancelCauseFunc
	closing sync.Once

	late   atomic.Int64 // consecutive calls without an answer in time
	asking exchanges    // under way
	told   atomic.Int64 // when declined input was logged last, in Unix nanoseconds; 0: never
}

// legacy is the protocol for servers that do not answer requests of the newest one at all.
const legacy = "2025-11-25"

// connect connects to a server.
func connect(ctx context.Context, s *server, failures int) (*connection, error) {
	c := &connection{server: s, since: time.Now(), changed: make(chan struct{}, 1)}
	c.ended, c.end = context.WithCancelCause(context.Background())
	transport, err := c.transport()
	if err != nil {
		return nil, err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "openclawd", Version: s.opts.Version}, &sdk.ClientOptions{
		Logger: slog.New(slog.DiscardHandler), // it would log what servers send
		Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{
			Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}},
		ElicitationHandler: c.elicited,
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case c.changed <- struct{}{}:
			default: // it is read anyway
			}
		},
	})
	options := &sdk.ClientSessionOptions{}
	if failures%2 == 1 {
		options.ProtocolVersion = legacy
	}
	type connected struct {
		session *sdk.ClientSession
		err     error
	}
	done := make(chan connected, 1)
	go func() {
		var got connected
		defer func() { done <- got }()
		defer s.recovered(&got.err)
		got.session, got.err = client.Connect(ctx, transport, options)
	}()
	var got connected
	select {
	case got = <-done:
	case <-ctx.Done(): // a server that reads nothing can block a request
		c.close()
		got = <-done
		got.err = context.Cause(ctx)
	}
	if c.session = got.session; got.err != nil {
		if ctx.Err() == nil && c.process != nil {
			got.err = c.process.lost(got.err)
		} else if c.process != nil {
			got.err = c.process.explain(got.err)
		}
		c.close()
		if c.session != nil {
			_ = c.session.Close() // nothing depends on how
		}
		return nil, got.err
	}
	if about := c.session.InitializeResult(); about != nil {
		c.protocol = s.shown(about.ProtocolVersion, maxShown)
		if about.ServerInfo != nil {
			c.name = s.shown(about.ServerInfo.Name+" "+about.ServerInfo.Version, maxShown)
		}
	}
	go c.follow()
	return c, nil
}

// maxShown bounds what a server says of itself, in bytes.
const maxShown = 100

// transport is the way to the server, whose program is started for it.
func (c *connection) transport() (sdk.Transport, error) {
	if c.server.conf.Command == "" {
		return c.address(), nil
	}
	p, err := startProcess(c.server, c.end)
	if err != nil {
		return nil, err
	}
	c.process = p
	c.server.mu.Lock()
	c.server.wrote = p.errors
	c.server.mu.Unlock()
	return &sdk.IOTransport{Reader: p.out, Writer: p.in, MaxLineLength: maxMessage}, nil
}

// relist is the least time between two readings of a list that changes.
const relist = time.Second

// follow reads the tools again whenever they change.
func (c *connection) follow() {
	for {
		select {
		case <-c.changed:
		case <-c.ended.Done():
			return
		}
		ctx, stop := context.WithTimeout(c.ended, c.server.conf.ConnectTimeout)
		err := c.list(ctx)
		stop()
		if err != nil && c.ended.Err() == nil {
			c.server.logger.Warn("cannot read the tools of an MCP server again", "err", c.server.shown(err.Error(), maxProblem))
		}
		select {
		case <-time.After(relist):
		case <-c.ended.Done():
			return
		}
	}
}

// fail ends a connection that is of no use any more.
func (c *connection) fail(why error) { c.end(why) }

// wait returns once the connection is over.
func (c *connection) wait() {
	over := make(chan error, 1)
	go func() { over <- c.session.Wait() }()
	select {
	case err := <-over:
		if err == nil {
			err = errors.New("the server closed the connection")
		}
		if c.process != nil {
			err = c.process.lost(err)
		}
		c.end(err)
	case <-c.ended.Done():
	}
}

// close ends the connection and its process, and returns when that is gone.
func (c *connection) close() {
	c.closing.Do(func() {
		c.end(errClosed)
		if c.process != nil {
			c.process.stop() // first: a server that reads nothing blocks the end of the session
		}
		if c.session != nil {
			_ = c.session.Close() // nothing depends on how
		}
		if c.idle != nil {
			c.idle()
		}
	})
}
