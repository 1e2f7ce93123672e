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
)

// Hub is where all connections meet. Its locks are never held while anything waits.
type Hub struct {
	methods  Methods
	opts     Options
	door     atomic.Pointer[door]
	buffers  *buffers
	failures *failures
	presence *attendance
	greeting greeting
	stats    counters
	load     load
	ready    chan struct{} // closed when Run has begun, or is over
	changed  chan struct{} // holds one token while a change of presence has not been told
	gone     sync.WaitGroup

	order  sync.Mutex // of events: held from taking a number to putting the event into the queues
	seq    int64      // of the latest event
	health int64      // counts events of the state of health

	mu      sync.Mutex
	clients map[*client]struct{}
	peers   map[string]*client // those of them who were let in, by connection
	atDoor  list.List          // those of them who were not, the one that has come first in front
	places  int                // taken by clients and by those who are being upgraded
	posts   int                // that are being answered
	closed  bool

	serving    context.Context // of posts; its cause is ErrStopping
	endServing context.CancelCauseFunc
}

// New returns a hub that lets nobody in until Run runs.
func New(methods Methods, opts Options) *Hub {
	h := &Hub{methods: methods, opts: opts.withDefaults(), buffers: newBuffers(), failures: newFailures(opts.Now),
		ready: make(chan struct{}), changed: make(chan struct{}, 1), clients: map[*client]struct{}{}, peers: map[string]*client{}}
	h.presence = newAttendance(&h.opts)
	h.greeting.hub, h.greeting.started = h, opts.Now()
	h.serving, h.endServing = context.WithCancelCause(context.Background())
	h.Configure(opts.Access)
	return h
}

// Run keeps the clients company until ctx ends, then says goodbye to them. It is called once and returns nil.
func (h *Hub) Run(ctx context.Context) error {
	defer h.close()
	close(h.ready)
	beat := time.NewTicker(h.opts.TickInterval)
	defer beat.Stop()
	health := time.NewTicker(h.opts.HealthEvery)
	defer health.Stop()
	pause := time.NewTimer(h.opts.PresenceEvery)
	defer pause.Stop()
	resting := true // after an event of who is there
	changed := false
	var told []byte // of the state of health
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
			h.beat()
		case <-health.C:
			told = h.tellState(ctx, told)
		case <-h.changed:
			changed = true
		case <-pause.C:
			resting = false
		}
		if changed && !resting {
			h.tellPresence()
			changed, resting = false, true
			pause.Reset(h.opts.PresenceEvery)
		}
	}
}

// Configure changes who is let in. Those who are in stay.
func (h *Hub) Configure(a Access) {
	a.ownPage = h.opts.Access.ownPage
	h.door.Store(newDoor(a, h.door.Load()))
}

// Presence is who is there, the gateway first.
func (h *Hub) Presence() []Presence { return h.presence.list() }

// Note shows what a client says of itself, or of somebody else, and tells everybody. An entry of the same device, instance or host is
// replaced.
func (h *Hub) Note(p Presence) {
	h.presence.note(p)
	h.change()
}

// Peers lists who was let in.
func (h *Hub) Peers() []*Peer {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*Peer, 0, len(h.peers))
	for _, c := range h.peers {
		all = append(all, c.peer)
	}
	return all
}

// change has it told that there is somebody else, soon.
func (h *Hub) change() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// Refusals of enter.
var (
	errFull     = errors.New("as many clients are connected as may be")
	errStopping = errors.New("the gateway is not serving")
)

// begun waits until Run has begun, though not for ever.
func (h *Hub) begun(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, h.opts.StartWait)
	defer stop()
	select {
	case <-h.ready:
		return nil
	case <-ctx.Done():
		return errStopping
	}
}

