package past

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Dir is where a server of a database keeps its states. What lies there belongs to no other program.
func Dir(db string) string { return db + "-past" }

// Defaults of CacheOptions.
const (
	DefaultKeep     = 3
	DefaultWaiting  = 4
	DefaultPatience = 30 * time.Second
)

// ErrBusy is returned by Cache.At when as many states wait to be made as may.
var ErrBusy = errors.New("too many states of the past wait to be made")

// CacheOptions of NewCache. All of Options but Out, Now and Make are required; Dir is the cache's own.
type CacheOptions[V any] struct {
	Options
	Now func() time.Time
	// Make makes of a state what the cache gives to those who ask. It is called once for each.
	Make func(context.Context, *State) (V, error)

	Keep     int           // states that are kept
	Waiting  int           // states that may wait for the one that is being made
	Patience time.Duration // after which a state for which nobody has asked again is not made any more, and a failure is forgotten

	// Room says how many bytes are free where Dir lies. With fewer than Spare none is made. nil: nobody looks.
	Room  func() (free int64, known bool)
	Spare int64
}

// Cache keeps the states that were asked for last, and makes others one after the other. Its methods may be called concurrently.
type Cache[V any] struct {
	opts CacheOptions[V]
	wake chan struct{}

	mu       sync.Mutex
	closed   bool
	rounds   int         // of forgetting
	kept     []*kept[V]  // the one that was asked for last first
	wanted   []*wanted   // to be made, in this order
	building *wanted     // one of them; nil: none
	stop     func(error) // ends the making of it
	builds   int         // that have ended
	failed   []*wanted
	leaving  int           // states that are being closed, or wait for those who use them
	left     chan struct{} // closed when leaving or building has changed
}

// kept is a state with what was made of it.
type kept[V any] struct {
	state *State
	value V
	users int
	gone  bool // no longer in the cache: the last user closes it
}

// wanted is a state that is to be made.
type wanted struct {
	seq         int64
	asked       time.Time
	done, total int64
	err         error // why it was not made
}

// Progress is how far a state is that is being made.
type Progress struct {
	Done, Total int64 // events
	Before      int   // states that are made before it
}

// NewCache returns an empty cache, which has touched nothing yet.
func NewCache[V any](opts CacheOptions[V]) *Cache[V] {
	if opts.Keep == 0 {
		opts.Keep = DefaultKeep
	}
	if opts.Waiting == 0 {
		opts.Waiting = DefaultWaiting
	}
	if opts.Patience == 0 {
		opts.Patience = DefaultPatience
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Cache[V]{opts: opts, wake: make(chan struct{}, 1), left: make(chan struct{})}
}

// At gives what was made of the state at event seq, which has to be in the log, and keeps that from being closed until release is called. ready is false
// while the state is still to be made: then there is nothing to release, and it goes on being made, as long as somebody asks for it from time to time.
// Errors: ErrBusy, eventstore.ErrClosed, *eventstore.DiskFullError, and those of Open and Make, each of which is told once.
func (c *Cache[V]) At(seq int64) (value V, release func(), progress Progress, ready bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return value, nil, progress, false, eventstore.ErrClosed
	}
	if i := slices.IndexFunc(c.kept, func(k *kept[V]) bool { return k.state.Until() == seq }); i >= 0 {
		k := c.kept[i]
		c.kept = slices.Insert(slices.Delete(c.kept, i, i+1), 0, k)
		k.users++
		return k.value, sync.OnceFunc(func() { c.release(k) }), progress, true, nil
	}
	progress, err = c.want(seq)
	return value, nil, progress, false, err
}

// want asks for a state. mu is held.
func (c *Cache[V]) want(seq int64) (Progress, error) {
	now := c.opts.Now()
	of := func(w *wanted) bool { return w.seq == seq }
	if i := slices.IndexFunc(c.wanted, of); i >= 0 {
		w := c.wanted[i]
		w.asked = now
		return Progress{w.done, w.total, i}, nil
	}
	if i := slices.IndexFunc(c.failed, of); i >= 0 {
		w := c.failed[i]
		c.failed = slices.Delete(c.failed, i, i+1)
		if now.Sub(w.asked) < c.opts.Patience {
			return Progress{}, w.err
		}
	}
	c.dropStale(now)
	if len(c.wanted) > c.opts.Waiting {
		return Progress{}, ErrBusy
	}
	if err := c.room(); err != nil {
		return Progress{}, err
	}
	c.wanted = append(c.wanted, &wanted{seq: seq, asked: now, total: seq})
	c.rouse()
	return Progress{0, seq, len(c.wanted) - 1}, nil
}

// dropStale gives up what nobody has asked for any more, but for what is being made. mu is held.
func (c *Cache[V]) dropStale(now time.Time) {
	c.wanted = slices.DeleteFunc(c.wanted, func(w *wanted) bool { return w != c.building && now.Sub(w.asked) >= c.opts.Patience })
}

func (c *Cache[V]) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// room refuses to fill the disk.
func (c *Cache[V]) room() error {
	if c.opts.Room == nil {
		return nil
	}
	if free, known := c.opts.Room(); known && free < c.opts.Spare {
		return &eventstore.DiskFullError{Path: c.opts.Dir, Err: fmt.Errorf("%d bytes are free, and %d are to stay so", free, c.opts.Spare)}
	}
	return nil
}

