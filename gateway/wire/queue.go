package wire

import (
	"sync"
	"sync/atomic"
)

// frame is one text as it goes over the wire. What several clients are told is the same memory.
type frame struct {
	kind kind
	text []byte
}

// kind says what may become of a frame that a client is too slow for.
type kind byte

const (
	event  kind = iota // the client is closed
	chance             // it is left out
	answer             // it waits: the client has asked for it, and is not read meanwhile
	ping               // it is left out
)

// verdict is what has become of a frame.
type verdict byte

const (
	taken   verdict = iota
	skipped         // it may be left out, and was
	refused         // there is no room
	late            // the client is told nothing any more
)

// load is what waits in all queues.
type load struct {
	bytes      atomic.Int64
	asked      atomic.Int64 // bytes of requests that run and of answers that wait: what clients have asked for, and nobody shares
	mostFrames atomic.Int64 // that have ever waited for one client
	mostBytes  atomic.Int64
}

// queue holds the frames that wait for one client, and counts the requests that it waits for. Putting something in never blocks.
type queue struct {
	opts *Options
	load *load

	mu       sync.Mutex
	turn     sync.Cond // for whoever is in begin
	frames   []frame
	spare    []frame // the memory of a batch that has been written
	events   tally   // waiting, what is being written included
	answers  tally
	requests tally     // that run
	waiting  bool      // somebody is in begin
	writing  bool      // somebody takes, and goes on until there is nothing
	last     *farewell // comes when no request runs any more; no further one begins
	end      *farewell // comes when nothing waits any more; nothing further is put in
	over     bool      // nobody takes any more
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

// put adds a frame. If write is true, nobody is writing and whoever has put it in has to see to it. Where nothing of its kind waits there is
// always room, so that a frame of any size comes through.
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

// fits reports whether one more event stays within a part of what may wait.
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

// take returns what waits, and forgets what has been written before. Where nothing waits it returns the farewell, if there is one;
// otherwise whoever takes need not come back.
func (q *queue) take(written []frame) ([]frame, *farewell) {
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

// maxSpare is how much memory of a batch is kept for the next one.
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

// begin waits until a request of some bytes may run; false means that it must not any more.
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

// isBusy reports whether a request of some bytes has to wait for what the client has under way already. It never has to wait for what others
// have: where all together have too much, each goes on with one request at a time.
func (q *queue) isBusy(bytes int) bool {
	underWay := q.requests.frames + q.answers.frames
	return underWay >= q.opts.MaxInFlight || q.answers.bytes > q.opts.QueueBytes ||
		q.requests.frames > 0 && q.requests.bytes+bytes > q.opts.RequestBytes ||
		underWay > 0 && q.load.asked.Load()+int64(bytes) > int64(q.opts.AskedBytes)
}

// done is for a request that has been answered. If write is true, it was the last one, nobody is writing, and whoever has run it has to see
// to the farewell.
func (q *queue) done(bytes int) (write bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.requests.add(-1, -bytes)
	q.load.asked.Add(int64(-bytes))
	q.turn.Signal()
	return q.settle()
}

// retire ends the queue with a farewell when the requests that run have been answered. If write is true, that is now.
func (q *queue) retire(f farewell) (write bool) {
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

// finish ends the queue with a farewell, the first one counts. What waits is told before it if keep is true, and forgotten otherwise. If
// write is true, nobody is writing and whoever has ended it has to see to it.
func (q *queue) finish(f farewell, keep bool) (first, write bool) {
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

// close ends a queue from which nobody takes any more: written is what was taken last.
func (q *queue) close(written []frame) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.end == nil {
		q.end = &farewell{}
	}
	q.over = true
	q.forget(written)
	q.forget(q.frames)
	q.frames = nil
	q.turn.Broadcast()
}

// isHeldBack reports whether somebody is in begin: the client is not read.
func (q *queue) isHeldBack() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}
