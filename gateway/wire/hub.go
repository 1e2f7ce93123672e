package wire

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/internal/lockout"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// Hub holds all connections. Its locks are never held during blocking operations.
type Hub struct {
	methods  Methods
	opts     Options
	door     atomic.Pointer[activeAccess]
	buffers  *buffers
	failures *lockout.Failures
	presence *presenceList
	greeting greeting
	stats    counters
	load     load
	ready    chan struct{} // closed when Run has started or ended
	changed  chan struct{} // holds one token while a presence change is unsent
	gone     sync.WaitGroup

	order  sync.Mutex // order of events: held from taking a number to queueing the event
	seq    int64      // number of the latest event
	health int64      // counts health events

	mu      sync.Mutex
	clients map[*client]struct{}
	peers   map[string]*client // accepted clients, by connection
	atDoor  list.List          // clients still shaking hands, oldest first
	places  int                // taken by clients and by upgrades in progress
	posts   int                // HTTP requests in progress
	closed  bool

	serving    context.Context // context of HTTP requests; its cause is ErrStopping
	endServing context.CancelCauseFunc
}

// New returns a hub that accepts clients once Run runs.
func New(methods Methods, opts Options) *Hub {
	h := &Hub{methods: methods, opts: opts.withDefaults(), buffers: newBuffers(), failures: lockout.New(opts.Now, lockout.MaxFailures),
		ready: make(chan struct{}), changed: make(chan struct{}, 1), clients: map[*client]struct{}{}, peers: map[string]*client{}}
	h.presence = newPresenceList(&h.opts)
	h.greeting.hub, h.greeting.started = h, opts.Now()
	h.serving, h.endServing = context.WithCancelCause(context.Background())
	h.Configure(opts.Access)
	return h
}

// Run serves clients until ctx ends, then closes their connections. It is called once and returns nil.
func (h *Hub) Run(ctx context.Context) error {
	defer h.close()
	close(h.ready)
	beat := time.NewTicker(h.opts.TickInterval)
	defer beat.Stop()
	health := time.NewTicker(h.opts.HealthEvery)
	defer health.Stop()
	pause := time.NewTimer(h.opts.PresenceEvery)
	defer pause.Stop()
	resting := true // after a presence event
	changed := false
	var told []byte // health events
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
			h.beat()
		case <-health.C:
			told = h.broadcastState(ctx, told)
		case <-h.changed:
			changed = true
		case <-pause.C:
			resting = false
		}
		if changed && !resting {
			h.broadcastPresence()
			changed, resting = false, true
			pause.Reset(h.opts.PresenceEvery)
		}
	}
}

// Configure changes who may connect. Existing connections stay.
func (h *Hub) Configure(a Access) {
	a.ownPage = h.opts.Access.ownPage
	h.door.Store(newActiveAccess(a, h.door.Load()))
}

// Presence returns the presence entries, the gateway first.
func (h *Hub) Presence() []Presence { return h.presence.list() }

// Note sets a presence entry sent by a client and broadcasts it. It replaces an entry of the same device, instance or
// host.
func (h *Hub) Note(p Presence) {
	h.presence.set(p)
	h.presenceChanged()
}

// Peers lists the accepted clients.
func (h *Hub) Peers() []*Peer {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*Peer, 0, len(h.peers))
	for _, c := range h.peers {
		all = append(all, c.peer)
	}
	return all
}

// presenceChanged schedules a presence event.
func (h *Hub) presenceChanged() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// Refusals of enter.
var (
	errFull     = errors.New("the maximum number of clients is connected")
	errStopping = errors.New("the gateway is not serving")
)

// waitStarted waits until Run has started, for a limited time.
func (h *Hub) waitStarted(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, h.opts.StartWait)
	defer stop()
	select {
	case <-h.ready:
		return nil
	case <-ctx.Done():
		return errStopping
	}
}

// acquire reserves one of the limited places and waits until Run has started. The caller must call giveBack.
func (h *Hub) acquire(ctx context.Context, taken *int, most int) error {
	if err := h.waitStarted(ctx); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return errStopping
	case *taken >= most:
		return errFull
	}
	*taken++
	h.gone.Add(1)
	return nil
}

func (h *Hub) giveBack(taken *int) {
	h.mu.Lock()
	*taken--
	h.mu.Unlock()
	h.gone.Done()
}

func (h *Hub) leave() { h.giveBack(&h.places) }

func (h *Hub) accept(w http.ResponseWriter, r *http.Request) {
	c := h.open(w, r)
	if c == nil {
		return
	}
	if err := h.join(c); err != nil {
		defer h.leave()
		c.part(err)
		return
	}
	if err := c.guarded(c.shakeHands); err != nil {
		defer h.leave()
		c.part(err)
		return
	}
	go func() { // on a new stack, to free what the HTTP request needed
		defer h.leave()
		c.part(c.guarded(c.listen))
	}()
}

// open makes a connection of a request, with a place that the caller has to leave; nil if the request was refused.
func (h *Hub) open(w http.ResponseWriter, r *http.Request) *client {
	switch err := h.acquire(r.Context(), &h.places, h.opts.MaxClients); {
	case errors.Is(err, errFull):
		h.stats.refuse(RefusedFull)
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, "full", err.Error())
		return nil
	case err != nil:
		h.stats.refuse(RefusedStopping)
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "stopping", err.Error())
		return nil
	}
	s, err := upgrade(w, r, h.buffers, &h.opts)
	if err != nil {
		defer h.leave()
		h.stats.refuse(RefusedUpgrade)
		var wrong *upgradeError
		if errors.As(err, &wrong) {
			w.Header().Set("Sec-WebSocket-Version", "13")
			refuse(w, wrong.status, "invalid_request_error", wrong.Error())
			return nil
		}
		h.opts.Logger.Debug("client lost while connecting", "client", r.RemoteAddr, "err", err)
		return nil
	}
	h.stats.accepted.Add(1)
	c := newClient(h, s, r)
	s.limit(protocol.MaxUnknownPayload)
	s.readUntil(time.Now().Add(h.opts.HandshakeTime))
	return c
}

