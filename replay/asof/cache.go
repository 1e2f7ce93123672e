package asof

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination/snapshot"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/pages"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// Dir returns the directory in which a server keeps its snapshots. No other program may put files there.
func Dir(db string) string { return db + "-past" }

// Defaults of CacheOptions.
const (
	DefaultKeep     = 6
	DefaultWaiting  = 4
	DefaultPatience = 30 * time.Second
)

// CacheOptions configures NewCache. All of Options but Out and Kept, Now and Make are required; Dir must belong to the
// cache alone.
type CacheOptions[V any] struct {
	Options
	Keeping Keeping // states on disk, from which snapshots are made
	Now     func() time.Time
	// Make builds the value that the cache hands out for a snapshot. It is called once per snapshot.
	Make func(context.Context, *State) (V, error)

	Keep     int           // snapshots that are kept
	Waiting  int           // snapshots that may wait for the one being built
	Patience time.Duration // how long an unrequested snapshot stays queued, and how long a failure is remembered
	Hold     time.Duration // how long At waits for a snapshot

	// FreeSpace returns the free bytes on the volume of Dir. With fewer than MinFree no snapshot is built. nil: not
	// checked.
	FreeSpace func() (free int64, known bool)
	MinFree   int64
}

// Cache keeps the most recently used snapshots and builds others one after the other. Its methods may be called
// concurrently.
type Cache[V any] struct {
	opts    CacheOptions[V]
	wake    chan struct{}
	builder *builder // nil until Run has opened the kept states

	opening chan struct{} // holds one element while Run opens the kept states, or Forget removes them
	unread  bool          // their directory could not be read or emptied
	temp    *Temp         // in its place; nil: none

	mu       sync.Mutex
	closed   bool
	rounds   int         // number of Forget calls
	kept     []*entry[V] // most recently used first
	requests []*request  // to be built, in this order
	building *request    // the one being built, from requests; nil: none
	stop     func(error) // cancels building, or keeping
	keeping  bool        // states are being kept in the background
	builds   int         // builds, and runs of keeping, that have ended
	failed   []*request
	leaving  int           // snapshots that are closed or wait for their users
	left     chan struct{} // closed when leaving or building has changed
}

// entry is a snapshot and the value made of it.
type entry[V any] struct {
	state *State
	value V
	users int
	gone  bool // no longer in the cache: the last user closes it
}

// request is a snapshot to be built.
type request struct {
	seq         int64
	asked       time.Time
	done, total int64
	err         error // why building failed
}

// NewCache returns an empty cache. It does not touch the disk.
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
	if opts.Keeping.Every == 0 {
		opts.Keeping.Every = DefaultEvery
	}
	if opts.Keeping.States == 0 {
		opts.Keeping.States = DefaultStates
	}
	c := &Cache[V]{opts: opts, wake: make(chan struct{}, 1), left: make(chan struct{}), opening: make(chan struct{}, 1)}
	c.opts.Keeping.space = c.checkSpaceFor
	return c
}

// At returns the value for the snapshot at event seq, which must be in the log, and keeps it open until release is
// called. It waits for a snapshot that is still to be built, for Hold at most; then ready is false, release is nil, and
// the request stays queued as long as it is repeated now and then. Errors: snapshot.ErrBusy, eventstore.ErrClosed,
// *eventstore.DiskFullError, and those of Open and Make, each of which is returned once.
func (c *Cache[V]) At(ctx context.Context, seq int64) (value V, release func(), progress snapshot.Progress, ready bool, err error) {
	var late <-chan time.Time
	if c.opts.Hold > 0 {
		timer := time.NewTimer(c.opts.Hold)
		defer timer.Stop()
		late = timer.C
	}
	for {
		value, release, progress, ready, changed, err := c.at(seq)
		if ready || err != nil || late == nil {
			return value, release, progress, ready, err
		}
		select {
		case <-changed:
		case <-late:
			late = nil
		case <-ctx.Done():
			late = nil
		}
	}
}

// at is At without waiting. changed is closed when it is worth another try.
func (c *Cache[V]) at(seq int64) (value V, release func(), progress snapshot.Progress, ready bool, changed <-chan struct{}, err error) {
	var damaged []*State
	defer func() { c.closeAll(damaged...) }()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return value, nil, progress, false, nil, eventstore.ErrClosed
	}
	i := slices.IndexFunc(c.kept, func(k *entry[V]) bool { return k.state.Until() == seq })
	if i >= 0 && c.kept[i].state.Image().Damaged() {
		damaged = c.drop(c.kept[i : i+1])
		c.kept = slices.Delete(c.kept, i, i+1)
		i = -1
	}
	if i >= 0 {
		k := c.kept[i]
		c.kept = slices.Insert(slices.Delete(c.kept, i, i+1), 0, k)
		k.users++
		return k.value, sync.OnceFunc(func() { c.release(k) }), progress, true, nil, nil
	}
	progress, err = c.want(seq)
	return value, nil, progress, false, c.left, err
}

