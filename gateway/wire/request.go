package wire

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// request does what a frame asks for, or says why not. It waits while the client has asked for more than may be under way, so that what
// more it asks for stays on its own side.
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
		c.finish(farewell{codePolicy, "repeated unauthorized calls"}, true)
	}
	if c.queue.done(len(text)) {
		c.start()
	}
}

// maxStrikes is how often a client may call what its role does not allow.
const maxStrikes = 10

// check says why a request is not even tried. That there is no such method comes first, so that no one asks for a scope that would not help; whether
// it may be made comes before whether it can.
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

// run answers a request, unless that comes later, and writes the answer itself if nobody is writing.
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

// call makes a frame of what a method does, nil if its answer comes later. One that panics harms nobody else, nor does an answer that panics
// when it is encoded.
func (c *client) call(r *protocol.Request) (text []byte) {
	defer func() {
		if p := recover(); p != nil {
			c.logger().Error("a method has panicked", "method", r.Method, "panic", p, "stack", string(debug.Stack()))
			text = c.failure(r.ID, internalError(r), nil)
		}
	}()
	named := &protocol.Request{ID: r.ID, Method: r.Method} // an answer that comes later keeps no params
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

// answer makes a frame of what a method has returned.
func (c *client) answer(r *protocol.Request, payload any, err error) []byte {
	if err == nil {
		text, err := protocol.Response(r.ID, payload)
		if err == nil {
			return text
		}
		c.logger().Error("an answer cannot be told", "method", r.Method, "err", err)
		return c.failure(r.ID, internalError(r), nil)
	}
	var e *protocol.Error
	if !errors.As(err, &e) {
		e = &protocol.Error{Code: protocol.CodeUnavailable, Message: err.Error()}
		if !errors.Is(err, context.Canceled) {
			c.logger().Warn("a request has failed", "method", r.Method, "err", err)
		}
	}
	return c.failure(r.ID, e, payload)
}

// fail says why a request is not done.
func (c *client) fail(id string, e *protocol.Error, payload any) {
	c.give(frame{answer, c.failure(id, e, payload)})
}

func (c *client) failure(id string, e *protocol.Error, payload any) []byte {
	c.hub.stats.fail(e.Code)
	text, err := protocol.Failure(id, e, payload)
	if err != nil {
		c.logger().Error("a failure cannot be told whole", "err", err)
		text, _ = protocol.Failure(id, &protocol.Error{Code: e.Code, Message: e.Message}, nil) // two texts always can
	}
	return text
}
