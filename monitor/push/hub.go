package push

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/pronto-lab/openclawd/internal/wait"
)

// Refusals of Accept.
var (
	ErrFull   = errors.New("the maximum number of clients is connected")
	ErrIdle   = errors.New("the push service has not started")
	ErrClosed = errors.New("the push service has stopped")
)

// Order holds a client's parameters.
type Order struct {
	Since   *int64 // start after this seq, which must not exceed the head; nil: new events only
	Granted bool   // what may be read was found out before; EndUngranted leaves the client alone
	View
}

// Hub reads the log and sends events to the clients. Its lock is never held during blocking operations.
type Hub struct {
	log     Log
	opts    Options
	ready   chan struct{} // closed when Run knows the end of the log, or has ended
	replays chan struct{} // one token per client that may read the log
	gone    sync.WaitGroup

	mu      sync.Mutex
	clients map[*client]struct{}
	places  int           // taken by clients and by handshakes in progress
	seq     int64         // seq up to which live clients have been, or are being, sent events
	moved   chan struct{} // closed when seq changes; nil if no one waits
	huge    map[pagePosition]weak.Pointer[replayed]
	closed  bool

	frames, dropped, queued atomic.Int64
}

// New returns a hub that sends nothing until Run runs.
func New(log Log, opts Options) *Hub {
	return &Hub{log: log, opts: opts.withDefaults(), clients: map[*client]struct{}{}, huge: map[pagePosition]weak.Pointer[replayed]{},
		ready: make(chan struct{}), replays: make(chan struct{}, maxReplays)}
}

// Run sends new events until ctx ends, then closes all connections. It is called once. Failed reads are retried; an
// error means that the log is gone.
func (h *Hub) Run(ctx context.Context) error {
	defer h.close()
	head, err := h.log.Wait(ctx, 0)
	if err != nil {
		return h.ended(ctx, err)
	}
	h.skip(head)
	close(h.ready)
	for {
		head, err := h.log.Wait(ctx, h.seq+1)
		if err != nil {
			return h.ended(ctx, err)
		}
		if h.skip(head) {
			continue
		}
		err = h.spread(ctx, head)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			h.opts.Logger.Error("cannot read the log; will retry", "after", h.seq, "err", err)
			_ = wait.For(ctx, retryAfter)
		default:
			h.breathe(ctx)
		}
	}
}

const retryAfter = time.Second

func (h *Hub) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("wait for the log: %w", err)
}

// Publish sends a message beside the log to all clients, in call order. It never blocks and may be called at any time.
func (h *Hub) Publish(m Message) {
	h.mu.Lock()
	alone := len(h.clients) == 0
	h.mu.Unlock()
	if alone {
		return
	}
	f, err := newFrame(m, h.opts.Now())
	if err != nil {
		h.opts.Logger.Error("cannot encode message; dropped", "err", err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		if c.view.Topics == 0 || c.view.Topics.Has(Hints) {
			h.give(c, f)
		}
	}
}

// tick queues the position for a client. Everything up to it has been queued before.
func (h *Hub) tick(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !c.live {
		return
	}
	seq := h.seq
	f, err := newFrame(Message{Type: "tick", seq: &seq}, h.opts.Now())
	if err != nil {
		c.queue.finish(failed)
		return
	}
	f.seq = seq
	h.give(c, f)
}

// Stats returns statistics of the clients.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Stats{Clients: len(h.clients), Frames: h.frames.Load(), Dropped: h.dropped.Load(), Seq: h.seq, QueuedBytes: h.queued.Load()}
}

// Accept upgrades a request and serves the connection until it ends. On an error, no answer has been sent yet.
func (h *Hub) Accept(w http.ResponseWriter, r *http.Request, o Order) error {
	if err := h.enter(r.Context()); err != nil {
		return err
	}
	defer h.leave()
	s, err := upgrade(w, r, &h.opts)
	var refused *HandshakeError
	switch {
	case errors.As(err, &refused):
		return err
	case err != nil:
		h.opts.Logger.Debug("client lost while connecting", "client", r.RemoteAddr, "err", err)
		return nil
	}
	c := &client{hub: h, socket: s, queue: newQueue(h.opts.QueueFrames, h.opts.QueueBytes, &h.queued), view: o.View, granted: o.Granted}
	h.welcome(c, o.Since)
	defer h.forget(c)
	c.serve()
	return nil
}

func (h *Hub) enter(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, h.opts.StartWait)
	defer stop()
	select {
	case <-h.ready:
	case <-ctx.Done():
		return ErrIdle
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return ErrClosed
	case h.places >= h.opts.MaxClients:
		return ErrFull
	}
	h.places++
	h.gone.Add(1)
	return nil
}

func (h *Hub) leave() {
	h.mu.Lock()
	h.places--
	h.mu.Unlock()
	h.gone.Done()
}

// welcome registers a connection as a client and queues its first frame.
func (h *Hub) welcome(c *client, since *int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.seq, c.live = h.seq, true
	if since != nil && *since != h.seq {
		c.seq, c.live = *since, false
	}
	h.clients[c] = struct{}{}
	if h.closed {
		c.queue.finish(restarted)
		return
	}
	f, err := newFrame(Message{Type: "connected", Data: greeting{"Connected to Task Monitor", c.seq, h.seq, h.opts.Version}}, h.opts.Now())
	if err != nil {
		c.queue.finish(failed)
		return
	}
	c.queue.put(f)
}

type greeting struct {
	Message string `json:"message"`
	Seq     int64  `json:"seq"`  // events after it follow
	Head    int64  `json:"head"` // head at connect time
	Version string `json:"version,omitempty"`
}

func (h *Hub) forget(c *client) {
	h.mu.Lock()
	delete(h.clients, c)
	h.mu.Unlock()
	c.queue.forget()
}

// EndUngranted ends the clients that were accepted by rules that have changed. They may connect again.
func (h *Hub) EndUngranted() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		if !c.granted {
			c.queue.finish(restarted)
		}
	}
}

// close sends close frames to all clients and cuts off those that do not answer.
func (h *Hub) close() {
	h.mu.Lock()
	h.closed = true
	for c := range h.clients {
		c.queue.finish(restarted)
	}
	h.mu.Unlock()
	select {
	case <-h.ready:
	default:
		close(h.ready)
	}
	all := make(chan struct{})
	go func() {
		defer close(all)
		h.gone.Wait()
	}()
	if !wait.Unless(all, h.opts.CloseTime) {
		return
	}
	h.mu.Lock()
	for c := range h.clients {
		_ = c.socket.close()
	}
	h.mu.Unlock()
	<-all
}
