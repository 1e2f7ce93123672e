package worker

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/backoff"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

const (
	// begins is how often an item may fail to start before it is given up.
	begins = 3
	// maxHeld is how many items are held at a time; beyond that nothing starts until one is retried.
	maxHeld = 64
)

// delayedItem is an item that failed to start. It is retried after a delay, and its key waits for it.
type delayedItem struct {
	fails int
	until time.Time
}

// startResult is the result of a claimed item.
type startResult struct {
	item  workqueue.Item // after the claim
	end   bool           // ended or postponed instead of started
	err   error          // failed to start
	fatal bool           // permanently
}

func (b *startResult) begins() bool { return b.err == nil && !b.end }

// maxClaims is how many claims are in progress at a time: a second one uses places freed while the first is stored.
const maxClaims = 2

// claim starts ready items, and returns when the next is due; zero if none is known. It does not wait for the log: the
// result arrives on claimed.
func (r *running) claim(now moment) (due time.Time) {
	if !r.drainUntil.IsZero() || now.tick.Before(r.retryAt) {
		return time.Time{}
	}
	r.missed = len(r.open) > 0
	if len(r.open) == maxClaims {
		return time.Time{}
	}
	r.retryAt = time.Time{}
	c := &claim{Worker: r.Worker, base: r.base, now: now, before: slices.Clone(r.open), held: r.holding(now.tick), flying: maps.Clone(r.flying)}
	if c.free, c.ending = r.free(); len(c.free) == 0 || len(c.held) >= maxHeld {
		return time.Time{}
	}
	if len(r.open) > 0 {
		if !slices.ContainsFunc(c.ending, func(f *flight) bool { return f.known == 0 }) {
			return time.Time{}
		}
		c.shares = make([]share, 1)
	} else {
		var ready bool
		var err error
		if ready, due, err = r.poll(c.free, now); err != nil {
			r.pauseLog(err, now)
		}
		if err != nil || !ready {
			return due
		}
		c.shares = make([]share, max(r.abreast, 1))
	}
	for _, f := range c.ending {
		f.known++
	}
	r.open = append(r.open, c)
	go func() {
		c.startReady()
		r.claimed <- c
	}()
	return due
}

// settle handles the result of a claim, and reports whether another is needed: something started, or changed
// meanwhile.
func (r *running) settle(c *claim) (more bool) {
	r.open = slices.DeleteFunc(r.open, func(open *claim) bool { return open == c })
	for _, f := range c.ending {
		f.known--
	}
	more, r.missed = r.missed, false
	r.abreast = 1
	var errs []error
	for i := range c.shares {
		s := &c.shares[i]
		if s.cut() {
			r.abreast = min(2*len(c.shares), maxAbreast)
		}
		more = more || len(s.tried) > 0
		errs = append(errs, r.settleShare(c, s))
	}
	c.before = nil // otherwise each would keep its predecessors in memory

	if !r.cutOff.IsZero() { // it was started too late
		r.drop(ErrDrained)
	}
	if err := errors.Join(errs...); err != nil {
		r.pauseLog(err, r.moment())
		return more
	}
	r.trouble = 0
	return more
}

// pauseLog pauses access to the log.
func (r *running) pauseLog(err error, now moment) {
	r.trouble++
	r.retryAt = now.tick.Add(retries.After(r.trouble))
	r.opts.Logger.Warn("cannot start work; will retry", "err", err, "retry_in", retries.After(r.trouble))
}

// holding are the held items, by effect id.
func (r *running) holding(now time.Time) map[string]bool {
	holding := map[string]bool{}
	for id, h := range r.held {
		if now.Before(h.until) {
			holding[id] = true
		}
	}
	return holding
}

// retries are the delays after consecutive failures of the log.
var retries = backoff.Backoff{First: 40 * time.Millisecond, Most: 5 * time.Second}

