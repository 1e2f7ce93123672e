package push

import (
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
	end    farewell // nothing comes any more but this; "" while there is none
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

func (q *queue) halfFull() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.frames) > q.maxFrames/2 || q.bytes > q.maxBytes/2
}

// finish ends the queue: what waits is forgotten. The first farewell counts.
func (q *queue) finish(f farewell) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.hold(-q.bytes)
	q.frames = nil
	if q.end == "" {
		q.end = f
	}
	q.signal()
}

// take returns the next frame, or the farewell, or neither where there is nothing to do.
func (q *queue) take() (*frame, farewell) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.end != "" || len(q.frames) == 0 {
		return nil, q.end
	}
	next := q.frames[0]
	q.frames[0] = nil
	q.frames = q.frames[1:]
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