// want queues a request for a snapshot. mu is held.
func (c *Cache[V]) want(seq int64) (snapshot.Progress, error) {
	now := c.opts.Now()
	of := func(w *request) bool { return w.seq == seq }
	if i := slices.IndexFunc(c.requests, of); i >= 0 {
		w := c.requests[i]
		w.asked = now
		return snapshot.Progress{Done: w.done, Total: w.total, Before: i}, nil
	}
	if i := slices.IndexFunc(c.failed, of); i >= 0 {
		w := c.failed[i]
		c.failed = slices.Delete(c.failed, i, i+1)
		if now.Sub(w.asked) < c.opts.Patience {
			return snapshot.Progress{}, w.err
		}
	}
	c.dropStale(now)
	if len(c.requests) > c.opts.Waiting {
		return snapshot.Progress{}, snapshot.ErrBusy
	}
	if err := c.checkSpace(); err != nil {
		return snapshot.Progress{}, err
	}
	c.requests = append(c.requests, &request{seq: seq, asked: now, total: seq})
	if c.keeping {
		c.stop(errRequested)
	}
	c.signal()
	return snapshot.Progress{Total: seq, Before: len(c.requests) - 1}, nil
}

// dropStale removes requests that were not repeated in time, except the one being built. mu is held.
func (c *Cache[V]) dropStale(now time.Time) {
	c.requests = slices.DeleteFunc(c.requests, func(w *request) bool { return w != c.building && now.Sub(w.asked) >= c.opts.Patience })
}

func (c *Cache[V]) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// checkSpace refuses to fill the disk.
func (c *Cache[V]) checkSpace() error { return c.checkSpaceFor(0) }

// checkSpaceFor refuses a file of need bytes that would fill the disk.
func (c *Cache[V]) checkSpaceFor(need int64) error {
	if c.opts.FreeSpace == nil {
		return nil
	}
	if free, known := c.opts.FreeSpace(); known && free-need < c.opts.MinFree {
		return &eventstore.DiskFullError{Path: c.opts.Dir,
			Err: fmt.Errorf("%d bytes are free and %d are needed, at least %d must stay free", free, need, c.opts.MinFree)}
	}
	return nil
}

// Continue opens the tables of a snapshot of this cache to fold on: what is written takes room of its own, and the snapshot stays as it is. They
// are read with Update only. The caller must hold the snapshot until it has closed them.
func (c *Cache[V]) Continue(ctx context.Context, s *State) (*State, error) {
	c.mu.Lock()
	builder, closed := c.builder, c.closed
	c.mu.Unlock()
	if closed || builder == nil {
		return nil, eventstore.ErrClosed
	}
	if err := c.checkSpace(); err != nil {
		return nil, err
	}
	scratch, fold, err := builder.start(ctx, s.Until(), s.Image().Clone(), false)
	if err != nil {
		return nil, fmt.Errorf("continue from the state at event %d: %w", s.Until(), err)
	}
	return &State{Scratch: scratch, Fold: fold, At: s.At}, nil
}

// release ends one use of a snapshot.
func (c *Cache[V]) release(k *entry[V]) {
	c.mu.Lock()
	k.users--
	last := k.gone && k.users == 0
	c.mu.Unlock()
	if last {
		c.closeAll(k.state)
	}
}

// drop removes entries from the cache and returns the unused snapshots; the caller closes them once mu is free. mu is
// held.
func (c *Cache[V]) drop(list []*entry[V]) (idle []*State) {
	for _, k := range list {
		k.gone = true
		c.leaving++
		if k.users == 0 {
			idle = append(idle, k.state)
		}
	}
	return idle
}

// closeAll closes dropped snapshots.
func (c *Cache[V]) closeAll(states ...*State) {
	for _, s := range states {
		if err := s.Close(); err != nil {
			c.opts.Logger.Warn("cannot remove snapshot; the next start removes it", "seq", s.Until(), "err", err)
		}
		c.mu.Lock()
		c.leaving--
		c.wakeWaiters()
		c.mu.Unlock()
	}
}

// wakeWaiters wakes those who wait for snapshots to be closed. mu is held.
func (c *Cache[V]) wakeWaiters() {
	close(c.left)
	c.left = make(chan struct{})
}

