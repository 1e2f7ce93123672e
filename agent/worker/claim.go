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
	queue "github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/work"
)

const (
	// begins is how often an item may refuse to begin before it is given up.
	begins = 3
	// maxHeld is how many items are held at a time; until one of them is tried again nothing else is.
	maxHeld = 64
)

// held is an item that would not begin. It is tried again after a while, and its key waits for it.
type held struct {
	fails int
	until time.Time
}

// begun is what became of an item in a claim.
type begun struct {
	item  work.Item // as it is after the claim
	end   bool      // it was ended, or put off, instead of begun
	err   error     // it would not begin
	fatal bool      // and never will
}

func (b *begun) begins() bool { return b.err == nil && !b.end }

// maxClaims is how many claims are under way at a time: a second one begins what waits for a place that is given up while the first is stored.
const maxClaims = 2

// claim has what is ready begun, and says when something will be that is not yet; zero: nothing that is known of. It does not wait for the log:
// what was claimed comes back as claimed.
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
		if ready, due, err = r.look(c.free, now); err != nil {
			r.inTrouble(err, now)
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
		c.take()
		r.claimed <- c
	}()
	return due
}

// settle takes note of what a claim has begun, and says whether there is more to look for: something was begun, or has happened meanwhile.
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
	c.before = nil // or each would hold the one before, and that the one before it

	if !r.cutOff.IsZero() { // it was begun too late
		r.drop(ErrDrained)
	}
	if err := errors.Join(errs...); err != nil {
		r.inTrouble(err, r.moment())
		return more
	}
	r.trouble = 0
	return more
}

// inTrouble leaves the log alone for a while.
func (r *running) inTrouble(err error, now moment) {
	r.trouble++
	r.retryAt = now.tick.Add(pause(r.trouble))
	r.opts.Logger.Warn("work cannot be begun for now", "err", err, "again_in", pause(r.trouble))
}

// holding are the items that are not to be tried yet, by effect id.
func (r *running) holding(now time.Time) map[string]bool {
	holding := map[string]bool{}
	for id, h := range r.held {
		if now.Before(h.until) {
			holding[id] = true
		}
	}
	return holding
}

// pause is how long to leave the log alone after it has refused so many times in a row.
func pause(failures int) time.Duration {
	return min(20*time.Millisecond<<min(failures, 8), 5*time.Second)
}

// free is how much may be begun, by pool; full pools are not in it. It counts the places of what is about to end.
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

// look reads whether anything could be begun, without keeping those up who write.
func (r *running) look(free map[string]int, now moment) (ready bool, due time.Time, err error) {
	var heads []work.Head
	err = r.opts.Log.View(r.base, func(tx *sql.Tx) (err error) {
		heads, err = work.Heads(r.base, tx)
		return err
	})
	if err != nil {
		return false, due, err
	}
	for _, h := range heads {
		if r.handlers[h.Kind] == nil {
			r.tellUnknown(h.Kind)
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

func (w *Worker) tellUnknown(kind string) {
	if _, told := w.unknown.LoadOrStore(kind, true); !told {
		w.opts.Logger.Warn("work of a kind that nobody does here waits", "kind", kind)
	}
}

// maxAbreast is how many decisions a claim is made of at most.
const maxAbreast = 16

// share is one decision of a claim: what is begun in one transaction, up to the first item that is ended, or put off, instead.
type share struct {
	tried []begun
	err   error
}

// cut says whether others were left, so that they see what follows from the end of the last one.
func (s *share) cut() bool { return len(s.tried) > 0 && s.tried[len(s.tried)-1].end }

// claim is decisions that are made side by side. It is made by Run, and decides on the goroutine of the log's writer.
type claim struct {
	*Worker
	base   context.Context
	free   map[string]int // with the places of those that are ending
	ending []*flight
	held   map[string]bool // not to be tried yet, by effect id
	flying map[string]*flight
	now    moment
	before []*claim // that were under way when it was made: what they begin is not in free
	after  []*claim // made while it was under way: nor is what they begin, and the log may have heard them first. The log's writer alone uses it.
	shares []share  // what the log has not stored counts too: it takes its place until the next claim
}

// take begins what is ready. Where an item was ended, or put off, others that are to be as well are likely behind it: the next claim is made
// of twice as many decisions, each of which sees those before it, while the log stores them together.
func (c *claim) take() {
	var wait sync.WaitGroup
	for i := range c.shares[1:] {
		wait.Go(func() { c.decide(&c.shares[i+1], nil) })
	}
	c.decide(&c.shares[0], nil)
	wait.Wait()
}

// settleShare sends off what a decision has begun; where the log has refused that, it is begun one by one. An error is that of the log as a
// whole.
func (r *running) settleShare(c *claim, s *share) error {
	if s.err == nil {
		return r.follow(s.tried, c.now)
	}
	if !c.refused(s.err) {
		return s.err
	}
	for _, b := range s.tried { // which stays as it is: it keeps the places, also before other claims
		one := share{tried: []begun{b}}
		if b.err == nil {
			c.decide(&one, &b.item)
		}
		if one.err != nil {
			if !c.refused(one.err) {
				return one.err
			}
			one.tried = []begun{{item: b.item, err: one.err}}
		}
		if err := r.follow(one.tried, c.now); err != nil {
			return err
		}
	}
	return nil
}

// decide leases what is ready in one transaction, or only one item of that. What it has tried is in the share, also with an error.
func (c *claim) decide(s *share, only *work.Item) {
	_, s.err = c.opts.Log.Decide(c.base, func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
		s.tried = nil         // it may be called again
		clock := c.opts.Now() // what it takes the place of may have ended just now
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
				limit = c.free[pool] // it may be behind what was tried with it
			case len(c.shares) > 1:
				limit = min(n, 1) // the others take the rest
			}
			items, err := c.ready(tx, pool, clock, limit)
			if err != nil {
				return nil, err
			}
			for _, item := range items {
				if n == 0 || c.holds(&item) || only != nil && only.EffectID != item.EffectID {
					continue
				}
				b, events := c.begin(tx, item, clock)
				if b.err != nil && c.opts.Log.Fatal(b.err) {
					return nil, b.err
				}
				s.tried, appends = append(s.tried, b), append(appends, events...)
				if b.end {
					return appends, nil // what it leads to may concern the others: they see it in the next decision, which this append brings about
				}
				if b.err == nil {
					n--
				}
			}
		}
		return appends, nil
	})
}

