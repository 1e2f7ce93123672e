// Package worker executes the queue of projections/workqueue: it takes ready items, within the capacity of the pools
// and fairly between owners, and passes them to the handler of their kind.
//
// It guarantees
//   - that items with the same key are done one after the other, in order, also across restarts;
//   - that a handler is called only after the lease is on disk, and that leases end: with events of the handler, or by expiry or the end of
//     the process;
//   - that waiting items cost only rows: no goroutines and timers;
//   - that on shutdown, items in progress may continue for a while before their context ends.
//
// An external effect may be done twice if the process dies between the effect and its event. The effect's stable id
// allows detecting that.
package worker

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Handler handles one kind of work. A panic in it is isolated: it is logged, and the item is handled as lost, or as
// dead if it cannot start.
type Handler interface {
	// Begin returns the events for the transaction that leases an item, including the leasing event. It reads only
	// from tx. For an item that cannot start it returns only events that end or postpone it, or none. After an item
	// that is ended or postponed no other one starts in the same decision, so that all later ones see the
	// consequences.
	Begin(tx eventstore.Tx, item workqueue.Item, now time.Time) ([]eventstore.StreamAppend, error)
	// Do handles the item, and returns when the events that end or release it are on disk. ctx ends with the lease or
	// the program; its cause is then ErrLease or ErrDrained. An error is logged; the item is released as if its lease
	// had expired.
	Do(ctx context.Context, item workqueue.Item) error
	// Lost returns the events for an item whose worker is gone, or that Do did not end. why is "restart" or "lease".
	Lost(tx eventstore.Tx, item workqueue.Item, why string, now time.Time) ([]eventstore.StreamAppend, error)
}

// Refuser is a Handler that itself ends items which cannot be started or released. Otherwise they become dead.
type Refuser interface {
	// Refused returns the events for an item, waiting or leased, that is given up because of err, including the one
	// that ends it. If it fails or panics, the item becomes dead.
	Refused(tx eventstore.Tx, item workqueue.Item, err error, now time.Time) ([]eventstore.StreamAppend, error)
}

// Reasons of Lost.
const (
	LostRestart = "restart" // the process ended
	LostLease   = "lease"   // the lease expired, or Do left the item unchanged
)

// Causes of the end of a Do's context.
var (
	ErrLease   = errors.New("the lease of the work is over")
	ErrDrained = errors.New("the program ends")
)

// Log is the part of the store that a worker needs.
type Log interface {
	eventstore.Decider
	View(ctx context.Context, read func(*sql.Tx) error) error
	Head(ctx context.Context) (eventstore.Head, error)
	Wait(ctx context.Context, seq int64) (int64, error)
	Event(ctx context.Context, seq int64) (eventstore.Event, error)
	// Fatal distinguishes errors of the whole file from those of a statement.
	Fatal(err error) bool
}

// Options of New. Log, Handlers and Pools are required.
type Options struct {
	Log      Log
	Handlers map[string]Handler    // by kind; other kinds wait
	Pools    func() map[string]int // capacity by pool; called often, must be fast
	Now      func() time.Time      // time of events and due times
	Tick     func() time.Time      // for durations, independent of jumps of Now; nil is time.Now
	Jitter   func() float64        // from 0 to 1, for delays; safe for concurrent use
	Logger   *slog.Logger
	Drain    time.Duration // how long items in progress may continue when Run is told to end
	Grace    time.Duration // how long Do may take to return after its context has ended; 0 is 5 s
}

// Worker executes the work queue. Its methods are safe for concurrent use.
type Worker struct {
	opts     Options
	handlers map[string]Handler
	kinds    []string

	landed chan *flight  // a flight has ended
	nudge  chan struct{} // a flight is about to end
	gone   chan struct{} // closed when Run has returned and landed has no reader

	stuck, claims, done, failed atomic.Int64
	unknown                     sync.Map // kinds already logged
}

