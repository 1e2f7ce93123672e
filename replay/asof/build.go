package asof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/pages"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections"
)

// A build leaves states on its way, so that one can step back from there: close ones before its end, as far back as
// half the distance of kept states, and a few in the middle between these. They are not kept on disk.
const (
	closeParts = 20 // of the distance of kept states, in that half
	middles    = 8  // at most so many in the middle
)

// Turns of a fold, in events: of a requested state, and of those made in the background.
const (
	turnOf       = 2_000
	backgroundOf = 250
)

// rowsOf is how many events the fold in the background keeps rows of in memory. It hurries less than a request, and should not double the
// memory of a server.
const rowsOf = 1_000

// passedMost is the number of states on the way that are remembered: each has a file open.
const passedMost = 100

// passingLeast is the number of bytes that states on the way may have at least, whatever the limit of kept ones is.
const passingLeast = 16 << 20

// builder makes states from the nearest one below. build and extend are called by one goroutine.
type builder struct {
	opts       Options
	dir        *pages.Dir
	stateStore *stateStore

	stored int64 // events that the log had taken at the last rest

	mu     sync.Mutex
	points []point // ascending
	uses   int64
}

// point is a state that is not kept on disk.
type point struct {
	seq   int64
	image *pages.Image
	used  int64 // when it was last used, in uses
}

// baseError says that folding on from a state has failed.
type baseError struct {
	seq int64 // of that state
	err error
}

func (e *baseError) Error() string {
	return fmt.Sprintf("from the state at event %d: %v", e.seq, e.err)
}
func (e *baseError) Unwrap() error { return e.err }

// suspect returns the state on which a build has failed, unless the reason lies elsewhere: with ctx, the disk or the
// files.
func suspect(ctx context.Context, err error) (seq int64, is bool) {
	failed, is := errors.AsType[*baseError](err)
	if !is || ctx.Err() != nil || errors.Is(err, eventstore.ErrClosed) {
		return 0, false
	}
	if _, full := errors.AsType[*eventstore.DiskFullError](err); full {
		return 0, false
	}
	if _, file := errors.AsType[*fs.PathError](err); file {
		return 0, false
	}
	return failed.seq, true
}

// build makes the tables as of an event. If that fails on a state whose content is bad although its checksums are right,
// they are made from the one below it, and then from the first event; what has failed is dropped once one of these has
// succeeded.
func (b *builder) build(ctx context.Context, until int64, tell func(done, total int64)) (*State, error) {
	s, err := b.buildFrom(ctx, until, until, tell)
	bad, is := suspect(ctx, err)
	if !is {
		return s, err
	}
	b.opts.Logger.Warn("cannot build on a state; trying an earlier one", "seq", bad, "err", err)
	if s, err = b.buildFrom(ctx, until, bad-1, tell); err != nil {
		if _, is := suspect(ctx, err); !is {
			return nil, err
		}
		bad = 0
		if s, err = b.buildFrom(ctx, until, -1, tell); err != nil {
			return nil, err
		}
	}
	b.forget(bad)
	return s, nil
}

// buildFrom makes the tables as of an event from a state up to another event; -1: from the first event.
func (b *builder) buildFrom(ctx context.Context, until, upTo int64, tell func(done, total int64)) (_ *State, err error) {
	at, err := recordedAt(ctx, b.opts.Log, until)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	m, err := b.stateStore.begin(ctx)
	if err != nil {
		return nil, err
	}
	from, base, keeps := b.below(until, upTo)
	onBase := base != nil
	s, fold, err := b.start(ctx, until, base, false)
	if err != nil {
		if onBase {
			err = &baseError{from, err}
		}
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("build the tables as of event %d: %w", until, err), s.Discard())
		}
	}()
	progress := func() error {
		if tell != nil {
			tell(fold.Seq()-from, until-from)
		}
		return nil
	}
	below := from // the newest kept state, while keeps
	for _, stop := range b.stops(from, until) {
		if err := fold.Advance(ctx, b.opts.Log, stop.seq, turnOf, progress); err != nil {
			if onBase {
				err = &baseError{from, err}
			}
			return nil, err
		}
		if stop.seq == until {
			break
		}
		image, err := s.Seal()
		if err != nil {
			return nil, err
		}
		if keeps = keeps && stop.keep; keeps {
			keeps, err = b.stateStore.keep(ctx, m, below, stop.seq, image)
			below = stop.seq
			switch {
			case ctx.Err() != nil:
				return nil, errors.Join(err, image.Close(), context.Cause(ctx))
			case err != nil:
				keeps = false
				b.opts.Logger.Warn("cannot keep a state; no further states are kept during this build", "seq", stop.seq, "err", err)
			}
		}
		if !keeps {
			b.pass(stop.seq, image)
		} else if err := image.Close(); err != nil {
			return nil, err
		}
	}
	if err := s.Freeze(ctx); err != nil {
		return nil, err
	}
	b.pass(until, s.Image().Clone())
	b.opts.Logger.Debug("built the tables as of an event", "seq", until, "from", from, "took", time.Since(began))
	return &State{Scratch: s, At: at}, nil
}

