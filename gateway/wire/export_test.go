package wire

// Beat does what comes with every tick.
func (h *Hub) Beat() { h.beat() }

// Unheard is the number of peers that were silent since the last beat.
func (h *Hub) Unheard() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.peers {
		if c.silent.Load() > 0 {
			n++
		}
	}
	return n
}

// HeldBack is the number of peers that are not read because they have too many requests.
func (h *Hub) HeldBack() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.peers {
		if c.queue.isHeldBack() {
			n++
		}
	}
	return n
}

// Asked is how many bytes of requests and answers are held for all clients.
func (h *Hub) Asked() int64 { return h.load.asked.Load() }

// AtDoor is how many clients are shaking hands.
func (h *Hub) AtDoor() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.atDoor.Len()
}