// Run builds the requested snapshots until ctx ends and, while there are none, keeps states on disk from which later
// ones are made. It first removes what an earlier process left behind, except valid kept states.
func (c *Cache[V]) Run(ctx context.Context) error {
	if !c.open(ctx) {
		return nil
	}
	defer c.closeBuilder()
	from := time.Now().Add(c.opts.Keeping.After)
	for ctx.Err() == nil {
		if w, rounds, making := c.next(ctx); w != nil {
			c.build(making, w, rounds)
			continue
		}
		wait.Woken(ctx, c.wake, c.keepStates(ctx, from))
	}
	return nil
}

// open opens the kept states. If their directory cannot be read or emptied, none are kept, and snapshots are made in a
// temporary directory. It reports false if ctx has ended.
func (c *Cache[V]) open(ctx context.Context) bool {
	c.opening <- struct{}{}
	defer func() { <-c.opening }()
	again := func() (*stateStore, error) {
		return openKept(ctx, c.opts.Log, c.opts.Dir, c.opts.Rules, c.opts.Keeping, c.opts.Logger, false)
	}
	keeps, err := again()
	if err != nil && ctx.Err() == nil {
		c.opts.Logger.Warn("cannot read the kept states; they are made again", "dir", c.opts.Dir, "err", err)
		if err = ForgetKept(c.opts.Dir); err == nil {
			keeps, err = again()
		}
	}
	if err != nil && ctx.Err() != nil {
		return false
	}
	if err != nil {
		c.opts.Logger.Warn("cannot keep states as of earlier events; they are made in a temporary directory until the next start",
			"dir", c.opts.Dir, "err", err)
		keeps = c.keepNone()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.builder = &builder{opts: c.opts.Options, dir: keeps.dir, stateStore: keeps}
	return true
}

// keepNone returns a stateStore that has no states.
func (c *Cache[V]) keepNone() *stateStore {
	c.unread = true
	k := &stateStore{log: c.opts.Log, dir: pages.DirAt(c.opts.Dir), opts: c.opts.Keeping, logger: c.opts.Logger}
	k.opts.MaxBytes = nil
	temp, err := NewTemp("")
	if err != nil {
		c.opts.Logger.Warn("cannot create a temporary directory for snapshots", "err", err)
		return k
	}
	c.temp, k.dir = temp, pages.DirAt(temp.Dir())
	return k
}

func (c *Cache[V]) closeBuilder() {
	if c.temp != nil {
		defer func() {
			if err := c.temp.Close(); err != nil {
				c.opts.Logger.Warn("cannot remove a temporary directory; the next start removes it", "err", err)
			}
		}()
	}
	if err := c.builder.close(); err != nil {
		c.opts.Logger.Warn("cannot close the states as of earlier events", "err", err)
	}
}

// Pauses between two looks whether a state is to be kept: usually, and after a failure.
const (
	keepEvery = 2 * time.Second
	keepRetry = time.Minute
)

// errRequested cancels keeping states because a snapshot was requested.
var errRequested = errors.New("a snapshot is requested")

// keepStates keeps what is due, but nothing before from. It returns when to look for more; 0: never.
func (c *Cache[V]) keepStates(ctx context.Context, from time.Time) (again time.Duration) {
	if c.builder.stateStore.limit() <= 0 {
		return 0
	}
	if early := time.Until(from); early > 0 {
		return early
	}
	c.mu.Lock()
	if len(c.requests) > 0 || c.closed {
		c.mu.Unlock()
		return keepEvery
	}
	keeping, stop := context.WithCancelCause(ctx)
	c.keeping, c.stop = true, stop
	c.mu.Unlock()
	err := c.builder.extend(keeping, c.checkSpace, c.builder.rest)
	cancelled := context.Cause(keeping) != nil
	stop(nil)
	c.mu.Lock()
	c.keeping, c.stop = false, nil
	c.builds++
	c.wakeWaiters()
	c.mu.Unlock()
	switch {
	case cancelled:
		return time.Millisecond
	case err == nil:
		return keepEvery
	case c.builder.repair():
		return keepEvery
	}
	c.opts.Logger.Warn("cannot keep states as of earlier events; will retry", "err", err, "retry_in", keepRetry)
	return keepRetry
}

// errForgotten cancels building a snapshot that may hold data to be forgotten.
var errForgotten = errors.New("the snapshot is rebuilt")

// next returns the request to be built next; nil for none.
func (c *Cache[V]) next(ctx context.Context) (w *request, rounds int, making context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropStale(c.opts.Now())
	if c.closed || len(c.requests) == 0 {
		return nil, 0, nil
	}
	c.building = c.requests[0]
	making, c.stop = context.WithCancelCause(ctx)
	return c.building, c.rounds, making
}

// build builds a snapshot and puts it into the cache. If Forget was called meanwhile, it is built again.
func (c *Cache[V]) build(ctx context.Context, w *request, rounds int) {
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
		c.requests = slices.DeleteFunc(c.requests, func(other *request) bool { return other == w })
	}
	switch {
	case k != nil && (c.closed || c.rounds != rounds):
		idle = c.drop([]*entry[V]{k})
	case k != nil:
		c.kept = slices.Insert(c.kept, 0, k)
		keep := min(len(c.kept), c.opts.Keep)
		idle = c.drop(c.kept[keep:])
		c.kept = slices.Delete(c.kept, keep, len(c.kept))
	case !stopped:
		w.err, w.asked = err, c.opts.Now()
		c.failed = append(c.failed, w)
		c.failed = c.failed[max(0, len(c.failed)-c.opts.Waiting):]
		c.opts.Logger.Warn("cannot build snapshot", "seq", w.seq, "err", err)
	}
	c.wakeWaiters()
	c.mu.Unlock()
	c.closeAll(idle...)
}

