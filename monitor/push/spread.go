package push

import (
	"context"
	"time"
)

// advance moves the hub's place in the log and wakes those who wait for it. The lock is held.
func (h *Hub) advance(seq int64) {
	h.seq = seq
	if h.moved != nil {
		close(h.moved)
		h.moved = nil
	}
}

// skip passes over the log up to head if nobody wants to be told of it.
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

// spread reads the next page of the log and gives it to all who are live.
func (h *Hub) spread(ctx context.Context, head int64) error {
	page, err := h.log.Page(ctx, h.seq, head)
	if err != nil {
		return err
	}
	public, err := h.encode(page, page.Public)
	if err != nil {
		return err
	}
	full := public
	if page.Full != nil {
		if full, err = h.encode(page, page.Full); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		switch {
		case !c.live:
		case c.full:
			h.give(c, full...)
		default:
			h.give(c, public...)
		}
	}
	h.advance(page.Seq)
	return nil
}

// breathe gives clients whose queues are half full a moment, if more follows at once. One that does not read delays the others in a burst
// until its queue is full, and then no more.
func (h *Hub) breathe(ctx context.Context) {
	const breath = time.Millisecond
	if head, err := h.log.Wait(ctx, h.seq); err != nil || head == h.seq {
		return
	}
	for left := h.opts.BurstWait; left > 0 && h.crowded() && ctx.Err() == nil; left -= breath {
		pause(ctx, breath)
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

// encode makes the frames of a page. The last one says where the page ends, for whoever lacks it has not been told all of it.
func (h *Hub) encode(page *Page, messages []Message) ([]*frame, error) {
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

// give queues frames for a client. One that has no room for them has not kept up: it is told where to go on, once it reads again. The
// lock is held.
func (h *Hub) give(c *client, frames ...*frame) {
	if len(frames) == 0 || c.queue.put(frames...) {
		return
	}
	c.queue.finish(tooSlow)
	h.dropped.Add(1)
	h.opts.Logger.Info("a client does not keep up and is closed", "client", c.socket.name())
	h.opts.Dropped()
}

// join makes a client live that has been told all that the hub has read, or says up to where it has to read by itself. moved is closed
// when that changes. One that is live already has in its queue whatever it was not told yet.
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