// release lets go of a state.
func (c *Cache[V]) release(k *kept[V]) {
	c.mu.Lock()
	k.users--
	last := k.gone && k.users == 0
	c.mu.Unlock()
	if last {
		c.end(k.state)
	}
}

// drop takes states out of the cache, and returns those that nobody uses, which the caller ends once mu is free. mu is held.
func (c *Cache[V]) drop(list []*kept[V]) (idle []*State) {
	for _, k := range list {
		k.gone = true
		c.leaving++
		if k.users == 0 {
			idle = append(idle, k.state)
		}
	}
	return idle
}

// end closes states that were dropped.
func (c *Cache[V]) end(states ...*State) {
	for _, s := range states {
		if err := s.Close(); err != nil {
			c.opts.Logger.Warn("a state of the past is not removed", "seq", s.Until(), "err", err)
		}
		c.mu.Lock()
		c.leaving--
		c.changed()
		c.mu.Unlock()
	}
}

// changed wakes who waits for states to leave. mu is held.
func (c *Cache[V]) changed() {
	close(c.left)
	c.left = make(chan struct{})
}

// Run makes the states that are asked for until ctx ends. It begins with removing what another process has left.
func (c *Cache[V]) Run(ctx context.Context) error {
	if err := os.RemoveAll(c.opts.Dir); err != nil {
		c.opts.Logger.Warn("what an earlier process has left of the past is still there", "dir", c.opts.Dir, "err", err)
	}
	for ctx.Err() == nil {
		if w, rounds, making := c.next(ctx); w != nil {
			c.build(making, w, rounds)
			continue
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
		}
	}
	return nil
}

// errForgotten ends the making of a state that may hold what is to be forgotten.
var errForgotten = errors.New("the past is made anew")

// next takes what is to be made next; nil for nothing.
func (c *Cache[V]) next(ctx context.Context) (w *wanted, rounds int, making context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropStale(c.opts.Now())
	if c.closed || len(c.wanted) == 0 {
		return nil, 0, nil
	}
	c.building = c.wanted[0]
	making, c.stop = context.WithCancelCause(ctx)
	return c.building, c.rounds, making
}

// build makes a state and puts it into the cache. What was forgotten meanwhile is made again.
func (c *Cache[V]) build(ctx context.Context, w *wanted, rounds int) {
	k, err := c.create(ctx, w)
	stopped := ctx.Err() != nil
	c.mu.Lock()
	c.stop(nil)
	c.building, c.stop = nil, nil
	c.builds++
	var idle []*State
	switch {
	case c.rounds != rounds && !c.closed:
		w.done = 0
	default:
		c.wanted = slices.DeleteFunc(c.wanted, func(other *wanted) bool { return other == w })
	}
	switch {
	case k != nil && (c.closed || c.rounds != rounds):
		idle = c.drop([]*kept[V]{k})
	case k != nil:
		c.kept = slices.Insert(c.kept, 0, k)
		keep := min(len(c.kept), c.opts.Keep)
		idle = c.drop(c.kept[keep:])
		c.kept = slices.Delete(c.kept, keep, len(c.kept))
	case !stopped:
		w.err, w.asked = err, c.opts.Now()
		c.failed = append(c.failed, w)
		c.failed = c.failed[max(0, len(c.failed)-c.opts.Waiting):]
		c.opts.Logger.Warn("a state of the past cannot be made", "seq", w.seq, "err", err)
	}
	c.changed()
	c.mu.Unlock()
	c.end(idle...)
}

func (c *Cache[V]) create(ctx context.Context, w *wanted) (*kept[V], error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if err := os.MkdirAll(c.opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of states of the past: %w", err)
	}
	if err := c.room(); err != nil {
		return nil, err
	}
	state, err := Open(ctx, c.opts.Options, w.seq, func(done, total int64) {
		c.mu.Lock()
		w.done, w.total = done, total
		c.mu.Unlock()
		if err := c.room(); err != nil {
			stop(err)
		}
	})
	if err != nil {
		if full, is := errors.AsType[*eventstore.DiskFullError](context.Cause(ctx)); is {
			return nil, full
		}
		return nil, err
	}
	value, err := c.opts.Make(ctx, state)
	if err != nil {
		return nil, errors.Join(err, state.Close())
	}
	return &kept[V]{state: state, value: value}, nil
}

// Forget drops every state at once, and has those made anew that are being made: after what was in the log has been taken out of it. It returns when none
// of their files is there any more, which those who use one may hold up, or ctx ends.
func (c *Cache[V]) Forget(ctx context.Context) error {
	c.mu.Lock()
	c.rounds++
	if c.stop != nil {
		c.stop(errForgotten)
	}
	old, builds := c.building, c.builds
	idle := c.drop(c.kept)
	c.kept = nil
	c.mu.Unlock()
	c.end(idle...)
	for {
		c.mu.Lock()
		over, left := c.leaving == 0 && (old == nil || c.builds > builds), c.left
		c.mu.Unlock()
		if over {
			return nil
		}
		select {
		case <-left:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close drops every state; those in use are closed when they are released. Run has ended, or makes none any more. It may be called more than once.
func (c *Cache[V]) Close() error {
	c.mu.Lock()
	c.closed = true
	if c.stop != nil {
		c.stop(eventstore.ErrClosed)
	}
	idle := c.drop(c.kept)
	c.kept, c.wanted = nil, nil
	c.mu.Unlock()
	c.end(idle...)
	_ = os.Remove(c.opts.Dir) // unless something is still there, which the next process removes
	return nil
}
