package push

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// queue holds one client's outgoing frames. Adding never blocks.
type queue struct {
	maxFrames, maxBytes int
	total               *atomic.Int64 // bytes queued for all clients
	wake                chan struct{} // holds one token while the queue may be non-empty

	mu      sync.Mutex
	frames  []*frame
	bytes   int
	started bool        // the first frames complete a partly sent page
	end     closeReason // the queue is closed and this comes last; "" while open
}

func newQueue(maxFrames, maxBytes int, total *atomic.Int64) *queue {
	return &queue{maxFrames: maxFrames, maxBytes: maxBytes, total: total, wake: make(chan struct{}, 1)}
}

// put adds all frames or none; false means that there is no room. An empty queue always has room, whatever the size. A
// closed queue drops them.
func (q *queue) put(frames ...*frame) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.end != "" {
		return true
	}
	bytes := 0
	for _, f := range frames {
		bytes += f.size
	}
	if len(q.frames) > 0 && (len(q.frames)+len(frames) > q.maxFrames || q.bytes+bytes > q.maxBytes) {
		return false
	}
	q.frames = append(q.frames, frames...)
	q.hold(bytes)
	q.signal()
	return true
}

// halfFull reports whether waiting briefly may help. It does not for a closed queue.
func (q *queue) halfFull() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.end == "" && (len(q.frames) > q.maxFrames/2 || q.bytes > q.maxBytes/2)
}

// finish closes the queue and drops its frames except the rest of a partly sent page, without which a client that
// continues would miss or repeat events. The first close reason counts.
func (q *queue) finish(f closeReason) {
	q.mu.Lock()
	defer q.mu.Unlock()
	rest := 0
	if q.started {
		rest = 1 + slices.IndexFunc(q.frames, func(f *frame) bool { return !f.more })
	}
	q.cut(rest)
	q.end = cmp.Or(q.end, f)
	q.signal()
}

// forget ends a queue without a reader.
func (q *queue) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.cut(0)
	q.end = cmp.Or(q.end, failed)
}

func (q *queue) cut(keep int) {
	for _, f := range q.frames[keep:] {
		q.hold(-f.size)
	}
	q.frames = slices.Clone(q.frames[:keep])
}

// take returns the next frame, else the close reason if set, else neither.
func (q *queue) take() (*frame, closeReason) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.frames) == 0 {
		return nil, q.end
	}
	next := q.frames[0]
	q.frames[0] = nil
	q.frames = q.frames[1:]
	q.started = next.more
	q.hold(-next.size)
	return next, ""
}

func (q *queue) hold(bytes int) {
	q.bytes += bytes
	q.total.Add(int64(bytes))
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
