package slacktest

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// maxSockets is how many sockets an app may have.
const maxSockets = 10

// socket is one connection in Socket Mode.
type socket struct {
	s    *Server
	app  *app
	conn *websocket.Conn

	mu    sync.Mutex
	queue []any
	wake  chan struct{} // capacity 1
	over  chan struct{}
	once  sync.Once
}

// farewell ends a socket after what was queued before it.
type farewell struct{}

func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	ticket := r.URL.Query().Get("ticket")
	s.mu.Lock()
	a := s.tickets[ticket]
	delete(s.tickets, ticket)
	s.mu.Unlock()
	if a == nil {
		http.Error(w, "invalid ticket", http.StatusForbidden)
		return
	}
	conn, err := (&websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	k := &socket{s: s, app: a, conn: conn, wake: make(chan struct{}, 1), over: make(chan struct{})}
	s.mu.Lock()
	if s.shut {
		s.mu.Unlock()
		_ = conn.Close()
		return
	}
	s.parts.Go(k.write)
	s.parts.Go(k.read)
	if n := s.count(a); n >= maxSockets {
		k.send(disconnect("too_many_websockets"))
		k.send(farewell{})
	} else {
		s.sockets, a.forgotten = append(s.sockets, k), false
		k.send(map[string]any{"type": "hello", "num_connections": n + 1, "connection_info": map[string]any{"app_id": a.id},
			"debug_info": map[string]any{"host": "applink-test-1", "build_number": 1, "approximate_connection_time": 18060}})
	}
	s.happened()
	s.mu.Unlock()
}

func disconnect(reason string) map[string]any {
	return map[string]any{"type": "disconnect", "reason": reason, "debug_info": map[string]any{"host": "applink-test-1"}}
}

func (s *Server) count(a *app) (n int) {
	for _, k := range s.sockets {
		if k.app == a {
			n++
		}
	}
	return n
}

// nextSocket chooses one of an app's sockets in turn; nil if it has none. The lock is held.
func (s *Server) nextSocket(a *app) *socket {
	var own []*socket
	for _, k := range s.sockets {
		if k.app == a {
			own = append(own, k)
		}
	}
	if len(own) == 0 {
		return nil
	}
	a.turn++
	return own[a.turn%len(own)]
}

// send queues a message; it does not wait for the network.
func (k *socket) send(v any) {
	k.mu.Lock()
	k.queue = append(k.queue, v)
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

func (k *socket) write() {
	ping := time.NewTicker(k.s.o.Ping)
	defer ping.Stop()
	_ = k.conn.WriteControl(websocket.PingMessage, []byte("Ping"), time.Now().Add(time.Second)) // a dead socket is found by read
	for {
		k.mu.Lock()
		queue := k.queue
		k.queue = nil
		k.mu.Unlock()
		for _, v := range queue {
			if _, is := v.(farewell); is {
				message := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
				_ = k.conn.WriteControl(websocket.CloseMessage, message, time.Now().Add(time.Second))
				k.cut()
				return
			}
			if k.conn.WriteJSON(v) != nil {
				k.cut()
				return
			}
		}
		select {
		case <-k.wake:
		case <-ping.C:
			_ = k.conn.WriteControl(websocket.PingMessage, []byte("Ping"), time.Now().Add(time.Second))
		case <-k.over:
			return
		}
	}
}

func (k *socket) read() {
	defer k.gone()
	for {
		var ack struct {
			Envelope string          `json:"envelope_id"`
			Payload  json.RawMessage `json:"payload"`
		}
		if k.conn.ReadJSON(&ack) != nil {
			return
		}
		k.s.mu.Lock()
		k.acknowledged(ack.Envelope, ack.Payload)
		k.s.mu.Unlock()
	}
}

// acknowledged ends a delivery, whichever of the app's sockets the answer comes from. The lock is held.
func (k *socket) acknowledged(envelope string, payload json.RawMessage) {
	for _, d := range k.s.deliveries {
		if d.app == k.app && d.envelope == envelope && envelope != "" {
			if k.app.lostAcks > 0 {
				k.app.lostAcks--
				d.fail("timeout")
				return
			}
			d.ack(payload)
			return
		}
	}
}

// cut ends the connection, without a close frame.
func (k *socket) cut() {
	k.once.Do(func() {
		close(k.over)
		_ = k.conn.Close()
	})
}

// gone forgets the socket; what it has not acknowledged is sent again.
func (k *socket) gone() {
	k.cut()
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	k.s.leave(k)
}

// leave takes a socket out of use. The lock is held.
func (s *Server) leave(k *socket) {
	s.sockets = slices.DeleteFunc(s.sockets, func(other *socket) bool { return other == k })
	for _, d := range s.deliveries {
		if d.socket == k && !d.acked && !d.lost && !s.shut {
			d.fail("connection_failed")
		}
	}
	s.happened()
}

// Drop cuts the app's sockets without a close frame, as a network failure does.
func (a *App) Drop() {
	a.each(func(k *socket) {
		k.cut()
		a.s.leave(k)
	})
}

// Forget cuts the app's sockets, and loses what it has not acknowledged and what is written until it connects again.
func (a *App) Forget() {
	a.each(func(k *socket) {
		a.own.forgotten = true
		k.cut()
		a.s.leave(k)
	})
}

// Disconnect says goodbye to the app's sockets and closes them: refresh_requested, warning or link_disabled. A warning
// closes nothing.
func (a *App) Disconnect(reason string) {
	a.each(func(k *socket) {
		k.send(disconnect(reason))
		if reason != "warning" {
			k.send(farewell{})
			a.s.leave(k)
		}
	})
}

func (a *App) each(do func(*socket)) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	for _, k := range slices.Clone(a.s.sockets) {
		if k.app == a.own {
			do(k)
		}
	}
}
