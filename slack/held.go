package slack

import "sync"

// maxHeld is how many events an app remembers as held.
const maxHeld = 4096

// held are ids of events by HTTP that have reached the app and wait or are stored. Slack repeats one that waits for long, which says
// nothing of others: these reach the app, too.
type held struct {
	mu    sync.Mutex
	ids   map[string]bool
	order []string // oldest first
}

func (h *held) add(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if id == "" {
		return
	}
	if _, known := h.ids[id]; known {
		h.ids[id] = true
		return
	}
	if len(h.order) == maxHeld {
		delete(h.ids, h.order[0])
		h.order = h.order[1:]
	}
	if h.ids == nil {
		h.ids = map[string]bool{}
	}
	h.ids[id] = true
	h.order = append(h.order, id)
}

// drop records that Slack has to tell an event again. Its place in the order stays.
func (h *held) drop(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ids[id] {
		h.ids[id] = false
	}
}

func (h *held) has(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ids[id]
}
