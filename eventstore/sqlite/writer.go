package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
)

// Bounds of the append queue.
const (
	queueEvents = 4096
	queueBytes  = 16 << 20
	retryAfter  = 100 * time.Millisecond
)

// writer is the single writing goroutine. It takes queued requests, stores them in one transaction and acknowledges
// them after the commit.
type writer struct {
	db     *DB
	conn   *sql.Conn
	tx     *tx
	inline atomic.Pointer[eventstore.Inline] // also read by appending goroutines, to prepare

	mu      sync.Mutex
	queue   queue
	closed  bool
	wake    chan struct{} // holds one token while there may be work
	gather  int           // while positive, wake is signalled only when this many requests are queued, or an urgent one
	stopped chan struct{}
	timer   *time.Timer // of whatever the writer goroutine waits for

	log      logState // as seen by the running transaction; only the writer goroutine uses it
	rewrites bool     // the running transaction does more than append; likewise

	share  *share // nil if there is no shared log
	head   headSignal
	behind behind
	writerStats
}

// logState is what the next append builds on.
type logState struct {
	seq      int64
	hash     eventstore.Hash
	recorded int64
	streams  map[string]stream // a cache; may be cleared at any time between requests
}

type stream struct{ id, version int64 }

// maxStreams bounds the stream cache, about 10 MB.
const maxStreams = 50_000

// request is one unit of work for the writer. Exactly one of the five kinds is set.
type request struct {
	append    *appendRequest
	restore   []eventstore.Event
	records   []shared.Record           // of the shared log
	pause     func() error              // runs between transactions, while nothing is written
	job       func(eventstore.Tx) error // maintenance, in a transaction of its own
	committed func()                    // follows the commit of job; may be nil

	urgent bool // a person waits for it

	events int
	bytes  int64
	result eventstore.Result
	err    error
	done   chan struct{}
}

// maintenance reports whether the request concerns the file and appends no event.
func (r *request) maintenance() bool { return r.job != nil || r.pause != nil }

func startWriter(ctx context.Context, db *DB) (*writer, error) {
	conn, err := db.write.Conn(ctx)
	if err != nil {
		return nil, db.translate("connect", err)
	}
	w := &writer{db: db, conn: conn, share: newShare(db.opts), wake: make(chan struct{}, 1), stopped: make(chan struct{}), timer: time.NewTimer(time.Hour)}
	w.attach(nothingInline{})
	w.log.streams = map[string]stream{}
	ready := make(chan error, 1)
	go func() {
		defer close(w.stopped)
		err := conn.Raw(func(dc any) error {
			w.tx = newTx(dc.(driverConn))
			if err := w.load(); err != nil {
				ready <- db.translate("read", err)
				return nil
			}
			w.head.set(eventstore.Head{Seq: w.log.seq, Hash: w.log.hash})
			w.show()
			ready <- nil
			w.run()
			return w.tx.forget()
		})
		if err != nil {
			db.log.Error("writer ended", "err", err)
		}
	}()
	if err := <-ready; err != nil {
		<-w.stopped
		return nil, errors.Join(err, conn.Close())
	}
	return w, nil
}

func (w *writer) attach(inline eventstore.Inline) { w.inline.Store(&inline) }

func (w *writer) projections() eventstore.Inline { return *w.inline.Load() }

