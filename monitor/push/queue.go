package push

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// queue holds the frames that wait for one client. Putting something in never blocks.
type queue struct {
	maxFrames, maxBytes int
	total               *atomic.Int64 // bytes waiting in all queues
	wake                chan struct{} // holds one token while there may be something to take

	mu     sync.Mutex
	frames []*frame
	bytes  int
	begun  bool     // the first frames are the rest of a page of which one has been taken
	end    farewell // nothing is put in any more, and this comes last; "" while there is none
}

func newQueue(maxFrames, maxBytes int, total *atomic.Int64) *queue {
	return &queue{maxFrames: maxFrames, maxBytes: maxBytes, total: total, wake: make(chan struct{}, 1)}
}

// put adds frames, all or none; false means that there is no room. In an empty queue there always is, so that a frame of any size comes
// through. A queue that has ended forgets them.
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

// halfFull reports whether a moment would help. It does not help a queue that has ended.
func (q *queue) halfFull() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.end == "" && (len(q.frames) > q.maxFrames/2 || q.bytes > q.maxBytes/2)
}

// finish ends the queue: what waits is forgotten, but for the rest of a page that has been begun. Without it, whoever goes on at a place
// would miss something or be told something again. The first farewell counts.
func (q *queue) finish(f farewell) {
	q.mu.Lock()
	defer q.mu.Unlock()
	rest := 0
	if q.begun {
		rest = 1 + slices.IndexFunc(q.frames, func(f *frame) bool { return !f.more })
	}
	q.cut(rest)
	q.end = cmp.Or(q.end, f)
	q.signal()
}

// forget ends a queue from which nobody takes any more.
func (q *queue) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.cut(0)
	q.end = cmp.Or(q.end, failed)
}

// cut forgets all but the first frames.
func (q *queue) cut(keep int) {
	for _, f := range q.frames[keep:] {
		q.hold(-f.size)
	}
	q.frames = slices.Clone(q.frames[:keep])
}

// take returns the next frame, or the farewell where there is none, or neither where there is nothing to do.
func (q *queue) take() (*frame, farewell) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.frames) == 0 {
		return nil, q.end
	}
	next := q.frames[0]
	q.frames[0] = nil
	q.frames = q.frames[1:]
	q.begun = next.more
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