// free is the free capacity by pool, without full pools. Places of items about to end count as free.
func (r *running) free() (free map[string]int, ending []*flight) {
	free = map[string]int{}
	for pool, n := range r.opts.Pools() {
		free[pool] = n
	}
	for _, f := range r.flying {
		if f.ending.Load() && !f.isLost {
			ending = append(ending, f)
			continue
		}
		free[f.item.Pool]--
	}
	for pool, n := range free {
		if n <= 0 {
			delete(free, pool)
		}
	}
	return free, ending
}

// poll checks whether anything could start, without blocking writers.
func (r *running) poll(free map[string]int, now moment) (ready bool, due time.Time, err error) {
	var heads []workqueue.Head
	err = r.opts.Log.View(r.base, func(tx *sql.Tx) (err error) {
		heads, err = workqueue.Heads(r.base, tx)
		return err
	})
	if err != nil {
		return false, due, err
	}
	for _, h := range heads {
		if r.handlers[h.Kind] == nil {
			r.warnUnknownKind(h.Kind)
			continue
		}
		if free[h.Pool] == 0 || !h.Free {
			continue
		}
		if h.ReadyAt <= now.clock.UnixMilli() {
			ready = true
			continue
		}
		if at := now.at(time.UnixMilli(h.ReadyAt)); due.IsZero() || at.Before(due) {
			due = at
		}
	}
	return ready, due, nil
}

func (w *Worker) warnUnknownKind(kind string) {
	if _, told := w.unknown.LoadOrStore(kind, true); !told {
		w.opts.Logger.Warn("work waiting without a handler for its kind", "kind", kind)
	}
}

// maxAbreast is the maximum number of decisions per claim.
const maxAbreast = 16

// share is one decision of a claim: what starts in one transaction, up to the first item that is ended or postponed
// instead.
type share struct {
	tried []startResult
	err   error
}

// cut reports whether items were left for a later decision, which sees the consequences of the last one.
func (s *share) cut() bool { return len(s.tried) > 0 && s.tried[len(s.tried)-1].end }

// claim is a set of concurrent decisions. It is created by Run, and decides on the log writer's goroutine.
type claim struct {
	*Worker
	base   context.Context
	free   map[string]int // including places of ending items
	ending []*flight
	held   map[string]bool // held items, by effect id
	flying map[string]*flight
	now    moment
	before []*claim // earlier claims in progress, whose items are not in free
	after  []*claim // later claims made while it was in progress, likewise; used by the log's writer only
	shares []share  // unstored decisions count too: they keep their places until the next claim
}

// startReady starts ready items. If an item was ended or postponed, more of that kind probably follow: the next claim has
// twice as many decisions, each seeing those before it, stored together by the log.
func (c *claim) startReady() {
	var wait sync.WaitGroup
	for i := range c.shares[1:] {
		wait.Go(func() { c.decide(&c.shares[i+1], nil) })
	}
	c.decide(&c.shares[0], nil)
	wait.Wait()
}

// settleShare runs the items of a decision; if the log rejected it, they are started one by one. An error concerns the
// whole log.
func (r *running) settleShare(c *claim, s *share) error {
	if s.err == nil {
		return r.follow(s.tried, c.now)
	}
	if !eventstore.Refused(s.err, c.opts.Log.Fatal) {
		return s.err
	}
	for _, b := range s.tried { // unchanged, since it keeps the places, also for other claims
		one := share{tried: []startResult{b}}
		if b.err == nil {
			c.decide(&one, &b.item)
		}
		if one.err != nil {
			if !eventstore.Refused(one.err, c.opts.Log.Fatal) {
				return one.err
			}
			one.tried = []startResult{{item: b.item, err: one.err}}
		}
		if err := r.follow(one.tried, c.now); err != nil {
			return err
		}
	}
	return nil
}

