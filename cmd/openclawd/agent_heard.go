package main

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/pronto-lab/openclawd/gateway/client"
)

// heard keeps what the gateway tells of a run until somebody has time to print it. Of a text that grows only the newest is kept, so that a
// slow terminal costs no memory and holds up no connection.
type heard struct {
	runID string
	more  chan struct{} // has room for one who is to look

	mu      sync.Mutex
	session string // the key under which the run's events come
	queue   []piece
}

// piece is something that happened in the run. With neither text nor tool it has begun.
type piece struct {
	text string // all of the present answer so far
	tool string
}

func newHeard(runID string) *heard { return &heard{runID: runID, more: make(chan struct{}, 1)} }

// agentEvent is the payload of an agent event.
type agentEvent struct {
	RunID      string
	SessionKey string
	Stream     string
	Data       struct {
		Phase string
		Text  string
		Name  string
		Args  json.RawMessage
	}
}

// add hears an event.
func (h *heard) add(e client.Event) {
	if e.Name != "agent" {
		return
	}
	var a agentEvent
	if json.Unmarshal(e.Payload, &a) != nil || a.RunID != h.runID {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.session = a.SessionKey
	switch {
	case a.Stream == "assistant":
		last := len(h.queue) - 1
		if last >= 0 && h.queue[last].tool == "" && strings.HasPrefix(a.Data.Text, h.queue[last].text) {
			h.queue[last].text = a.Data.Text
		} else {
			h.queue = append(h.queue, piece{text: a.Data.Text})
		}
	case a.Stream == "tool" && a.Data.Phase == "start":
		h.queue = append(h.queue, piece{tool: strings.TrimSpace(a.Data.Name + " " + string(a.Data.Args))})
	case a.Stream == "lifecycle" && a.Data.Phase == "start":
		h.queue = append(h.queue, piece{})
	default:
		return
	}
	select {
	case h.more <- struct{}{}:
	default: // somebody is to look anyway
	}
}

// take returns what was heard since the last time.
func (h *heard) take() []piece {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.queue
	h.queue = nil
	return list
}

func (h *heard) key() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session
}