// load reads the head of the log and checks the last links of the chain, so that a damaged end is refused at start.
func (w *writer) load() error {
	const tail = 64
	var prev eventstore.Event
	var unsound error
	err := w.tx.Query(selectEvents+" WHERE e.seq > (SELECT coalesce(max(seq), 0) FROM events) - ? ORDER BY e.seq", []any{tail + 1},
		func(r eventstore.Row) error {
			e := scanRow(r)
			if prev.Seq > 0 && unsound == nil {
				unsound = checkLink(&prev, &e)
			}
			w.log.seq, w.log.hash, w.log.recorded = e.Seq, e.Hash, e.RecordedAt
			prev = e
			return nil
		})
	if err != nil {
		return err
	}
	err = w.tx.Query("SELECT coalesce(max(seq), 0) FROM events", nil, func(r eventstore.Row) error {
		if last := r.Int(0); last != w.log.seq && unsound == nil {
			unsound = fmt.Errorf("event %d has no stream", last)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = w.tx.Query("SELECT name, seq FROM projections WHERE seq > ?", []any{w.log.seq}, func(r eventstore.Row) error {
		if unsound == nil {
			unsound = fmt.Errorf("the log ends at %d, but projection %s reflects it up to %d: events are missing", w.log.seq, r.Text(0), r.Int(1))
		}
		return nil
	})
	if err == nil && unsound != nil {
		err = &eventstore.CorruptError{Path: w.db.path, Detail: unsound.Error(), Err: unsound,
			HintText: "run openclawd doctor, which names the event and how to continue without it, and openclawd verify for the extent; or restore the newest backup"}
	}
	return err
}

// stop refuses new requests, stores what is queued and ends the goroutine.
func (w *writer) stop() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.signal()
	<-w.stopped
	w.share.stop()
	w.head.close()
	w.behind.reached.close()
	return w.conn.Close()
}

// submit queues r and waits until it is done. ctx is used only until r is queued: a queued request always runs to its
// end.
func (w *writer) submit(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.done = make(chan struct{})
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return eventstore.ErrClosed
	}
	if !w.queue.hasRoom(r) {
		w.busy.Add(1)
		busy := &eventstore.BusyError{Events: w.queue.events, Bytes: w.queue.bytes, RetryAfter: retryAfter}
		w.mu.Unlock()
		return busy
	}
	w.queue.add(r)
	enough := r.urgent || w.queue.len() >= w.gather
	w.mu.Unlock()
	if enough {
		w.signal()
	}
	<-r.done
	return r.err
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *writer) run() {
	defer w.timer.Stop()
	expect := 0
	for {
		w.catchUp()
		b := &batch{expect: expect}
		if first, _ := w.take(b); first != nil {
			w.started(first.maintenance())
			w.store(b)
			w.ended()
			expect = len(b.requests)
			w.db.checks.finish(w.tx)
			continue
		}
		if w.isOver() {
			w.endBehind()
			return
		}
		w.rest()
	}
}

// isOver reports whether the log is being closed and nothing waits.
func (w *writer) isOver() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed && w.queue.len() == 0
}

// store runs a batch and answers its requests.
func (w *writer) store(b *batch) {
	switch r := b.requests[0]; {
	case r.job != nil:
		w.maintain(r)
		return
	case r.pause != nil:
		w.writeFor() // before the job, for which no reader needs to wait
		r.err = w.db.translate("maintain", r.pause())
		close(r.done)
		return
	}
	before := logState{seq: w.log.seq, hash: w.log.hash, recorded: w.log.recorded}
	publish := w.share.publish
	if b.requests[0].records != nil {
		publish = nil
	} else if why := w.share.admits(); why != nil {
		w.refuse(b, why)
		return
	}
	w.share.begin()
	err := w.transact(func() error {
		for r := b.requests[0]; r != nil; r = w.grow(b) {
			if err := w.apply(r); err != nil {
				return err
			}
		}
		return w.projections().Flush(w.tx)
	}, publish)
	if err != nil {
		w.log.seq, w.log.hash, w.log.recorded = before.seq, before.hash, before.recorded
		clear(w.log.streams)
		w.projections().Aborted()
		if told, handled := w.shareFailed(err); handled {
			w.refuse(b, told)
			return
		}
		if len(b.requests) > 1 && !fatal(err) {
			for _, r := range b.requests {
				r.err = nil
				w.store(&batch{requests: []*request{r}, whole: true})
			}
			return
		}
		for _, r := range b.requests {
			r.err = w.db.translate("append to", err) // refused requests too: the refusal may depend on events that are not stored now
			w.failed(r.err)
			close(r.done)
		}
		return
	}
	w.projections().Committed()
	w.share.committed(b.requests[0].records)
	w.owe(w.log.seq-before.seq, b.stored())
	w.db.checks.committed()
	if len(w.log.streams) > maxStreams {
		clear(w.log.streams)
	}
	w.db.trace.stored(w.log.seq)
	w.head.set(eventstore.Head{Seq: w.log.seq, Hash: w.log.hash})
	lost := w.settled()
	for _, r := range b.requests {
		if lost == nil {
			w.answered(r)
		} else {
			r.result, r.err = eventstore.Result{}, lost
			w.failed(lost)
		}
		close(r.done)
	}
}