// start opens tables for folding on from a state, which it closes; nil: from the first event.
func (b *builder) start(ctx context.Context, until int64, base *pages.Image, frugal bool) (*sqlite.Scratch, *projections.Fold, error) {
	if base != nil {
		defer base.Close() // the scratch has its own use of the layers
	}
	s, err := sqlite.CreateScratch(ctx, sqlite.ScratchOptions{
		Log: b.opts.Log.Path(), Until: until, Payloads: b.opts.Log.Payloads(), Pages: b.dir, Base: base, Frugal: frugal,
	})
	if err != nil {
		return nil, nil, err
	}
	fold := projections.NewFold(s, database.Projections(b.opts.Rules), b.opts.Rules)
	if base != nil {
		if err := s.Update(ctx, fold.Resume); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("continue from a kept state: %w", err), s.Discard())
		}
	}
	return s, fold, nil
}

// below returns the state to build from: the newest one up to an event, or the newest kept one if the way from there is
// at most twice as long and leaves states to be kept. Only states up to upTo are considered. The caller closes it; 0 and
// nil if there is none. kept is false if it is not kept on disk.
func (b *builder) below(until, upTo int64) (seq int64, image *pages.Image, kept bool) {
	seq, image = b.stateStore.at(upTo)
	due, keeps := b.stateStore.due()
	keeps = keeps && due < until && seq == due-b.stateStore.opts.Every
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range slices.Backward(b.points) {
		if p := &b.points[i]; p.seq <= upTo {
			if (p.seq > seq || image == nil) && !(keeps && p.seq-seq < until-p.seq) {
				b.uses++
				p.used = b.uses
				if image != nil {
					_ = image.Close() // its layers are kept
				}
				return p.seq, p.image.Clone(), false
			}
			break
		}
	}
	return seq, image, true
}

// stop is an event at which a build seals a state.
type stop struct {
	seq  int64
	keep bool // on disk
}

// stops lists where a build from a state to another one stops; the last is until.
func (b *builder) stops(from, until int64) (list []stop) {
	if due, ok := b.stateStore.due(); ok && from == b.stateStore.last() {
		for ; due < until; due += b.stateStore.opts.Every {
			list = append(list, stop{due, true})
			from = due
		}
	}
	ahead := func(every, first int64) {
		for seq := (max(from, first, 0)/every + 1) * every; seq < until; seq += every {
			list = append(list, stop{seq: seq})
		}
	}
	half := max(1, b.stateStore.opts.Every/2)
	ahead(half, until-half*middles)
	ahead(max(1, b.stateStore.opts.Every/closeParts), until-half)
	slices.SortFunc(list, func(a, b stop) int { return cmp.Compare(a.seq, b.seq) })
	list = slices.CompactFunc(list, func(a, b stop) bool { return a.seq == b.seq })
	return append(list, stop{seq: until})
}

// pass remembers a state that was passed, and drops the least recently used ones if there are too many bytes of them.
func (b *builder) pass(seq int64, image *pages.Image) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, found := slices.BinarySearchFunc(b.points, seq, func(p point, seq int64) int { return cmp.Compare(p.seq, seq) })
	if found {
		_ = image.Close()
		return
	}
	b.uses++
	b.points = slices.Insert(b.points, i, point{seq, image, b.uses})
	for len(b.points) > passedMost || len(b.points) > 1 && b.passing() > b.passingMost() {
		oldest := 0
		for i := range b.points {
			if b.points[i].used < b.points[oldest].used {
				oldest = i
			}
		}
		_ = b.points[oldest].image.Close()
		b.points = slices.Delete(b.points, oldest, oldest+1)
	}
}

