package slacktest

import (
	"encoding/json"
	"time"
)

// Kinds of deliveries, as the type of an envelope.
const (
	eventsAPI   = "events_api"
	interactive = "interactive"
	slash       = "slash_commands"
)

// delivery is something that an app is told until it acknowledges it.
type delivery struct {
	s        *Server
	app      *app
	kind     string
	event    string // event_id
	payload  json.RawMessage
	attempts int
	reason   string // why the last attempt failed
	acked    bool
	lost     bool
	envelope string // of the latest attempt in Socket Mode
	socket   *socket
	timer    *time.Timer
	done     func(body []byte) // called with the lock, once, with the body of the acknowledgement; nil if nothing waits
	failed   func()            // called with the lock if it is lost; nil if nothing waits
}

// event tells one app of an event. The lock is held.
func (s *Server) event(a *app, e any) {
	id := s.id("Ev")
	payload := encode(map[string]any{
		"token": "legacy", "team_id": TeamID, "context_team_id": TeamID, "context_enterprise_id": nil, "api_app_id": a.id, "event": e,
		"type": "event_callback", "event_id": id, "event_time": s.o.Now().Unix(), "is_ext_shared_channel": false, "event_context": "4-" + id,
		"authorizations": []any{map[string]any{"enterprise_id": nil, "team_id": TeamID, "user_id": a.user, "is_bot": true, "is_enterprise_install": false}},
	})
	d := &delivery{s: s, app: a, kind: eventsAPI, event: id, payload: payload}
	s.deliver(d)
	if a.twice > 0 {
		a.twice--
		s.deliver(&delivery{s: s, app: a, kind: eventsAPI, event: id, payload: payload})
	}
}

// deliver begins a delivery. The lock is held.
func (s *Server) deliver(d *delivery) {
	s.deliveries = append(s.deliveries, d)
	d.attempt()
}

// attempt sends a delivery. The lock is held.
func (d *delivery) attempt() {
	if d.acked || d.lost || d.s.shut {
		return
	}
	if url := d.app.requestURL; url != "" {
		d.attempts++
		d.s.parts.Go(func() { d.post(url) })
		d.s.happened()
		return
	}
	d.socket = d.s.nextSocket(d.app)
	if d.socket == nil {
		d.fail("connection_failed")
		return
	}
	d.attempts++
	d.envelope = uuid()
	d.socket.send(map[string]any{"envelope_id": d.envelope, "type": d.kind, "payload": d.payload, "accepts_response_payload": d.kind == slash,
		"retry_attempt": d.attempts - 1, "retry_reason": d.reason})
	d.after(d.s.o.Ack, func() { d.fail("timeout") })
	d.s.happened()
}

// fail plans the next attempt, or gives the delivery up. The lock is held.
func (d *delivery) fail(reason string) {
	d.stopTimer()
	d.envelope, d.socket, d.reason = "", nil, reason
	tried := max(d.attempts, 1)
	if d.kind != eventsAPI || d.app.forgotten || tried > len(d.s.o.Retries) {
		d.lost = true
		if d.failed != nil {
			d.failed()
		}
		d.s.happened()
		return
	}
	d.attempts = tried
	d.after(d.s.o.Retries[tried-1], d.attempt)
}

// ack ends a delivery. The lock is held.
func (d *delivery) ack(body []byte) {
	if d.acked {
		return
	}
	d.stopTimer()
	d.acked = true
	if d.done != nil {
		d.done(body)
	}
	d.s.happened()
}

// after calls do later, with the lock.
func (d *delivery) after(wait time.Duration, do func()) {
	d.stopTimer()
	var own *time.Timer
	own = time.AfterFunc(wait, func() {
		d.s.mu.Lock()
		defer d.s.mu.Unlock()
		if d.timer == own && !d.s.shut {
			do()
		}
	})
	d.timer = own
}

func (d *delivery) stopTimer() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

// Repeat sends an app's latest acknowledged event again, as Slack does if it has lost the acknowledgement.
func (a *App) Repeat() {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	for i := len(a.s.deliveries) - 1; i >= 0; i-- {
		if d := a.s.deliveries[i]; d.app == a.own && d.kind == eventsAPI && d.acked {
			a.s.deliver(&delivery{s: a.s, app: a.own, kind: d.kind, event: d.event, payload: d.payload, attempts: d.attempts, reason: "timeout"})
			return
		}
	}
}

// LoseAcks loses the acknowledgements of the next n deliveries: they fail without waiting for their time to pass.
func (a *App) LoseAcks(n int) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.own.lostAcks = n
}

// SendTwice sends each of the next n events twice.
func (a *App) SendTwice(n int) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.own.twice = n
}
