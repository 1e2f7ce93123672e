package sqlite

import (
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

// How far the read models may be behind the log: they are written after so many commits, events or bytes, or when no
// request has come for a moment.
const (
	behindCommits = 8
	behindEvents  = 2048
	behindBytes   = 4 << 20
	behindTime    = 10 * time.Millisecond
	// behindRetry is the pause after a failure.
	behindRetry = time.Second
	// snapshotTime is how long the writer waits for readers to begin their snapshots.
	snapshotTime = time.Millisecond
)

// behind is what the writer knows of the read models, which it writes after the events: rows of several batches are
// written once, without a sync of their own, because the log has all that is needed to make them again.
type behind struct {
	commits       int   // since the read models were written; only the writer goroutine uses it
	events, bytes int64 // stored since then; likewise
	failed        bool  // the last attempt; likewise
	unsynced      bool  // commits of the connection are not synced; likewise

	shown   atomic.Int64 // event up to which the read models are committed; math.MaxInt64 if there are none
	reached headSignal   // the same, at most the head
	read    atomic.Bool  // a reader has come since they were written

	next  *pass // guarded by writer.mu, as is ended
	ended bool
}

// pass is a moment without a commit, with the read models at the head of the log. All readers that wait when it comes
// begin their snapshots in it.
type pass struct {
	ready    chan struct{} // closed when the moment has come
	taken    chan struct{} // closed when all readers have their snapshots
	readers  int           // that do not have them; guarded by writer.mu
	admitted bool          // likewise
	err      error         // why the read models are behind nevertheless
}

func (b *behind) reset() {
	b.commits, b.events, b.bytes, b.failed = 0, 0, 0, false
	b.read.Store(false)
}

// due reports whether the read models have to be written now. If there are readers, the next one shall not have to
// wait. While urgent requests wait it is put off, but only for as many commits again.
func (b *behind) due(urgent bool) bool {
	if urgent && b.commits < 2*behindCommits {
		return b.events >= 2*behindEvents || b.bytes >= 2*behindBytes
	}
	return b.commits >= behindCommits || b.events >= behindEvents || b.bytes >= behindBytes || b.commits > 0 && b.read.Load()
}

// show publishes up to which event the read models are committed.
func (w *writer) show() {
	seq := w.projections().Written()
	w.behind.shown.Store(seq)
	w.behind.reached.set(eventstore.Head{Seq: min(seq, w.log.seq)})
}

// owe counts a committed batch.
func (w *writer) owe(events, bytes int64) {
	w.show()
	w.behind.commits++
	w.behind.events += events
	w.behind.bytes += bytes
}

func (w *writer) isBehind() bool { return w.projections().Written() < w.log.seq }

// catchUp writes the read models if that is due, and admits waiting readers.
func (w *writer) catchUp() {
	readers, urgent := w.awaited()
	if readers || w.behind.due(urgent) {
		w.started(false)
		defer w.ended()
		w.writeFor()
	}
}

// awaited reports whether readers wait for the read models, and whether urgent requests wait.
func (w *writer) awaited() (readers, urgent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.behind.next != nil, len(w.queue.urgent) > 0
}

// writeFor writes the read models and admits the readers that wait for them.
func (w *writer) writeFor() {
	w.mu.Lock()
	p := w.behind.next
	w.behind.next = nil
	w.mu.Unlock()
	err := w.writeBehind() // logged
	if p != nil {
		p.err = err
		w.admit(p)
	}
}

// writeBehind brings the read models to the head of the log. An error is logged; the next attempt follows.
func (w *writer) writeBehind() error {
	w.behind.reset()
	if !w.isBehind() {
		return nil
	}
	err := w.sync(false)
	if err == nil {
		err = w.commit(func() error { return w.projections().WriteBehind(w.tx) }, nil)
	}
	if err != nil {
		w.projections().Aborted()
		w.behind.failed = true
		w.db.log.Warn("read models could not be written; they are behind the log until the next attempt succeeds", "err", err)
		return err
	}
	w.projections().Committed()
	w.show()
	w.db.checks.committed()
	return nil
}

// sync sets whether commits of the writer's connection sync the disk. An unsynced commit is synced with the next one
// that is; if it is lost before, so is nothing that was acknowledged.
func (w *writer) sync(on bool) error {
	if w.behind.unsynced == !on || w.db.opts.Durability != DurabilityFull {
		return nil
	}
	if !on {
		w.behind.unsynced = true // even if this fails half-way
		return w.tx.pragma("PRAGMA synchronous = NORMAL")
	}
	if err := w.tx.pragma("PRAGMA synchronous = FULL"); err != nil {
		return err
	}
	w.behind.unsynced = false
	return nil
}

// rest waits for work, and writes the read models if none comes for a moment.
func (w *writer) rest() {
	if !w.isBehind() {
		<-w.wake
		return
	}
	w.timer.Reset(behindTime)
	if w.behind.failed {
		w.timer.Reset(behindRetry)
	}
	select {
	case <-w.wake:
	case <-w.timer.C:
		w.started(false)
		defer w.ended()
		_ = w.writeBehind() // logged
	}
}

// endBehind writes the read models for the last time. Readers wait no longer.
func (w *writer) endBehind() {
	err := w.writeBehind()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.behind.ended = true
	if p := w.behind.next; p != nil {
		p.err = err
		close(p.ready)
	}
}

// join joins the readers that wait for the next pass; nil if there is none because the writer has ended. The caller
// must leave it.
func (w *writer) join() *pass {
	w.mu.Lock()
	defer w.signal()
	defer w.mu.Unlock()
	if w.behind.ended {
		return nil
	}
	if w.behind.next == nil {
		w.behind.next = &pass{ready: make(chan struct{}), taken: make(chan struct{})}
	}
	w.behind.next.readers++
	return w.behind.next
}

func (w *writer) leave(p *pass) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.readers--; p.readers == 0 && p.admitted {
		close(p.taken)
	}
}

// admit lets the readers of a pass begin their snapshots, and waits for them, though not for slow ones.
func (w *writer) admit(p *pass) {
	w.mu.Lock()
	p.admitted = true
	left := p.readers == 0
	w.mu.Unlock()
	close(p.ready)
	if left {
		return
	}
	w.timer.Reset(snapshotTime)
	select {
	case <-p.taken:
	case <-w.timer.C:
	}
}

// deciding is the transaction of a decision.
type deciding struct {
	*tx
	w *writer
}

// CatchUp writes the read models as part of the running batch; see eventstore.CatchUp.
func (d deciding) CatchUp() error { return d.w.projections().WriteBehind(d.tx) }

var _ eventstore.Tx = deciding{}