// New returns a worker that does nothing until Run.
func New(opts Options) *Worker {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Tick == nil {
		opts.Tick = time.Now
	}
	if opts.Jitter == nil {
		opts.Jitter = rand.Float64
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Grace <= 0 {
		opts.Grace = 5 * time.Second
	}
	w := &Worker{opts: opts, handlers: map[string]Handler{}, landed: make(chan *flight), nudge: make(chan struct{}, 1), gone: make(chan struct{})}
	for kind, h := range opts.Handlers {
		if t, ok := h.(*task); ok {
			h = t.of(w)
		}
		w.handlers[kind] = h
	}
	w.kinds = slices.Sorted(maps.Keys(w.handlers))
	return w
}

// Run works until ctx ends; then it starts nothing more, waits for items in progress according to Options, and returns
// nil. It first releases or ends what the previous process has left. It is called once. An error means that the log is
// closed.
func (w *Worker) Run(ctx context.Context) error {
	defer close(w.gone)
	base, end := context.WithCancel(context.WithoutCancel(ctx)) // for items in progress: ctx only stops starting new ones
	defer end()
	r := &running{Worker: w, base: base, flying: map[string]*flight{}, held: map[string]*delayedItem{}, claimed: make(chan *claim, maxClaims)}
	if err := r.recover(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	watching, stop := context.WithCancel(base)
	defer stop()
	moved, broken := w.watch(watching)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	ending := ctx.Done()
	var due time.Time
	for claims := true; ; {
		now := r.moment()
		r.cut(now.tick)
		if r.draining(now.tick) {
			return nil
		}
		if claims {
			due = r.claim(now)
		}
		timer.Reset(max(r.next(now.tick, due).Sub(now.tick), 0))
		claims = true
		select {
		case <-moved:
		case <-w.nudge:
		case f := <-w.landed:
			r.land(f)
			r.landAll()
		case c := <-r.claimed:
			claims = r.settle(c) // else nothing has changed
		case <-timer.C:
		case err := <-broken:
			if !errors.Is(err, eventstore.ErrClosed) {
				w.opts.Logger.Error("cannot follow the log for work", "err", err)
			}
			r.drop(ErrDrained)
			return err
		case <-ending:
			ending = nil
			r.drainUntil = w.opts.Tick().Add(max(w.opts.Drain, 0))
		}
	}
}

// Wake has Run look again for items that can start, after a pool has become larger. It never blocks.
func (w *Worker) Wake() {
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}

// watch signals every change of the log's head, coalesced.
func (w *Worker) watch(ctx context.Context) (moved <-chan struct{}, broken <-chan error) {
	tell, fail := make(chan struct{}, 1), make(chan error, 1)
	head, err := w.opts.Log.Head(ctx) // before anything is claimed, so that no change is missed
	go func() {
		for seq := head.Seq; err == nil; {
			seq, err = w.opts.Log.Wait(ctx, seq+1)
			select {
			case tell <- struct{}{}:
			default:
			}
		}
		if ctx.Err() == nil {
			fail <- err
		}
	}()
	return tell, fail
}

// running is the state of Run, used by its goroutine only.
type running struct {
	*Worker
	base context.Context

	// All times are ticks.
	flying     map[string]*flight      // by effect id
	held       map[string]*delayedItem // held items, by effect id
	open       []*claim                // in progress
	claimed    chan *claim             // ended
	missed     bool                    // a change that no claim in progress covers
	abreast    int                     // number of decisions of the next claim; 0 is one
	trouble    int                     // consecutive failures of the log
	retryAt    time.Time               // time of the next claim after a failure; zero: none has failed
	drainUntil time.Time               // zero: not shutting down
	cutOff     time.Time               // when flights were cancelled; zero: not yet
}

// moment is a time by both clocks.
type moment struct{ clock, tick time.Time }

func (w *Worker) moment() moment { return moment{w.opts.Now(), w.opts.Tick()} }

// at is when the clock will show a time, if it runs normally.
func (m moment) at(clock time.Time) (tick time.Time) { return m.tick.Add(clock.Sub(m.clock)) }

// draining does the work of a shutdown, and reports whether Run may return.
func (r *running) draining(now time.Time) bool {
	switch {
	case r.drainUntil.IsZero():
		return false
	case len(r.flying) == 0 && len(r.open) == 0:
		return true
	case r.cutOff.IsZero() && !now.Before(r.drainUntil):
		r.cutOff = now
		r.drop(ErrDrained)
	case !r.cutOff.IsZero() && !now.Before(r.cutOff.Add(r.opts.Grace)):
		for _, f := range r.flying {
			r.opts.Logger.Error("work did not end in time; abandoned", "effect", f.item.EffectID, "kind", f.item.Kind)
		}
		return true
	}
	return false
}

// drop ends the contexts of all items in progress.
func (r *running) drop(cause error) {
	for _, f := range r.flying {
		f.cancel(cause)
	}
}

// maxSleep is how long the loop sleeps at most before it checks the clock, which may have been set.
const maxSleep = time.Minute

// next is when the loop has to act without an event. due is the next due time of a waiting item.
func (r *running) next(now, due time.Time) time.Time {
	first := now.Add(maxSleep)
	sooner := func(t time.Time) {
		if !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	for _, f := range r.flying {
		sooner(f.deadline)
	}
	switch {
	case r.drainUntil.IsZero():
		sooner(due)
		sooner(r.retryAt)
		for _, h := range r.held {
			if now.Before(h.until) { // else it waits for its pool
				sooner(h.until)
			}
		}
	case r.cutOff.IsZero():
		sooner(r.drainUntil)
	default:
		sooner(r.cutOff.Add(r.opts.Grace))
	}
	return first
}