// passing is the size of all states that are not kept on disk.
func (b *builder) passing() int64 {
	b.stateStore.mu.Lock()
	defer b.stateStore.mu.Unlock()
	return b.dir.Bytes() - b.stateStore.bytes()
}

func (b *builder) passingMost() int64 { return max(passingLeast, b.stateStore.limit()/4) }

// forget drops the states that may contain data of an event, or of later ones.
func (b *builder) forget(seq int64) {
	b.stateStore.forget(seq)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.points = slices.DeleteFunc(b.points, func(p point) bool {
		if p.seq < seq {
			return false
		}
		_ = p.image.Close()
		return true
	})
}

// repair drops damaged states, and reports whether there were any.
func (b *builder) repair() bool {
	damaged := b.stateStore.forgetDamaged()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.points = slices.DeleteFunc(b.points, func(p point) bool {
		if !p.image.Damaged() {
			return false
		}
		damaged = true
		_ = p.image.Close()
		return true
	})
	return damaged
}

// extend keeps the states that are due, the oldest first, until all are kept or ctx ends. rest is called after each
// transaction with its duration. A state on which that fails is dropped, and made again by a later call.
func (b *builder) extend(ctx context.Context, check func() error, rest func(context.Context, time.Duration) error) error {
	if err := b.stateStore.fit(ctx); err != nil { // the limit may have changed
		return err
	}
	err := b.extendOn(ctx, check, rest)
	if bad, is := suspect(ctx, err); is {
		b.forget(bad)
	}
	return err
}

func (b *builder) extendOn(ctx context.Context, check func() error, rest func(context.Context, time.Duration) error) (err error) {
	due, ok, err := b.due(ctx)
	if err != nil || !ok {
		return err
	}
	m, err := b.stateStore.begin(ctx)
	if err != nil {
		return err
	}
	from, base := b.stateStore.at(b.stateStore.last())
	onBase := base != nil
	s, fold, err := b.start(ctx, due, base, true)
	if err != nil {
		if onBase {
			err = &baseError{from, err}
		}
		return err
	}
	defer func() { err = errors.Join(err, s.Discard()) }()
	began, below, forgotten := time.Now(), from, from
	for ok {
		if err := check(); err != nil {
			return err
		}
		worked := time.Now()
		err := fold.Advance(ctx, s.Log(), due, backgroundOf, func() error {
			if fold.Seq()-forgotten >= rowsOf {
				fold.Forget()
				forgotten = fold.Seq()
			}
			err := rest(ctx, time.Since(worked))
			worked = time.Now()
			return err
		})
		if err != nil {
			if onBase {
				err = &baseError{from, err}
			}
			return err
		}
		image, err := s.Seal()
		if err != nil {
			return err
		}
		kept, err := b.stateStore.keep(ctx, m, below, due, image)
		if err = errors.Join(err, image.Close()); err != nil || !kept { // it does not fit
			return err
		}
		below = due
		if due, ok, err = b.due(ctx); err != nil {
			return err
		}
	}
	b.opts.Logger.Debug("kept states", "from", from, "to", b.stateStore.last(), "took", time.Since(began))
	return nil
}

// due returns the next event as of which a state is to be kept, if the log has it.
func (b *builder) due(ctx context.Context) (seq int64, ok bool, err error) {
	if seq, ok = b.stateStore.due(); !ok {
		return seq, false, nil
	}
	head, err := b.opts.Log.Head(ctx)
	return seq, seq <= head.Seq, err
}

// Pauses of the background: it works at most half of the time, and steps aside while events are appended.
const (
	aside     = 50 * time.Millisecond
	asideMost = 20 // pauses in a row
)

// rest lets others work.
func (b *builder) rest(ctx context.Context, worked time.Duration) error {
	if err := wait.For(ctx, worked); err != nil {
		return err
	}
	for range asideMost {
		before := b.stored
		g := b.opts.Log.Gauges()
		if b.stored = g.Stored; g.QueuedEvents == 0 && g.Stored == before {
			return nil
		}
		if err := wait.For(ctx, aside); err != nil {
			return err
		}
	}
	return nil
}

// forgetPassed drops the states that are not kept on disk.
func (b *builder) forgetPassed() (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.points {
		err = errors.Join(err, p.image.Close())
	}
	b.points = nil
	return err
}

// close drops all states; the kept ones stay on disk.
func (b *builder) close() error { return errors.Join(b.forgetPassed(), b.stateStore.close()) }
