package wire

import (
	"bytes"
	"encoding/json"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// Broadcast sends an event to every peer, in call order with consecutive numbers. It is encoded once, never blocks on
// a client, and may be called at any time.
func (h *Hub) Broadcast(e Event) {
	payload, err := encode(e.Payload)
	if err != nil {
		h.opts.Logger.Error("cannot encode event; dropped", "event", e.Name, "err", err)
		return
	}
	h.order.Lock()
	defer h.order.Unlock()
	seq := h.seq + 1
	var versions *protocol.StateVersion
	if e.State {
		if e.Name == "health" {
			h.health++
		}
		versions = &protocol.StateVersion{Presence: h.presence.counted(), Health: h.health}
	}
	text, err := protocol.Event(e.Name, payload, &seq, versions)
	if err != nil {
		h.opts.Logger.Error("cannot encode event; dropped", "event", e.Name, "err", err)
		return
	}
	h.seq = seq
	h.stats.events.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.peers {
		if e.isFor(c.peer) {
			c.give(frame{kindOf(e), text})
		}
	}
}

// isFor reports whether a peer may see an event. A worker sees none but those of its connection.
func (e *Event) isFor(p *Peer) bool {
	if p.Role == protocol.RoleWorker {
		return e.Name == "tick" || e.Name == "shutdown"
	}
	return e.Scope == "" || protocol.Covers(p.Scopes, e.Scope)
}

// Send sends an event to some peers, by ConnID. It has no number, so that others see no gap. Unknown peers are
// skipped.
func (h *Hub) Send(e Event, connIDs ...string) {
	payload, err := encode(e.Payload)
	if err != nil {
		h.opts.Logger.Error("cannot encode event; dropped", "event", e.Name, "err", err)
		return
	}
	text, err := protocol.Event(e.Name, payload, nil, nil)
	if err != nil {
		h.opts.Logger.Error("cannot encode event; dropped", "event", e.Name, "err", err)
		return
	}
	h.order.Lock() // so that it does not overtake earlier events
	defer h.order.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range connIDs {
		if c := h.peers[id]; c != nil {
			c.give(frame{kindOf(e), text})
		}
	}
}

// encode encodes a payload before the event's number is taken, since that section must be short.
func encode(payload any) (any, error) {
	switch payload := payload.(type) {
	case nil, json.RawMessage:
		return payload, nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(payload); err != nil {
		return nil, err
	}
	return json.RawMessage(text.Bytes()), nil
}

func kindOf(e Event) kind {
	if e.Droppable {
		return chance
	}
	return event
}

// versions count changes of the state shown in hello-ok and events.
func (h *Hub) versions() protocol.StateVersion {
	h.order.Lock()
	defer h.order.Unlock()
	return protocol.StateVersion{Presence: h.presence.counted(), Health: h.health}
}
