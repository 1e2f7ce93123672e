package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/effects"
)

const (
	// soon is how long a call waits for the back-off of its server.
	soon = 3 * time.Second
	// unanswered is how many calls in a row may have no answer in time before the connection is given up.
	unanswered = 3
	// stuck is how long a request may take to end after its time is over; then the connection is given up.
	stuck = time.Second
)

// exchange is what is known of the request of a call.
type exchange struct {
	requests atomic.Int64 // over HTTP
	refused  atomic.Int64 // of them, those that the server did not accept

	mu        sync.Mutex
	inputs    *effects.Inputs         // nil: what the server asks for is declined
	wanted    *coordination.CallInput // what the server has asked for first, and was not given; nil: nothing
	note      string                  // what the agent is told of it, if no one is asked
	unaskable bool                    // no person can be asked for it
}

// unmade reports whether the server has accepted nothing, or was sent nothing.
func (e *exchange) unmade(c *connection) bool {
	sent, refused := e.requests.Load(), e.refused.Load()
	return refused > 0 && refused == sent || sent == 0 && c.traced
}

// call makes a request of a tool call, and judges its outcome.
func (s *server) call(ctx context.Context, do func(context.Context, *connection) (*result, error)) (tool.Output, error) {
	began := time.Now()
	c, err := s.openSoon(ctx)
	if err != nil {
		s.opts.Called(s.conf.Name, Unmade, time.Since(began))
		if down := (*downError)(nil); errors.As(err, &down) {
			return tool.Output{}, down.unavailable()
		}
		return tool.Output{}, &tool.Error{Code: tool.CodeUnavailable, Text: "the call was stopped before it was made", Hint: "make it again"}
	}
	e := &exchange{inputs: effects.InputsOf(ctx)}
	c.asking.add(e)
	r, err := c.exchange(withExchange(ctx, e), do)
	c.asking.remove(e)
	if err != nil {
		e.refusedFor(c, err)
	}
	out, outcome, err := s.judge(ctx, c, e, r, err)
	s.opts.Called(s.conf.Name, outcome, time.Since(began))
	if err == nil {
		out.Text += e.settle()
	}
	return out, err
}

// openSoon is open, and waits for a short back-off.
func (s *server) openSoon(ctx context.Context) (*connection, error) {
	c, err := s.open(ctx)
	down := (*downError)(nil)
	if !errors.As(err, &down) {
		return c, err
	}
	left := time.Until(down.retryAt)
	if down.retryAt.IsZero() || left > soon {
		return nil, err
	}
	if wait.For(ctx, left) != nil {
		return nil, ctx.Err()
	}
	return s.open(ctx)
}

var errLate = errors.New("no answer in time")

// exchange makes a request within the time for calls.
func (c *connection) exchange(ctx context.Context, do func(context.Context, *connection) (*result, error)) (*result, error) {
	inTime, stop := context.WithTimeoutCause(ctx, c.server.conf.CallTimeout, errLate)
	defer stop()
	type answer struct {
		r   *result
		err error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() { done <- a }()
		defer c.server.recovered(&a.err)
		a.r, a.err = do(inTime, c)
	}()
	var a answer
	select {
	case a = <-done:
	case <-inTime.Done():
		timer := time.NewTimer(stuck)
		defer timer.Stop()
		select {
		case a = <-done:
		case <-timer.C:
			c.asking.strays.Store(true)
			c.fail(errors.New("it does not take requests"))
			return nil, context.Cause(inTime)
		}
	}
	if a.err == nil {
		c.late.Store(0)
		return a.r, nil
	}
	if inTime.Err() == nil {
		return nil, a.err
	}
	c.asking.strays.Store(true)
	cause := context.Cause(inTime)
	if errors.Is(cause, errLate) && c.late.Add(1) >= unanswered {
		c.fail(fmt.Errorf("%d calls in a row had no answer in time", unanswered))
	}
	return nil, cause
}

