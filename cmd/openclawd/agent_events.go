package main

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/pronto-lab/openclawd/gateway/client"
)

// eventBuffer buffers the events of a run until they are printed. Of a growing text only the newest state is kept, so that a slow terminal
// costs no memory and does not block the connection.
type eventBuffer struct {
	runID string
	more  chan struct{} // has capacity 1: wakes the reader

	mu      sync.Mutex
	session string // the run id of the events
	queue   []piece
}

// piece is an event of the run. One with neither text nor tool marks its start.
type piece struct {
	text string // the whole current answer so far
	tool string
}

func newEventBuffer(runID string) *eventBuffer {
	return &eventBuffer{runID: runID, more: make(chan struct{}, 1)}
}

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

// add records an event.
func (h *eventBuffer) add(e client.Event) {
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
	default: // already signalled
	}
}

// drain returns what was added since the last call.
func (h *eventBuffer) drain() []piece {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.queue
	h.queue = nil
	return list
}

func (h *eventBuffer) key() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session
}