// decide leases ready items in one transaction, or one item only. Attempted items are in the share, even with an
// error.
func (c *claim) decide(s *share, only *workqueue.Item) {
	_, s.err = c.opts.Log.Decide(c.base, func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
		s.tried = nil         // it may be called again
		clock := c.opts.Now() // its predecessor may just have ended
		for _, other := range c.before {
			if !slices.Contains(other.after, c) {
				other.after = append(other.after, c)
			}
		}
		for pool := range c.free {
			unended, err := c.unended(tx, pool)
			if err != nil {
				return nil, err
			}
			n := c.left(pool, only) - unended
			if n <= 0 {
				continue
			}
			limit := n
			switch {
			case only != nil:
				limit = c.free[pool] // it may follow an attempted item
			case len(c.shares) > 1:
				limit = min(n, 1) // the others get the rest
			}
			items, err := c.ready(tx, pool, clock, limit)
			if err != nil {
				return nil, err
			}
			for _, item := range items {
				if n == 0 || c.excluded(&item) || only != nil && only.EffectID != item.EffectID {
					continue
				}
				b, events := c.begin(tx, item, clock)
				if b.err != nil && c.opts.Log.Fatal(b.err) {
					return nil, b.err
				}
				s.tried, appends = append(s.tried, b), append(appends, events...)
				if b.end {
					return appends, nil // its consequences may affect the others, which see them in the next decision, triggered by this append
				}
				if b.err == nil {
					n--
				}
			}
		}
		return appends, nil
	})
}

// ready are startable items, including held ones, but not those whose previous attempt has announced its end and not
// returned.
func (c *claim) ready(tx eventstore.Tx, pool string, clock time.Time, limit int) ([]workqueue.Item, error) {
	for most := limit + len(c.held); ; {
		items, err := workqueue.Ready(tx, pool, clock.UnixMilli(), most, c.kinds...)
		if err != nil {
			return nil, err
		}
		n := len(items)
		items = slices.DeleteFunc(items, func(item workqueue.Item) bool { return c.flying[item.EffectID] != nil })
		if n < most || len(items) == n || len(items) >= limit+len(c.held) {
			return items, nil
		}
		most += n - len(items)
	}
}

// beside are the claims that may start items unknown to this one, and itself.
func (c *claim) beside() []*claim { return append(slices.Concat(c.before, c.after), c) }

// left is a pool's remaining capacity, plus the place of an item being restarted.
func (c *claim) left(pool string, only *workqueue.Item) int {
	n := c.free[pool]
	for _, other := range c.beside() {
		for i := range other.shares {
			for _, b := range other.shares[i].tried {
				if b.begins() && b.item.Pool == pool && (only == nil || b.item.EffectID != only.EffectID) {
					n--
				}
			}
		}
	}
	return n
}

// excluded reports whether an item must not be tried: it failed to start, or belongs to another claim.
func (c *claim) excluded(item *workqueue.Item) bool {
	if c.held[item.EffectID] {
		return true
	}
	for _, other := range c.beside() {
		for i := range other.shares {
			for _, b := range other.shares[i].tried {
				if b.item.EffectID == item.EffectID && (b.err != nil || other != c) {
					return true
				}
			}
		}
	}
	return false
}

// begin lets the handler start an item.
func (w *Worker) begin(tx eventstore.Tx, item workqueue.Item, now time.Time) (b startResult, appends []eventstore.StreamAppend) {
	b.item = item
	defer func() {
		if p := recover(); p != nil {
			w.opts.Logger.Error("panic in a handler starting work", "effect", item.EffectID, "kind", item.Kind, "panic", p, "stack", string(debug.Stack()))
			b.err, b.fatal, appends = fmt.Errorf("panic: %v", p), true, nil
		}
	}()
	if appends, b.err = w.handlers[item.Kind].Begin(tx, item, now); b.err != nil {
		return b, nil
	}
	last := outcome(&item, appends)
	switch last.Step {
	case work.Lease:
		b.item.State, b.item.LeaseUntil = workqueue.Leased, last.Until
		b.item.Attempt++
		return b, appends
	case work.Return:
		if last.DueAt <= now.UnixMilli() {
			b.err = errors.New("its handler has put it off until now")
			return b, nil
		}
		fallthrough
	case work.Remove, work.Park:
		b.end = true
		return b, appends
	}
	b.err = errors.New("its handler neither began it nor ended it nor put it off")
	return b, nil
}