// judge says what became of a request.
func (s *server) judge(ctx context.Context, c *connection, e *exchange, r *result, err error) (tool.Output, Outcome, error) {
	var answered *jsonrpc.Error
	unknown := func(reason string) (tool.Output, Outcome, error) {
		return tool.Output{}, Unknown, &tools.UnknownOutcomeError{Reason: reason, Err: errors.New(s.shown(err.Error(), maxProblem))}
	}
	switch {
	case err == nil && r.isError:
		return r.output(s), Failed, nil
	case err == nil:
		return r.output(s), OK, nil
	case errors.Is(err, errLate):
		return unknown(effects.ReasonTimeout)
	case ctx.Err() != nil:
		return tool.Output{}, Unknown, ctx.Err()
	case errors.As(err, &answered) && !ofLibrary(answered) && !e.sessionMissing(err):
		return tool.Output{Text: s.shown(fmt.Sprintf("The MCP server %s refused the call: %s (code %d)", s.conf.Name, answered.Message, answered.Code), maxProblem),
			IsError: true}, Failed, nil
	}
	unmade := e.unmade(c) || undialled(err) && e.requests.Load() == 1
	switch {
	case c.process != nil:
		c.fail(c.process.lost(err)) // nothing else can be said to it
	case e.sessionMissing(err), unmade && e.requests.Load() == 0:
		c.fail(err) // a new session is needed
	}
	if unmade {
		return tool.Output{}, Unmade, (&downError{server: s.conf.Name, problem: s.shown(err.Error(), maxProblem)}).unavailable()
	}
	return unknown(effects.ReasonConnection)
}

// undialled reports whether a connection to the server's address could not be made.
func undialled(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial"
}

// sessionMissing reports whether the server does not know the session any more. Some say so with a code of their own.
func (e *exchange) sessionMissing(err error) bool {
	var answered *jsonrpc.Error
	return errors.Is(err, sdk.ErrSessionMissing) || e.refused.Load() > 0 && errors.As(err, &answered) && answered.Code == -32001
}

// ofLibrary reports whether an error is the library's own, which has codes like a server's: the connection was lost. Servers use
// other codes near them, -32002 and with other texts -32001, for errors of one request.
func ofLibrary(e *jsonrpc.Error) bool {
	return e.Code >= -32005 && e.Code <= -32003 || e.Code == -32001 && e.Message == "unknown error"
}

// metaCallID is the name under which a server is told the id of a call, by which it may recognize a repetition.
const metaCallID = "openclawd/callId"

// callTool calls a tool of the server.
func (c *connection) callTool(ctx context.Context, name string, call *tools.Call) (*result, error) {
	params := &sdk.CallToolParams{Name: name, Arguments: call.Args}
	if id := effects.CallID(ctx); id != "" {
		params.Meta = sdk.Meta{metaCallID: id}
	}
	r, err := c.session.CallTool(ctx, params)
	if err != nil {
		return nil, err
	}
	return resultOf(r, c.server.hide), nil
}

func (c *connection) listResources(ctx context.Context, call *tools.Call) (*result, error) {
	args, err := tools.Decode[struct{ Cursor string }](call)
	if err != nil {
		return nil, err
	}
	at := pageOf(args.Cursor)
	list, err := c.session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: at.cursor})
	if err != nil {
		return nil, err
	}
	return resourcesOf(list, at, c.server.hide), nil
}

func (c *connection) readResource(ctx context.Context, call *tools.Call) (*result, error) {
	args, err := tools.Decode[struct{ URI string }](call)
	if err != nil {
		return nil, err
	}
	read, err := c.session.ReadResource(ctx, &sdk.ReadResourceParams{URI: args.URI})
	if err != nil {
		return nil, err
	}
	r := result{hide: c.server.hide}
	for _, one := range read.Contents {
		r.addResource(one)
	}
	return &r, nil
}
