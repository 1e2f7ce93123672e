package sqlite

import "time"

// Bounds of one group commit.
const (
	batchEvents = 256
	batchBytes  = 1 << 20
	// batchTime is how long a batch is processed before it is committed; the rest goes into the next one. Decisions
	// may take a millisecond each, and requests that are done need not wait for all others.
	batchTime = 10 * time.Millisecond
	// urgentTime is the same, from the first urgent request on: those that come together share a commit.
	urgentTime  = time.Millisecond
	gatherPause = 300 * time.Microsecond
)

// batch is what one transaction stores. It grows while it is processed, up to the bounds.
type batch struct {
	requests []*request
	events   int
	bytes    int64
	until    time.Time // it takes no further request after that
	urgent   bool      // it has an urgent request
	expect   int       // requests of the previous batch, whose appenders may come back; 0: it waits for none
	whole    bool      // it does not grow
}

// fits reports whether a request may be part of the batch. Maintenance and a restore run alone.
func (b *batch) fits(r *request) bool {
	return len(b.requests) == 0 ||
		r.append != nil && b.requests[0].append != nil && b.events+r.events <= batchEvents && b.bytes+r.bytes <= batchBytes
}

func (b *batch) add(r *request) {
	if len(b.requests) == 0 {
		b.until = time.Now().Add(batchTime)
	}
	b.requests = append(b.requests, r)
	b.events += r.events
	b.bytes += r.bytes
	if r.urgent && !b.urgent {
		b.urgent, b.expect = true, 0
		if soon := time.Now().Add(urgentTime); soon.Before(b.until) {
			b.until = soon
		}
	}
}

// stored is the size of the events, those of decisions included.
func (b *batch) stored() (bytes int64) {
	for _, r := range b.requests {
		if r.append == nil {
			bytes += r.bytes
			continue
		}
		for i := range r.append.events {
			bytes += sizeOf(&r.append.events[i].Event)
		}
	}
	return bytes
}

// grow adds the next request to the batch, and returns it; nil if the batch is complete. Appenders that were acknowledged
// with the previous batch get a moment to come back, once: they share this commit instead of waiting for the next. A
// single appender never has to wait.
func (w *writer) grow(b *batch) *request {
	if b.whole || len(b.requests) > 0 && !time.Now().Before(b.until) {
		return nil
	}
	r, waits := w.take(b)
	if missing := b.expect - len(b.requests); r == nil && !waits && missing > 0 {
		w.await(missing)
		b.expect = 0
		r, _ = w.take(b)
	}
	return r
}

// take moves the first request of the queue to the batch. waits reports that there is one that does not fit.
func (w *writer) take(b *batch) (r *request, waits bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r = w.queue.first()
	if r == nil || !b.fits(r) {
		return nil, r != nil
	}
	w.queue.take()
	b.add(r)
	return r, false
}

// await waits briefly until this many requests are queued, or an urgent one.
func (w *writer) await(requests int) {
	waiting := func() bool { return w.queue.len() < requests && len(w.queue.urgent) == 0 && !w.closed }
	w.mu.Lock()
	w.gather = requests
	wait := waiting()
	w.mu.Unlock()
	w.timer.Reset(gatherPause)
	for wait {
		select {
		case <-w.wake:
			w.mu.Lock()
			wait = waiting()
			w.mu.Unlock()
		case <-w.timer.C:
			wait = false
		}
	}
	w.mu.Lock()
	w.gather = 0
	w.mu.Unlock()
}
