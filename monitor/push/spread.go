package push

import (
	"context"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/internal/wait"
)

// advance moves the hub's position and wakes waiters. The lock is held.
func (h *Hub) advance(seq int64) {
	h.seq = seq
	if h.moved != nil {
		close(h.moved)
		h.moved = nil
	}
}

// skip moves to the head if there are no live clients.
func (h *Hub) skip(head int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		if c.live {
			return false
		}
	}
	h.advance(head)
	return true
}

// spread reads the next page of the log and queues it for all live clients.
func (h *Hub) spread(ctx context.Context, head int64) error {
	page, err := h.log.Page(ctx, h.seq, head)
	if err != nil {
		return err
	}
	encoded := map[View][]*frame{}
	for {
		missing := h.tell(page.Seq, encoded)
		if len(missing) == 0 {
			return nil
		}
		for _, v := range missing {
			if encoded[v], err = h.encode(page, v); err != nil {
				return err
			}
		}
	}
}

// tell queues a page for all live clients and moves to its end, unless it has yet to be encoded for some of them.
func (h *Hub) tell(seq int64, encoded map[View][]*frame) (missing []View) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		if _, done := encoded[c.view]; c.live && !done && !slices.Contains(missing, c.view) {
			missing = append(missing, c.view)
		}
	}
	if len(missing) > 0 {
		return missing
	}
	for c := range h.clients {
		if c.live {
			h.give(c, encoded[c.view]...)
		}
	}
	h.advance(seq)
	return nil
}

// breathe briefly waits for clients whose queues are half full, if more follows at once. A client that does not read
// delays the others only until its queue is full.
func (h *Hub) breathe(ctx context.Context) {
	const breath = time.Millisecond
	if head, err := h.log.Wait(ctx, h.seq); err != nil || head == h.seq {
		return
	}
	for left := h.opts.BurstWait; left > 0 && h.crowded() && ctx.Err() == nil; left -= breath {
		_ = wait.For(ctx, breath)
	}
}

func (h *Hub) crowded() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		if c.live && c.queue.halfFull() {
			return true
		}
	}
	return false
}

// encode builds a page's frames. Only the last carries the page's end, since without it the page is incomplete.
func (h *Hub) encode(page *Page, view View) ([]*frame, error) {
	messages, err := page.messages(view)
	if err != nil {
		return nil, err
	}
	frames := make([]*frame, 0, len(messages))
	for i, m := range messages {
		f, err := newFrame(m, h.opts.Now())
		if err != nil {
			return nil, err
		}
		if f.more = i < len(messages)-1; !f.more {
			f.seq = page.Seq
		}
		frames = append(frames, f)
	}
	return frames, nil
}

// give queues frames for a client. A client without room is too slow: it is closed with the position at which it can
// continue. The lock is held.
func (h *Hub) give(c *client, frames ...*frame) {
	if len(frames) == 0 || c.queue.put(frames...) {
		return
	}
	c.queue.finish(tooSlow)
	h.dropped.Add(1)
	h.opts.Logger.Info("client too slow, closing the connection", "client", c.socket.name())
	h.opts.Dropped()
}

// join makes a client live if it has reached the hub's position, or returns the position up to which it has to read.
// moved is closed when that changes. A live client has everything else in its queue.
func (h *Hub) join(c *client) (upTo int64, live bool, moved <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.live || c.seq == h.seq {
		c.live = true
		return h.seq, true, nil
	}
	if h.moved == nil {
		h.moved = make(chan struct{})
	}
	return h.seq, false, h.moved
}