// refuse answers all requests of a batch with one error.
func (w *writer) refuse(b *batch, err error) {
	for _, r := range b.requests {
		r.result, r.err = eventstore.Result{}, err
		w.failed(err)
		close(r.done)
	}
}

// settled records what was committed. It returns an error if the commit would be lost; then it is not acknowledged.
func (w *writer) settled() error {
	if w.db.custody == nil {
		return nil // the log is being opened
	}
	w.db.custody.committed(eventstore.Head{Seq: w.log.seq, Hash: w.log.hash})
	return w.db.custody.check()
}

// maintain runs a job in a transaction of its own, with the read models at the head of the log if they can be written.
func (w *writer) maintain(r *request) {
	w.writeFor() // if that fails, the job may be what helps
	r.err = w.db.translate("maintain", w.transact(func() error {
		w.rewrites = true
		return r.job(w.tx)
	}, nil))
	if r.err == nil {
		w.db.checks.committed()
		if r.committed != nil {
			r.committed()
		}
		w.show()
		r.err = w.settled()
	}
	close(r.done)
}

// apply stores one request inside the running transaction. A refusal is stored in r.err; the returned error fails the
// whole batch.
func (w *writer) apply(r *request) error {
	var err error
	switch {
	case r.append != nil:
		r.result, err = w.append(r.append)
	case r.records != nil:
		err = w.applyRecords(r.records)
	default:
		w.rewrites = true
		if err = w.restore(r.restore); err == nil && w.share != nil {
			w.share.events = append(w.share.events, r.restore...)
		}
	}
	var refused *refusal
	if errors.As(err, &refused) {
		r.err = refused.err
		return nil
	}
	return err
}

// refusal carries an error that concerns one request only.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// transact runs f in a transaction, then, right before the commit, publish, unless it is nil. A panic becomes an error:
// the batch fails, the writer continues.
func (w *writer) transact(f, publish func() error) error {
	if err := w.sync(true); err != nil {
		return err
	}
	return w.commit(f, publish)
}

func (w *writer) commit(f, publish func() error) (err error) {
	if _, err := w.tx.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	w.rewrites = false
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a write transaction: %v", p)
			w.db.log.Error("panic in a write transaction", "panic", p)
		}
		if err != nil {
			// SQLite may have rolled back already (disk full).
			_, _ = w.tx.Exec("ROLLBACK")
		}
	}()
	if err := f(); err != nil {
		return err
	}
	if err := w.db.custody.beforeCommit(); err != nil {
		return err
	}
	if publish != nil {
		if err := publish(); err != nil {
			return err
		}
	}
	w.db.marks.begin(w.rewrites)
	defer w.db.marks.end(w.rewrites)
	_, err = w.tx.Exec("COMMIT")
	return err
}

// headSignal publishes the committed head and wakes its waiters.
type headSignal struct {
	mu      sync.Mutex
	head    eventstore.Head
	closed  bool
	changed chan struct{}
}

func (h *headSignal) set(head eventstore.Head) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.head = head
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

func (h *headSignal) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.set(h.get())
}

func (h *headSignal) get() eventstore.Head {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.head
}

// wait blocks until the head is at least seq.
func (h *headSignal) wait(ctx context.Context, seq int64) (int64, error) {
	for {
		h.mu.Lock()
		if h.head.Seq >= seq {
			defer h.mu.Unlock()
			return h.head.Seq, nil
		}
		if h.closed {
			h.mu.Unlock()
			return 0, eventstore.ErrClosed
		}
		if h.changed == nil {
			h.changed = make(chan struct{})
		}
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-changed:
		}
	}
}

// nothingInline is the Inline of a log without projections.
type nothingInline struct{}

func (nothingInline) Prepare(*eventstore.Event) any                      { return nil }
func (nothingInline) Begin(eventstore.Tx)                                {}
func (nothingInline) Accept(eventstore.Tx, *eventstore.Event, any) error { return nil }
func (nothingInline) Revert()                                            {}
func (nothingInline) Settle(eventstore.Tx) error                         { return nil }
func (nothingInline) Flush(eventstore.Tx) error                          { return nil }
func (nothingInline) WriteBehind(eventstore.Tx) error                    { return nil }
func (nothingInline) Written() int64                                     { return math.MaxInt64 }
func (nothingInline) Committed()                                         {}
func (nothingInline) Aborted()                                           {}