// join registers a connection, so that it can be closed. An error means that it is over. If too many clients are
// shaking hands, the oldest of them is dropped: real clients connect at once, and silent ones cannot keep them out.
func (h *Hub) join(c *client) error {
	h.mu.Lock()
	closed := h.closed
	if !closed {
		h.clients[c] = struct{}{}
		c.place = h.atDoor.PushBack(c)
		if h.atDoor.Len() > h.opts.MaxAtDoor {
			oldest, _ := h.atDoor.Remove(h.atDoor.Front()).(*client)
			oldest.place = nil
			oldest.socket.readUntil(time.Now())
		}
	}
	h.mu.Unlock()
	if !closed {
		return nil
	}
	c.finish(restart, true)
	return c.linger()
}

// enters takes a client off the list of handshakes, so that it is no longer dropped for others.
func (h *Hub) enters(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.removePending(c)
}

func (h *Hub) removePending(c *client) {
	if c.place != nil {
		h.atDoor.Remove(c.place)
		c.place = nil
	}
}

// admit makes a client a peer, with hello-ok before all events.
func (h *Hub) admit(c *client, p *Peer, greeting []byte) {
	h.enters(c)
	c.socket.limit(p.frameBytes())
	c.socket.readUntil(time.Time{})
	h.presence.arrive(p)
	h.order.Lock()
	defer h.order.Unlock()
	h.mu.Lock()
	c.peer = p
	h.peers[p.ConnID] = c
	h.mu.Unlock()
	h.stats.greeted.Add(1)
	c.give(frame{answer, greeting})
}

func (h *Hub) forget(c *client) {
	h.mu.Lock()
	delete(h.clients, c)
	h.removePending(c)
	if c.peer != nil {
		delete(h.peers, c.peer.ConnID)
	}
	h.mu.Unlock()
	if c.peer != nil && h.presence.depart(c.peer) {
		h.presenceChanged()
	}
}

func (h *Hub) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// restart is the close frame of a stopping gateway. Clients reconnect.
var restart = closeFrame{codeRestart, "service restart"}

// close lets active requests end, closes all connections, and cuts off clients that do not answer.
func (h *Hub) close() {
	h.Broadcast(Event{Name: "shutdown", Payload: shutdown{Reason: "gateway stopping"}})
	h.mu.Lock()
	h.closed = true
	all := slices.Collect(maps.Keys(h.clients))
	h.mu.Unlock()
	for _, c := range all {
		c.retire(restart)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.gone.Wait()
	}()
	if !wait.Unless(ended, h.opts.DrainTime) {
		return
	}
	h.endServing(ErrStopping)
	for _, c := range all {
		c.finish(restart, true)
		c.leave()
	}
	if !wait.Unless(ended, h.opts.CloseTime) {
		return
	}
	for _, c := range all {
		c.socket.cut()
	}
	if wait.Unless(ended, h.opts.DrainTime) {
		h.opts.Logger.Error("shutdown: requests still running after their connection closed", "requests", h.stats.inFlight.Load())
	}
}

// shutdown is the event of a stopping gateway. The restart time is unknown and left out: the original's null violates
// its own schema.
type shutdown struct {
	Reason string `json:"reason"`
}

// beat sends a tick, pings the clients, and cuts off silent ones.
func (h *Hub) beat() {
	h.Broadcast(Event{Name: "tick", Payload: tick{h.opts.Now().UnixMilli()}, Droppable: true})
	h.mu.Lock()
	var silent []*client
	for _, c := range h.peers {
		if c.queue.isHeldBack() { // unread data does not count
			c.markAlive()
		}
		if c.silent.Add(1) > maxSilence {
			silent = append(silent, c)
			continue
		}
		c.ping(nil)
	}
	h.mu.Unlock()
	for _, c := range silent {
		h.stats.silent.Add(1)
		c.logger().Debug("client silent, connection closed", "beats", maxSilence)
		c.socket.cut()
	}
}

// maxSilence is the number of ticks after which a silent client is cut off.
const maxSilence = 2

type tick struct {
	TS int64 `json:"ts"`
}

// broadcastState sends a health event if health has changed and there are clients. It returns the known health.
func (h *Hub) broadcastState(ctx context.Context, known []byte) []byte {
	h.mu.Lock()
	alone := len(h.peers) == 0
	h.mu.Unlock()
	if alone {
		return known
	}
	s, err := h.methods.Snapshot(ctx)
	if err != nil {
		if ctx.Err() == nil {
			h.opts.Logger.Error("cannot send health event", "err", err)
		}
		return known
	}
	if !bytes.Equal(known, s.Health) {
		h.Broadcast(Event{Name: "health", Payload: s.Health, Droppable: true, State: true})
	}
	return s.Health
}

func (h *Hub) broadcastPresence() {
	h.Broadcast(Event{Name: "presence", Payload: struct {
		Presence []Presence `json:"presence"`
	}{h.Presence()}, State: true})
}
