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

	"github.com/pronto-lab/openclawd/internal/wait"
)

// client is one connection. One goroutine reads; a writing goroutine exists only while there is something to write.
type client struct {
	hub    *Hub
	socket *socket
	queue  *queue
	reads  readTracker
	ctx    context.Context // ends with the connection
	leave  context.CancelFunc
	said   chan struct{} // closed when writing has ended

	id     string
	ip     netip.Addr
	host   string // Host header of the request
	origin string // origin of the page; "" for a program
	passed bool   // forwarded by a proxy, so the real address is unknown

	place   *list.Element // element of the list of handshakes; nil once accepted; guarded by the hub's lock
	peer    *Peer         // nil until then; guarded by the hub's lock
	silent  atomic.Int32
	slowed  atomic.Bool // closed as too slow
	strikes int         // requests that its role does not allow; used by the reading goroutine only
}

func newClient(h *Hub, s *socket, r *http.Request) *client {
	c := &client{hub: h, socket: s, queue: newQueue(&h.opts, &h.load), said: make(chan struct{}), id: h.opts.NewID(),
		ip: remoteAddress(r), host: r.Host, origin: r.Header.Get("Origin"), passed: isPassedOn(r)}
	c.ctx, c.leave = context.WithCancel(context.Background())
	s.setHandlers(c.markAlive, c.pong)
	return c
}

// markAlive records that something was received: the client is alive.
func (c *client) markAlive() { c.silent.Store(0) }

// listen reads requests until the connection ends, and returns why.
func (c *client) listen() error {
	for {
		text, err := c.socket.read()
		switch {
		case errors.Is(err, errNotText):
			c.finish(closeFrame{codeInvalidText, "invalid UTF-8"}, true)
			continue
		case err != nil:
			return err
		}
		c.markAlive()
		c.request(text)
	}
}

// errPanic is the reason for a connection ended by a panic.
var errPanic = errors.New("panic")

// guarded runs a connection's work. A panic ends only that connection.
func (c *client) guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.logger().Error("panic in a connection; closing it", "panic", p, "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	return do()
}

func (c *client) part(why error) {
	h := c.hub
	c.leave()
	h.forget(c)
	c.readsNoMore()
	var left *leftError
	var bid closeFrame
	switch {
	case errors.As(why, &left):
		bid = closeFrame{code: left.code}
	case errors.Is(why, errTooBig):
		bid = closeFrame{code: codeTooBig}
	case errors.Is(why, errSilent):
		bid = closeFrame{codeNormal, "handshake timeout"}
	case errors.Is(why, errProtocol):
		bid = closeFrame{code: codeProtocol}
	case errors.Is(why, errPanic):
		bid = closeFrame{codeInternal, "internal error"}
	default:
		c.gone(why)
		return
	}
	c.finish(bid, left == nil)
	if !wait.Unless(c.said, h.opts.CloseTime) && left == nil {
		c.socket.hangUp()
	}
	c.gone(why)
}

func (c *client) gone(why error) {
	c.socket.cut()
	c.queue.close(nil)
	if c.slowed.Load() {
		c.logger().Info("client too slow, connection closed")
		return
	}
	c.logger().Debug("client disconnected", "err", why)
}

// give queues a frame without blocking. A client that is too slow is closed.
func (c *client) give(f frame) {
	v, write := c.put(f)
	if write {
		c.start()
	}
	if v == taken && f.kind != answer {
		c.hub.stats.told.Add(1)
	}
}

// put is give for callers that can write themselves.
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

// slow closes a client that is too slow. If write is true, no goroutine is writing and the caller has to start one.
// The hub's locks may be held: logging runs elsewhere, since a slow log must not delay other clients.
func (c *client) slow() (write bool) {
	first, write := c.queue.finish(closeFrame{codePolicy, "slow consumer"}, false)
	if first {
		c.hub.stats.slow.Add(1)
		c.slowed.Store(true)
		c.hub.opts.Slow()
	}
	return write
}

// finish sends the close frame, once.
func (c *client) finish(f closeFrame, keep bool) {
	if _, write := c.queue.finish(f, keep); write {
		c.start()
	}
}

// retire closes the connection when active requests are answered.
func (c *client) retire(f closeFrame) {
	if c.queue.retire(f) {
		c.start()
	}
}

// start writes queued frames on a new goroutine.
func (c *client) start() {
	c.hub.gone.Add(1)
	go func() {
		defer c.hub.gone.Done()
		c.write()
	}()
}

// write writes queued frames until the queue is empty, then the close frame if any.
func (c *client) write() {
	var batch []frame
	for {
		var end *closeFrame
		batch, end = c.queue.take(batch)
		if len(batch) == 0 {
			if end != nil {
				_ = c.socket.bid(*end) // a client that does not receive it is gone anyway
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
