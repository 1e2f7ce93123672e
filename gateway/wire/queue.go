package wire

import (
	"sync"
	"sync/atomic"
)

// frame is one text message on the wire. Broadcasts share its memory.
type frame struct {
	kind kind
	text []byte
}

// kind says what happens to a frame if the client is too slow.
type kind byte

const (
	event  kind = iota // the client is closed
	chance             // dropped
	answer             // waits: the client requested it and is not read meanwhile
	ping               // dropped
)

type verdict byte

const (
	taken   verdict = iota
	skipped         // droppable, and dropped
	refused         // no room
	late            // the queue is closed
)

// load is the sum over all queues.
type load struct {
	bytes      atomic.Int64
	asked      atomic.Int64 // bytes of active requests and queued answers, which are not shared between clients
	mostFrames atomic.Int64 // maximum ever queued for one client
	mostBytes  atomic.Int64
}

// queue holds one client's outgoing frames, and counts its active requests. Adding never blocks.
type queue struct {
	opts *Options
	load *load

	mu       sync.Mutex
	turn     sync.Cond // for callers in begin
	frames   []frame
	spare    []frame // memory of a written batch
	events   tally   // queued, including what is being written
	answers  tally
	requests tally       // active
	waiting  bool        // a caller waits in begin
	writing  bool        // a goroutine is taking until the queue is empty
	last     *closeFrame // sent when no request is active; no more may begin
	end      *closeFrame // sent when the queue is empty; nothing more is added
	over     bool        // writing has ended
}

type tally struct{ frames, bytes int }

func (t *tally) add(frames, bytes int) {
	t.frames += frames
	t.bytes += bytes
}

func newQueue(opts *Options, l *load) *queue {
	q := &queue{opts: opts, load: l}
	q.turn.L = &q.mu
	return q
}

// put adds a frame. If write is true, no goroutine is writing and the caller has to start one. The first frame of its
// kind always fits, whatever its size.
func (q *queue) put(f frame) (v verdict, write bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.end != nil {
		return late, false
	}
	size := len(f.text)
	switch f.kind {
	case answer:
		if q.answers.frames > 0 && (q.answers.bytes+size > q.opts.AnswerBytes || q.load.asked.Load()+int64(size) > 2*int64(q.opts.AskedBytes)) {
			return refused, false
		}
	case event:
		if q.events.frames > 0 && !q.fits(size, 1) {
			return refused, false
		}
	case chance, ping:
		if q.events.frames > 0 && !q.fits(size, 2) {
			return skipped, false
		}
	}
	if f.kind == answer {
		q.answers.add(1, size)
	} else {
		q.events.add(1, size)
	}
	if q.frames == nil {
		q.frames, q.spare = q.spare, nil
	}
	q.frames = append(q.frames, f)
	q.load.bytes.Add(int64(size))
	if f.kind == answer {
		q.load.asked.Add(int64(size))
	}
	most(&q.load.mostFrames, int64(q.events.frames+q.answers.frames))
	most(&q.load.mostBytes, int64(q.events.bytes+q.answers.bytes))
	return taken, q.start()
}

// fits reports whether one more event stays within a fraction of the limits.
func (q *queue) fits(size, part int) bool {
	return q.events.frames < q.opts.QueueFrames/part && q.events.bytes+size <= q.opts.QueueBytes/part
}

func most(m *atomic.Int64, n int64) {
	for old := m.Load(); n > old && !m.CompareAndSwap(old, n); old = m.Load() {
	}
}

func (q *queue) start() bool {
	if q.writing || q.over {
		return false
	}
	q.writing = true
	return true
}

// take returns the queued frames and releases those written before. If there are none it returns the close frame, if
// set; otherwise the writer is done.
func (q *queue) take(written []frame) ([]frame, *closeFrame) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forget(written)
	if clear(written); cap(written) <= maxSpare && q.spare == nil {
		q.spare = written[:0]
	}
	if len(q.frames) > 0 {
		batch := q.frames
		q.frames = nil
		return batch, nil
	}
	if q.end == nil {
		q.writing = false
	}
	return nil, q.end
}

// maxSpare is how much memory of a batch is kept for reuse.
const maxSpare = 32

func (q *queue) forget(frames []frame) {
	bytes := 0
	for _, f := range frames {
		if f.kind == answer {
			q.answers.add(-1, -len(f.text))
			q.load.asked.Add(int64(-len(f.text)))
		} else {
			q.events.add(-1, -len(f.text))
		}
		bytes += len(f.text)
	}
	if bytes > 0 {
		q.load.bytes.Add(int64(-bytes))
	}
	if len(frames) > 0 {
		q.turn.Signal()
	}
}

// begin waits until a request of this size may run; false means that it must not run any more.
func (q *queue) begin(bytes int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.last == nil && q.end == nil && q.isBusy(bytes) {
		q.waiting = true
		q.turn.Wait()
	}
	q.waiting = false
	if q.last != nil || q.end != nil {
		return false
	}
	q.requests.add(1, bytes)
	q.load.asked.Add(int64(bytes))
	return true
}

// isBusy reports whether a request of this size has to wait for the client's other requests. It never waits for other
// clients': under overload, each client may run one request at a time.
func (q *queue) isBusy(bytes int) bool {
	underWay := q.requests.frames + q.answers.frames
	return underWay >= q.opts.MaxInFlight || q.answers.bytes > q.opts.QueueBytes ||
		q.requests.frames > 0 && q.requests.bytes+bytes > q.opts.RequestBytes ||
		underWay > 0 && q.load.asked.Load()+int64(bytes) > int64(q.opts.AskedBytes)
}

// done marks a request as answered. If write is true, it was the last one, no goroutine is writing, and the caller has
// to send the close frame.
func (q *queue) done(bytes int) (write bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.requests.add(-1, -bytes)
	q.load.asked.Add(int64(-bytes))
	q.turn.Signal()
	return q.settle()
}

// retire closes the queue with a close frame once active requests are answered. If write is true, that is now.
func (q *queue) retire(f closeFrame) (write bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last = &f
	q.turn.Broadcast()
	return q.settle()
}

func (q *queue) settle() (write bool) {
	if q.last == nil || q.end != nil || q.requests.frames > 0 {
		return false
	}
	q.end = q.last
	return q.start()
}

// finish closes the queue with a close frame; the first one counts. Queued frames are sent before it if keep is true,
// else dropped. If write is true, no goroutine is writing and the caller has to start one.
func (q *queue) finish(f closeFrame, keep bool) (first, write bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.end != nil {
		return false, false
	}
	q.end = &f
	if !keep {
		q.forget(q.frames)
		q.frames = nil
	}
	q.turn.Broadcast()
	return true, q.start()
}

// close ends a queue without a writer: written is what was taken last.
func (q *queue) close(written []frame) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.end == nil {
		q.end = &closeFrame{}
	}
	q.over = true
	q.forget(written)
	q.forget(q.frames)
	q.frames = nil
	q.turn.Broadcast()
}

// isHeldBack reports whether a caller waits in begin, so the client is not read.
func (q *queue) isHeldBack() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}