func (c *Cache[V]) create(ctx context.Context, w *request) (*entry[V], error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if err := c.checkSpace(); err != nil {
		return nil, err
	}
	tell := func(done, total int64) {
		c.mu.Lock()
		w.done, w.total = done, total
		c.mu.Unlock()
		if err := c.checkSpace(); err != nil {
			stop(err)
		}
	}
	c.builder.repair()
	state, err := c.builder.build(ctx, w.seq, tell)
	if err != nil && ctx.Err() == nil && c.builder.repair() {
		state, err = c.builder.build(ctx, w.seq, tell)
	}
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
	return &entry[V]{state: state, value: value}, nil
}

// Forget drops every snapshot, and the kept states that may contain data of an event or of later ones, and has what is
// being built rebuilt: it is called after data was redacted. It returns when all their files are removed, which waits
// for their users, or when ctx ends.
func (c *Cache[V]) Forget(ctx context.Context, seq int64) error {
	select {
	case c.opening <- struct{}{}: // Run neither opens the kept states now, nor begins to
	case <-ctx.Done():
		return ctx.Err()
	}
	c.mu.Lock()
	c.rounds++
	if c.stop != nil {
		c.stop(errForgotten)
	}
	busy, builds := c.building != nil || c.keeping, c.builds
	idle := c.drop(c.kept)
	c.kept = nil
	builder := c.builder
	c.mu.Unlock()
	if builder != nil {
		builder.forget(seq)
	}
	var err error
	if builder == nil || c.unread { // not running yet, or not with the states that are there
		err = ForgetKept(c.opts.Dir)
	}
	<-c.opening
	if err != nil {
		c.closeAll(idle...)
		return err
	}
	c.closeAll(idle...)
	for {
		c.mu.Lock()
		over, left := c.leaving == 0 && (!busy || c.builds > builds), c.left
		c.mu.Unlock()
		if over {
			break
		}
		select {
		case <-left:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if builder != nil {
		builder.forget(seq) // what the cancelled build has passed
	}
	return nil
}

// Status says what a cache has on disk.
type Status struct {
	Snapshots     int   // open for answers
	SnapshotBytes int64 // of these, and of states passed when they were made; gone when the process ends
	States        int   // kept
	Bytes         int64 // of the kept states
	MaxBytes      int64 // that they may have; 0: none are kept
	UpTo          int64 // event of the newest kept state; 0: there is none
	WidestGap     int64 // events between two kept states, at most
}

// Status returns the current figures.
func (c *Cache[V]) Status() (s Status) {
	c.mu.Lock()
	builder := c.builder
	s.Snapshots = len(c.kept) + c.leaving
	c.mu.Unlock()
	if builder == nil {
		return s
	}
	builder.stateStore.status(&s)
	s.SnapshotBytes = max(0, builder.dir.Bytes()-s.Bytes)
	return s
}

// Close drops every snapshot; those in use are closed when they are released. It is called after Run. It may be called
// more than once.
func (c *Cache[V]) Close() error {
	c.mu.Lock()
	c.closed = true
	if c.stop != nil {
		c.stop(eventstore.ErrClosed)
	}
	idle := c.drop(c.kept)
	c.kept, c.requests = nil, nil
	builder := c.builder
	c.mu.Unlock()
	if builder != nil {
		if err := builder.forgetPassed(); err != nil {
			c.opts.Logger.Warn("cannot remove states as of earlier events; the next start removes them", "err", err)
		}
	}
	c.closeAll(idle...)
	_ = os.Remove(c.opts.Dir) // fails while files are left: kept states, or such that the next process removes
	return nil
}