// outcome is the last effect of appended events on an item.
func outcome(item *workqueue.Item, appends []eventstore.StreamAppend) (last work.Change) {
	stream := work.Stream(item.EffectID)
	for _, a := range appends {
		if a.Stream != stream {
			continue
		}
		for _, e := range a.Events {
			if c, ok := work.Of(e.Type, e.AgentID, e.Data); ok {
				last = c
			}
		}
	}
	return last
}

// follow runs started items, and handles those that failed to start. An error concerns the whole log.
func (r *running) follow(list []startResult, now moment) error {
	for _, b := range list {
		switch {
		case b.begins():
			delete(r.held, b.item.EffectID)
			r.send(b.item, now)
		case b.err == nil:
			delete(r.held, b.item.EffectID)
		default:
			if err := r.delay(b, now); err != nil {
				return err
			}
		}
	}
	for id, h := range r.held { // cancelled meanwhile
		if now.tick.Sub(h.until) > time.Minute {
			delete(r.held, id)
		}
	}
	return nil
}

// delay delays an item that failed to start, or gives it up.
func (r *running) delay(b startResult, now moment) error {
	h := r.held[b.item.EffectID]
	if h == nil {
		h = &delayedItem{}
		r.held[b.item.EffectID] = h
	}
	h.fails++
	r.opts.Logger.Warn("cannot start work item; will retry or give up", "effect", b.item.EffectID, "kind", b.item.Kind, "time", h.fails, "err", b.err)
	if h.fails < begins && !b.fatal {
		h.until = now.tick.Add(work.Backoff(h.fails, 0, 0))
		r.retryAt = now.tick // items behind it may start instead
		return nil
	}
	if err := r.deadLetter(r.base, b.item, b.err, now.clock); err != nil {
		return err
	}
	r.failed.Add(1)
	delete(r.held, b.item.EffectID)
	return nil
}

// deadLetter gives up an item that cannot be handled.
func (w *Worker) deadLetter(ctx context.Context, item workqueue.Item, why error, now time.Time) error {
	if refuser, ok := w.handlers[item.Kind].(Refuser); ok {
		err := w.giveUp(ctx, item, func(tx eventstore.Tx, is workqueue.Item) ([]eventstore.StreamAppend, error) {
			return w.refuse(refuser, tx, is, why, now)
		})
		if err == nil || w.opts.Log.Fatal(err) || ctx.Err() != nil {
			return err
		}
		w.opts.Logger.Error("handler failed to record a work item as failed", "effect", item.EffectID, "kind", item.Kind, "err", err)
	}
	text := work.Tidy(why.Error())
	return w.giveUp(ctx, item, func(_ eventstore.Tx, is workqueue.Item) ([]eventstore.StreamAppend, error) {
		return is.Appends(coordination.TypeWorkDead, coordination.WorkAttempt{Attempt: is.Attempt, Error: text}, now)
	})
}

// giveUp appends the end of an item, unless it is already over or given up.
func (w *Worker) giveUp(ctx context.Context, item workqueue.Item, how func(eventstore.Tx, workqueue.Item) ([]eventstore.StreamAppend, error)) error {
	_, err := w.opts.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		is, found, err := workqueue.Load(tx, item.EffectID)
		if err != nil || !found || is.State == workqueue.Dead {
			return nil, err
		}
		return how(tx, is)
	})
	return err
}

// refuse lets the handler end an item, and checks that it does.
func (w *Worker) refuse(h Refuser, tx eventstore.Tx, item workqueue.Item, why error, now time.Time) (appends []eventstore.StreamAppend, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.opts.Logger.Error("panic in a handler giving up work", "effect", item.EffectID, "kind", item.Kind, "panic", p, "stack", string(debug.Stack()))
			appends, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	if appends, err = h.Refused(tx, item, why, now); err != nil {
		return nil, err
	}
	if last := outcome(&item, appends); last.Step != work.Remove && last.Step != work.Park {
		return nil, errors.New("its handler did not end it")
	}
	return appends, nil
}
