package push

import (
	"context"
	"maps"
	"weak"
)

// place says which page of the log a client needs that catches up.
type place struct {
	after int64
	full  bool
}

// replayed is a page as such clients are told it.
type replayed struct {
	frames []*frame
	seq    int64 // it ends here
}

// replay reads a page of the log, up to upTo at most.
func (h *Hub) replay(ctx context.Context, at place, upTo int64) (*replayed, error) {
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
	frames, err := h.encode(page, page.messages(at.full))
	if err != nil {
		return nil, err
	}
	r := &replayed{frames, page.Seq}
	h.hold(at, r)
	return r, nil
}

// held finds a huge page that some client is being told.
func (h *Hub) held(at place) *replayed {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.huge[at].Value()
}

// hold lets others find a page that is larger than what may wait for a client, for as long as one is being told it. Many who do not read
// would otherwise hold one each.
func (h *Hub) hold(at place, r *replayed) {
	bytes := 0
	for _, f := range r.frames {
		bytes += f.size
	}
	if bytes <= h.opts.QueueBytes {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.huge, func(_ place, p weak.Pointer[replayed]) bool { return p.Value() == nil })
	h.huge[at] = weak.Make(r)
}
