package wire

import (
	"container/list"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync/atomic"
)

// client is one connection. One goroutine reads; there is one that writes only while there is something to write.
type client struct {
	hub    *Hub
	socket *socket
	queue  *queue
	reads  reads
	ctx    context.Context // ends with the connection
	leave  context.CancelFunc
	said   chan struct{} // closed when nothing is written any more

	id     string
	ip     netip.Addr
	host   string // by which the gateway was asked
	origin string // of the page that asks; "" for a program
	passed bool   // a proxy has passed it on, for somebody who may be anywhere

	place   *list.Element // at the door; nil once it is let in; the hub's lock guards it
	peer    *Peer         // nil until then; the hub's lock guards it
	silent  atomic.Int32
	slowed  atomic.Bool // it was closed because it has not kept up
	strikes int         // requests that its role does not allow; only the goroutine that reads touches it
}

func newClient(h *Hub, s *socket, r *http.Request) *client {
	c := &client{hub: h, socket: s, queue: newQueue(&h.opts, &h.load), said: make(chan struct{}), id: h.opts.NewID(),
		ip: remoteAddress(r), host: r.Host, origin: r.Header.Get("Origin"), passed: isPassedOn(r)}
	c.ctx, c.leave = context.WithCancel(context.Background())
	s.heard(c.hear, c.pong)
	return c
}

// hear is for whatever comes of the client: it is there.
func (c *client) hear() { c.silent.Store(0) }

// listen reads requests until the connection ends, and returns why.
func (c *client) listen() error {
	for {
		text, err := c.socket.read()
		switch {
		case errors.Is(err, errNotText):
			c.finish(farewell{codeInvalidText, "invalid UTF-8"}, true)
			continue
		case err != nil:
			return err
		}
		c.hear()
		c.request(text)
	}
}

// errPanic is the end of a connection on which something of ours has panicked.
var errPanic = errors.New("something has panicked")

// guarded does what a connection is for. A panic ends that connection only.
func (c *client) guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.logger().Error("a connection has panicked", "panic", p, "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	return do()
}

// part ends a connection: from now on nobody listens.
func (c *client) part(why error) {
	h := c.hub
	c.leave()
	h.forget(c)
	c.readsNoMore()
	var left *leftError
	var bid farewell
	switch {
	case errors.As(why, &left):
		bid = farewell{code: left.code}
	case errors.Is(why, errTooBig):
		bid = farewell{code: codeTooBig}
	case errors.Is(why, errSilent):
		bid = farewell{codeNormal, "handshake timeout"}
	case errors.Is(why, errProtocol):
		bid = farewell{code: codeProtocol}
	case errors.Is(why, errPanic):
		bid = farewell{codeInternal, "internal error"}
	default:
		c.gone(why)
		return
	}
	c.finish(bid, left == nil)
	if isDone(c.said, h.opts.CloseTime) && left == nil {
		c.socket.hangUp()
	}
	c.gone(why)
}

// gone frees what the connection has held.
func (c *client) gone(why error) {
	c.socket.cut()
	c.queue.close(nil)
	if c.slowed.Load() {
		c.logger().Info("a client has not kept up and was closed")
		return
	}
	c.logger().Debug("a client is gone", "err", why)
}

// give puts a frame into the queue and never waits. A client that does not keep up is closed.
func (c *client) give(f frame) {
	v, write := c.put(f)
	if write {
		c.start()
	}
	if v == taken && f.kind != answer {
		c.hub.stats.told.Add(1)
	}
}

// put is give for those who can write themselves.
func (c *client) put(f frame) (v verdict, write bool) {
	v, write = c.queue.put(f)
	switch v {
	case skipped:
		c.hub.stats.skipped.Add(1)
	case refused:
		return v, c.slow()
	}
	return v, write
}

// slow closes a client that does not keep up. If write is true, nobody is writing and whoever has called it has to see to it. The hub's
// locks may be held: a log that is slow itself must not hold up the others.
func (c *client) slow() (write bool) {
	first, write := c.queue.finish(farewell{codePolicy, "slow consumer"}, false)
	if first {
		c.hub.stats.slow.Add(1)
		c.slowed.Store(true)
		c.hub.opts.Slow()
	}
	return write
}

// finish says goodbye, once.
func (c *client) finish(f farewell, keep bool) {
	if _, write := c.queue.finish(f, keep); write {
		c.start()
	}
}

// retire says goodbye when the requests that run have been answered.
func (c *client) retire(f farewell) {
	if c.queue.retire(f) {
		c.start()
	}
}

// start writes what waits, on a goroutine of its own.
func (c *client) start() {
	c.hub.gone.Add(1)
	go func() {
		defer c.hub.gone.Done()
		c.write()
	}()
}

// write writes what waits until there is nothing, and the farewell after that.
func (c *client) write() {
	var batch []frame
	for {
		var end *farewell
		batch, end = c.queue.take(batch)
		if len(batch) == 0 {
			if end != nil {
				_ = c.socket.bid(*end) // who does not hear it is gone anyway
				c.queue.close(nil)
				close(c.said)
			}
			return
		}
		if err := c.socket.write(batch); err != nil {
			if errors.Is(err, errStuck) {
				c.slow()
			}
			c.leave()
			c.queue.close(batch)
			c.socket.cut()
			close(c.said)
			return
		}
	}
}

func (c *client) logger() *slog.Logger {
	return c.hub.opts.Logger.With("client", c.ip.String(), "conn", c.id)
}
