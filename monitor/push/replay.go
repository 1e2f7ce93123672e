package push

import (
	"context"
	"maps"
	"weak"
)

// pagePosition identifies the page of the log a client needs next.
type pagePosition struct {
	after int64
	view  View
}

// replayed is a page for clients that catch up.
type replayed struct {
	frames []*frame
	seq    int64 // its last seq
}

func (h *Hub) replay(ctx context.Context, at pagePosition, upTo int64) (*replayed, error) {
	select {
	case h.replays <- struct{}{}:
		defer func() { <-h.replays }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if known := h.held(at); known != nil {
		return known, nil
	}
	page, err := h.log.Page(ctx, at.after, upTo)
	if err != nil {
		return nil, err
	}
	frames, err := h.encode(page, at.view)
	if err != nil {
		return nil, err
	}
	r := &replayed{frames, page.Seq}
	h.hold(at, r)
	return r, nil
}

// held finds a huge page that is being sent to some client.
func (h *Hub) held(at pagePosition) *replayed {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.huge[at].Value()
}

// hold shares a page larger than a queue's limit while it is being sent. Otherwise many slow clients would each hold a
// copy.
func (h *Hub) hold(at pagePosition, r *replayed) {
	bytes := 0
	for _, f := range r.frames {
		bytes += f.size
	}
	if bytes <= h.opts.QueueBytes {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.huge, func(_ pagePosition, p weak.Pointer[replayed]) bool { return p.Value() == nil })
	h.huge[at] = weak.Make(r)
}
