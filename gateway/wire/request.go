package wire

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// request runs a frame's request, or refuses it. It blocks while the client has too many active requests, so that
// further ones stay in the client's send buffer.
func (c *client) request(text []byte) {
	r, err := protocol.ParseRequest(text)
	if errors.Is(err, protocol.ErrNotJSON) {
		c.hub.stats.malformed.Add(1)
		return
	}
	refused := c.check(&r, err)
	if !c.queue.begin(len(text)) {
		return
	}
	if refused == nil {
		c.hub.stats.inFlight.Add(1)
		c.hub.gone.Add(1)
		go c.run(r, len(text))
		return
	}
	c.fail(r.ID, refused, nil)
	if c.strikes > maxStrikes {
		c.finish(closeFrame{codePolicy, "repeated unauthorized calls"}, true)
	}
	if c.queue.done(len(text)) {
		c.start()
	}
}

// maxStrikes is how often a client may call methods that its role does not allow.
const maxStrikes = 10

// check returns why a request is refused without running. An unknown method is reported first, since no scope would
// help; permission is checked before availability.
func (c *client) check(r *protocol.Request, err error) *protocol.Error {
	var malformed *protocol.FrameError
	if errors.As(err, &malformed) {
		c.hub.stats.malformed.Add(1)
		r.ID = malformed.ID
		return malformed.Answer()
	}
	c.hub.stats.requests.Add(1)
	p := c.peer
	if protocol.ForNodes(r.Method) {
		c.strikes++
	}
	switch {
	case r.Method == "connect":
		return &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "connect is only valid as the first request"}
	case !c.hub.methods.Knows(r.Method) && !protocol.ForNodes(r.Method):
		return &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "unknown method: " + r.Method}
	}
	if e := p.mayCall(r.Method); e != nil {
		return e
	}
	if e := protocol.Allowed(p.Role, p.Scopes, r.Method, p.Protocol); e != nil {
		return e
	}
	if !c.hub.methods.Knows(r.Method) {
		return &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "unknown method: " + r.Method}
	}
	if r.Params == nil {
		r.Params = json.RawMessage("{}")
	}
	r.Params = protocol.Canonical(r.Method, r.Params)
	return protocol.Check(r.Method, r.Params)
}

// run answers a request, unless the answer comes later, and writes the answer itself if no goroutine is writing.
func (c *client) run(r protocol.Request, size int) {
	defer c.hub.gone.Done()
	write := false
	if text := c.call(&r); text != nil {
		_, write = c.put(frame{answer, text})
	}
	c.hub.stats.inFlight.Add(-1)
	if c.queue.done(size) || write {
		c.write()
	}
}

// call runs a method and encodes its answer; nil if the answer comes later. A panic, also while encoding, only fails
// this request.
func (c *client) call(r *protocol.Request) (text []byte) {
	defer func() {
		if p := recover(); p != nil {
			c.logger().Error("panic in a method", "method", r.Method, "panic", p, "stack", string(debug.Stack()))
			text = c.failure(r.ID, internalError(r), nil)
		}
	}()
	named := &protocol.Request{ID: r.ID, Method: r.Method} // a later answer does not keep the parameters
	later := false
	payload, err := c.hub.methods.Answer(c.ctx, &Call{Peer: c.peer, ID: r.ID, Method: r.Method, Params: r.Params,
		Read:    c.ping,
		Interim: func(payload any) { c.give(frame{answer, c.answer(named, payload, nil)}) },
		Later: func() func(any, error) {
			later = true
			return func(payload any, err error) { c.give(frame{answer, c.answer(named, payload, err)}) }
		}})
	if later {
		return nil
	}
	return c.answer(r, payload, err)
}

func internalError(r *protocol.Request) *protocol.Error {
	return &protocol.Error{Code: protocol.CodeUnavailable, Message: "internal error in " + r.Method}
}

func (c *client) answer(r *protocol.Request, payload any, err error) []byte {
	if err == nil {
		text, err := protocol.Response(r.ID, payload)
		if err == nil {
			return text
		}
		c.logger().Error("cannot encode an answer", "method", r.Method, "err", err)
		return c.failure(r.ID, internalError(r), nil)
	}
	var e *protocol.Error
	if !errors.As(err, &e) {
		e = &protocol.Error{Code: protocol.CodeUnavailable, Message: err.Error()}
		if !errors.Is(err, context.Canceled) {
			c.logger().Warn("request failed", "method", r.Method, "err", err)
		}
	}
	return c.failure(r.ID, e, payload)
}

func (c *client) fail(id string, e *protocol.Error, payload any) {
	c.give(frame{answer, c.failure(id, e, payload)})
}

func (c *client) failure(id string, e *protocol.Error, payload any) []byte {
	c.hub.stats.fail(e.Code)
	text, err := protocol.Failure(id, e, payload)
	if err != nil {
		c.logger().Error("cannot encode an error's details", "err", err)
		text, _ = protocol.Failure(id, &protocol.Error{Code: e.Code, Message: e.Message}, nil) // encoding two strings cannot fail
	}
	return text
}