// take takes one of most places, and waits until Run has begun. Whoever has it calls giveBack.
func (h *Hub) take(ctx context.Context, taken *int, most int) error {
	if err := h.begun(ctx); err != nil {
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

// accept makes a client of a request.
func (h *Hub) accept(w http.ResponseWriter, r *http.Request) {
	switch err := h.take(r.Context(), &h.places, h.opts.MaxClients); {
	case errors.Is(err, errFull):
		h.stats.refuse(RefusedFull)
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, "full", err.Error())
		return
	case err != nil:
		h.stats.refuse(RefusedStopping)
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "stopping", err.Error())
		return
	}
	s, err := upgrade(w, r, h.buffers, &h.opts)
	if err != nil {
		defer h.leave()
		h.stats.refuse(RefusedUpgrade)
		var wrong *upgradeError
		if errors.As(err, &wrong) {
			w.Header().Set("Sec-WebSocket-Version", "13")
			refuse(w, wrong.status, "invalid_request_error", wrong.Error())
			return
		}
		h.opts.Logger.Debug("client lost while it connected", "client", r.RemoteAddr, "err", err)
		return
	}
	h.stats.accepted.Add(1)
	c := newClient(h, s, r)
	s.limit(protocol.MaxUnknownPayload)
	s.readUntil(time.Now().Add(h.opts.HandshakeTime))
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
	go func() { // on a stack of its own, without all that a request has needed
		defer h.leave()
		c.part(c.guarded(c.listen))
	}()
}

// join makes a connection known, so that it can be closed. An error means that it is over. Where too many are at the door, the time of the
// one that has been there longest is over: whoever wants to come in says so at once, and nobody can keep the others out by saying nothing.
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

// enters takes a client from the door. From then on nobody takes its time away.
func (h *Hub) enters(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leavesDoor(c)
}

func (h *Hub) leavesDoor(c *client) {
	if c.place != nil {
		h.atDoor.Remove(c.place)
		c.place = nil
	}
}

// admit makes a client a peer, with a greeting that comes before all events.
func (h *Hub) admit(c *client, p *Peer, greeting []byte) {
	h.enters(c)
	c.socket.limit(protocol.MaxPayload)
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

// forget is for a client that is gone.
func (h *Hub) forget(c *client) {
	h.mu.Lock()
	delete(h.clients, c)
	h.leavesDoor(c)
	if c.peer != nil {
		delete(h.peers, c.peer.ConnID)
	}
	h.mu.Unlock()
	if c.peer != nil && h.presence.depart(c.peer) {
		h.change()
	}
}

func (h *Hub) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// restart is the farewell of a gateway that ends. Clients connect again.
var restart = farewell{codeRestart, "service restart"}

// close lets requests under way end, says goodbye to everybody, and cuts off whoever does not answer.
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
	if isDone(ended, h.opts.DrainTime) {
		return
	}
	h.endServing(ErrStopping)
	for _, c := range all {
		c.finish(restart, true)
		c.leave()
	}
	if isDone(ended, h.opts.CloseTime) {
		return
	}
	for _, c := range all {
		c.socket.cut()
	}
	if !isDone(ended, h.opts.DrainTime) {
		h.opts.Logger.Error("the gateway ends while requests go on that do not heed that their connection is gone", "requests", h.stats.inFlight.Load())
	}
}

func isDone(ended <-chan struct{}, patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		return false
	}
}

// shutdown says that the gateway ends. When it will be back is not known, and so not told: the original's null breaks its own schema.
type shutdown struct {
	Reason string `json:"reason"`
}

// beat says that the gateway is there, asks whether the clients are, and cuts off those of whom nothing has been heard.
func (h *Hub) beat() {
	h.Broadcast(Event{Name: "tick", Payload: tick{h.opts.Now().UnixMilli()}, Droppable: true})
	h.mu.Lock()
	var silent []*client
	for _, c := range h.peers {
		if c.queue.isHeldBack() { // what it says is not heard
			c.hear()
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
		c.logger().Debug("nothing has been heard of a client", "beats", maxSilence)
		c.socket.cut()
	}
}

// maxSilence is after how many beats a client of whom nothing has been heard is gone.
const maxSilence = 2

type tick struct {
	TS int64 `json:"ts"`
}

// tellState tells how the gateway is, if that is news and there is anybody to tell. It returns what is known now.
func (h *Hub) tellState(ctx context.Context, known []byte) []byte {
	h.mu.Lock()
	nobody := len(h.peers) == 0
	h.mu.Unlock()
	if nobody {
		return known
	}
	s, err := h.methods.Snapshot(ctx)
	if err != nil {
		if ctx.Err() == nil {
			h.opts.Logger.Error("the state of health cannot be told", "err", err)
		}
		return known
	}
	if !bytes.Equal(known, s.Health) {
		h.Broadcast(Event{Name: "health", Payload: s.Health, Droppable: true, State: true})
	}
	return s.Health
}

// tellPresence tells who is there.
func (h *Hub) tellPresence() {
	h.Broadcast(Event{Name: "presence", Payload: struct {
		Presence []Presence `json:"presence"`
	}{h.Presence()}, State: true})
}