// ready are items that may be begun, the held ones among them, but not those whose attempt before has said that it is over and has not returned:
// they begin when it has.
func (c *claim) ready(tx eventstore.Tx, pool string, clock time.Time, limit int) ([]work.Item, error) {
	for most := limit + len(c.held); ; {
		items, err := work.Ready(tx, pool, clock.UnixMilli(), most, c.kinds...)
		if err != nil {
			return nil, err
		}
		n := len(items)
		items = slices.DeleteFunc(items, func(item work.Item) bool { return c.flying[item.EffectID] != nil })
		if n < most || len(items) == n || len(items) >= limit+len(c.held) {
			return items, nil
		}
		most += n - len(items)
	}
}

// beside are the claims that may begin what this one does not know of, and itself.
func (c *claim) beside() []*claim { return append(slices.Concat(c.before, c.after), c) }

// left is how much may still be begun in a pool, with the place of the only item that is to be, if it is begun once more.
func (c *claim) left(pool string, only *work.Item) int {
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

// holds says whether an item is not to be tried: it would not begin just now, or is the matter of another claim.
func (c *claim) holds(item *work.Item) bool {
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

// begin asks the handler to begin an item.
func (w *Worker) begin(tx eventstore.Tx, item work.Item, now time.Time) (b begun, appends []eventstore.StreamAppend) {
	b.item = item
	defer func() {
		if p := recover(); p != nil {
			w.opts.Logger.Error("a handler panicked while it began its work", "effect", item.EffectID, "kind", item.Kind, "panic", p, "stack", string(debug.Stack()))
			b.err, b.fatal, appends = fmt.Errorf("panic: %v", p), true, nil
		}
	}()
	if appends, b.err = w.handlers[item.Kind].Begin(tx, item, now); b.err != nil {
		return b, nil
	}
	last := outcome(&item, appends)
	switch last.Step {
	case queue.Lease:
		b.item.State, b.item.LeaseUntil = work.Leased, last.Until
		b.item.Attempt++
		return b, appends
	case queue.Return:
		if last.DueAt <= now.UnixMilli() {
			b.err = errors.New("its handler has put it off until now")
			return b, nil
		}
		fallthrough
	case queue.Remove, queue.Park:
		b.end = true
		return b, appends
	}
	b.err = errors.New("its handler neither began it nor ended it nor put it off")
	return b, nil
}

// outcome is the last thing that appends do to an item.
func outcome(item *work.Item, appends []eventstore.StreamAppend) (last queue.Change) {
	stream := queue.Stream(item.EffectID)
	for _, a := range appends {
		if a.Stream != stream {
			continue
		}
		for _, e := range a.Events {
			if c, ok := queue.Of(e.Type, e.AgentID, e.Data); ok {
				last = c
			}
		}
	}
	return last
}

// follow sends off what was begun, and takes note of what would not begin. An error is that of the log as a whole.
func (r *running) follow(list []begun, now moment) error {
	for _, b := range list {
		switch {
		case b.begins():
			delete(r.held, b.item.EffectID)
			r.send(b.item, now)
		case b.err == nil:
			delete(r.held, b.item.EffectID)
		default:
			if err := r.hold(b, now); err != nil {
				return err
			}
		}
	}
	for id, h := range r.held { // what was cancelled meanwhile
		if now.tick.Sub(h.until) > time.Minute {
			delete(r.held, id)
		}
	}
	return nil
}

// hold lets an item that would not begin wait for a while, or gives it up.
func (r *running) hold(b begun, now moment) error {
	h := r.held[b.item.EffectID]
	if h == nil {
		h = &held{}
		r.held[b.item.EffectID] = h
	}
	h.fails++
	r.opts.Logger.Warn("work would not begin", "effect", b.item.EffectID, "kind", b.item.Kind, "time", h.fails, "err", b.err)
	if h.fails < begins && !b.fatal {
		h.until = now.tick.Add(queue.Backoff(h.fails, 0, 0))
		r.retryAt = now.tick // what is behind it may begin in its place
		return nil
	}
	if err := r.bury(r.base, b.item, b.err, now.clock); err != nil {
		return err
	}
	r.failed.Add(1)
	delete(r.held, b.item.EffectID)
	return nil
}

// bury gives up an item that cannot be handled.
func (w *Worker) bury(ctx context.Context, item work.Item, why error, now time.Time) error {
	if refuser, ok := w.handlers[item.Kind].(Refuser); ok {
		err := w.giveUp(ctx, item, func(tx eventstore.Tx, is work.Item) ([]eventstore.StreamAppend, error) {
			return w.refuse(refuser, tx, is, why, now)
		})
		if err == nil || w.opts.Log.Fatal(err) || ctx.Err() != nil {
			return err
		}
		w.opts.Logger.Error("a handler does not end what is given up", "effect", item.EffectID, "kind", item.Kind, "err", err)
	}
	text := queue.Tidy(why.Error())
	return w.giveUp(ctx, item, func(_ eventstore.Tx, is work.Item) ([]eventstore.StreamAppend, error) {
		return appendOf(&is, coordination.TypeWorkDead, coordination.WorkAttempt{Attempt: is.Attempt, Error: text}, now)
	})
}

// giveUp appends what ends an item, unless it is over or given up by now.
func (w *Worker) giveUp(ctx context.Context, item work.Item, how func(eventstore.Tx, work.Item) ([]eventstore.StreamAppend, error)) error {
	_, err := w.opts.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		is, found, err := work.Load(tx, item.EffectID)
		if err != nil || !found || is.State == work.Dead {
			return nil, err
		}
		return how(tx, is)
	})
	return err
}

