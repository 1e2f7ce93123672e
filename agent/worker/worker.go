// Package worker does what package projections/work has waiting: it takes what is ready, as much at a time as the pools allow, in turn
// between owners, and gives it to the handler of its kind.
//
// It promises
//   - that what has one key is done one after the other, in order, also over restarts;
//   - that a handler is called only after the lease is on disk, and that what is leased ends: with the events of its handler, or with those
//     that take it away, when its time is over or its process is gone;
//   - that waiting costs nothing but rows: no goroutine and no timer each;
//   - that it lets under way what is under way when it is told to end, for a while, and then ends its context.
//
// What is done outside may be done twice where a process died between the deed and its event. The effect's id, which stays the same, lets
// the outside tell.
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
	"github.com/pronto-lab/openclawd/projections/work"
)

// Handler does one kind of work. A panic in it harms nobody else: it is logged, and the item is as good as lost, or dead if it cannot
// even begin.
type Handler interface {
	// Begin says what is appended in the transaction that leases an item; among it has to be the event that does. It reads nothing but tx. It
	// returns no events for an item that cannot begin, beside those that end it, or that put it off to a later time. Where it ends an item,
	// or puts it off, no other is begun after it in the same decision, so that what follows from it is seen by all of them.
	Begin(tx eventstore.Tx, item work.Item, now time.Time) ([]eventstore.StreamAppend, error)
	// Do does it, and returns when the events that end it, or give it back, are on disk. ctx ends with the lease or with the program; its
	// cause is ErrLease or ErrDrained then. An error is logged; the item is given back as if its time were over.
	Do(ctx context.Context, item work.Item) error
	// Lost says what is appended for an item whose worker is gone, or that was not ended by Do. why is "restart" or "lease".
	Lost(tx eventstore.Tx, item work.Item, why string, now time.Time) ([]eventstore.StreamAppend, error)
}

// Refuser is a Handler that ends what would not begin, or cannot be given back, itself. Without it such an item is dead.
type Refuser interface {
	// Refused says what is appended for an item, waiting or leased, that is given up because of err; among it has to be the event that ends it.
	// If it fails, or panics, the item is dead after all.
	Refused(tx eventstore.Tx, item work.Item, err error, now time.Time) ([]eventstore.StreamAppend, error)
}

// Reasons of Lost.
const (
	LostRestart = "restart" // the process ended
	LostLease   = "lease"   // its time was over, or Do left it as it was
)

// Causes of the end of a Do's context.
var (
	ErrLease   = errors.New("the lease of the work is over")
	ErrDrained = errors.New("the program ends")
)

// Log is what a worker needs of the store.
type Log interface {
	Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error)
	View(ctx context.Context, read func(*sql.Tx) error) error
	Head(ctx context.Context) (eventstore.Head, error)
	Wait(ctx context.Context, seq int64) (int64, error)
	Event(ctx context.Context, seq int64) (eventstore.Event, error)
	// Fatal tells an error that concerns the whole file from one that concerns a statement.
	Fatal(err error) bool
}

// Options of New. Log, Handlers and Pools are needed.
type Options struct {
	Log      Log
	Handlers map[string]Handler    // by kind; what is of another kind waits
	Pools    func() map[string]int // how much is done at a time, by pool; asked again and again, it must be quick
	Now      func() time.Time      // what events say, and when things are due
	Tick     func() time.Time      // how long things take, also where Now stands still or jumps; nil is time.Now
	Jitter   func() float64        // from 0 to 1, for pauses; safe for concurrent use
	Logger   *slog.Logger
	Drain    time.Duration // how long what is under way may go on when Run is told to end
	Grace    time.Duration // how long a Do may take to return once its context has ended; 0 is 5 s
}

// Worker does what waits. Its methods may be called at any time, by anybody.
type Worker struct {
	opts     Options
	handlers map[string]Handler
	kinds    []string

	landed chan *flight  // a flight is over
	nudge  chan struct{} // one is about to end
	gone   chan struct{} // closed when Run has returned: nobody reads landed any more

	stuck, claims, done, failed atomic.Int64
	unknown                     sync.Map // kinds that were logged
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

// Run works until ctx ends; then it begins nothing more, waits for what is under way as Options say, and returns nil. First of all it
// gives back, or ends, what the process before has left. It is called once. An error is that of a log that is closed.
func (w *Worker) Run(ctx context.Context) error {
	defer close(w.gone)
	base, end := context.WithCancel(context.WithoutCancel(ctx)) // of what is under way: ctx only stops the taking
	defer end()
	r := &running{Worker: w, base: base, flying: map[string]*flight{}, held: map[string]*held{}, claimed: make(chan *claim, maxClaims)}
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
				w.opts.Logger.Error("the queue of work cannot follow the log", "err", err)
			}
			r.drop(ErrDrained)
			return err
		case <-ending:
			ending = nil
			r.drainUntil = w.opts.Tick().Add(max(w.opts.Drain, 0))
		}
	}
}

// watch tells of every move of the log's head from now on, several at once where nobody looks.
func (w *Worker) watch(ctx context.Context) (moved <-chan struct{}, broken <-chan error) {
	tell, fail := make(chan struct{}, 1), make(chan error, 1)
	head, err := w.opts.Log.Head(ctx) // before anything is claimed: what that moves is not to be missed
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

// running is the state of Run, which nobody else touches.
type running struct {
	*Worker
	base context.Context

	// All times are ticks.
	flying     map[string]*flight // by effect id
	held       map[string]*held   // items that would not begin, by effect id
	open       []*claim           // under way
	claimed    chan *claim        // is not any more
	missed     bool               // something has happened that no claim under way looks for
	abreast    int                // of how many decisions the next claim is made; 0 is one
	trouble    int                // how often in a row the log would not take a claim
	retryAt    time.Time          // before that no claim is tried, and then one is; zero: none has failed
	drainUntil time.Time          // zero: not told to end
	cutOff     time.Time          // when flights were told to end; zero: not yet
}

// moment is a time by both clocks.
type moment struct{ clock, tick time.Time }

func (w *Worker) moment() moment { return moment{w.opts.Now(), w.opts.Tick()} }

// at is when it will be so late by the clock, if that goes on as it should.
func (m moment) at(clock time.Time) (tick time.Time) { return m.tick.Add(clock.Sub(m.clock)) }

// draining does what there is to do when the worker was told to end, and says whether it may return.
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
			r.opts.Logger.Error("work did not end in time and is left behind", "effect", f.item.EffectID, "kind", f.item.Kind)
		}
		return true
	}
	return false
}

// drop ends the contexts of all that is under way.
func (r *running) drop(cause error) {
	for _, f := range r.flying {
		f.cancel(cause)
	}
}

// maxSleep is how long the loop does not look at the clock at most, which somebody may set.
const maxSleep = time.Minute

// next is when the loop has something to do although nothing happens. due is when something is due that waits.
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