// refuse asks the handler to end an item, and checks that it does.
func (w *Worker) refuse(h Refuser, tx eventstore.Tx, item work.Item, why error, now time.Time) (appends []eventstore.StreamAppend, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.opts.Logger.Error("a handler panicked over what is given up", "effect", item.EffectID, "kind", item.Kind, "panic", p, "stack", string(debug.Stack()))
			appends, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	if appends, err = h.Refused(tx, item, why, now); err != nil {
		return nil, err
	}
	if last := outcome(&item, appends); last.Step != queue.Remove && last.Step != queue.Park {
		return nil, errors.New("its handler did not end it")
	}
	return appends, nil
}

// refused reports whether an append failed for what was in it: to try it again would change nothing.
func (w *Worker) refused(err error) bool {
	var (
		conflict *eventstore.ConflictError
		invalid  *eventstore.InvalidError
		reuse    *eventstore.IDReuseError
		refused  *eventstore.RefusedError
	)
	return errors.As(err, &conflict) || errors.As(err, &invalid) || errors.As(err, &reuse) || errors.As(err, &refused) && !w.opts.Log.Fatal(err)
}

// appendOf is an event of an item, in its stream.
func appendOf(item *work.Item, typ string, data coordination.WorkAttempt, now time.Time) ([]eventstore.StreamAppend, error) {
	a, err := item.Append(typ, data, now)
	return []eventstore.StreamAppend{a}, err
}
