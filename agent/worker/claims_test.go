package worker_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// turns is a log that decides in the order that a test wants.
type turns struct {
	*log
	mu    sync.Mutex
	taken bool         // by the test
	calls []chan error // of Decide, since then
}

func (l *turns) Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error) {
	l.mu.Lock()
	if !l.taken {
		l.mu.Unlock()
		return l.log.Decide(ctx, decide)
	}
	turn := make(chan error)
	l.calls = append(l.calls, turn)
	l.mu.Unlock()
	if err := <-turn; err != nil {
		return eventstore.Result{}, err
	}
	return l.log.Decide(ctx, decide)
}

// take has all decisions wait for their turns.
func (l *turns) take() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken = true
}

// give lets the nth decision since take be made, or fail.
func (l *turns) give(t *testing.T, n int, err error) {
	t.Helper()
	l.mu.Lock()
	if n >= len(l.calls) {
		l.mu.Unlock()
		t.Fatalf("decision %d of %d", n, len(l.calls))
	}
	turn := l.calls[n]
	l.calls[n] = nil
	l.mu.Unlock()
	turn <- err
	pass(10 * time.Millisecond)
}

// asked is how many decisions there were since take.
func (l *turns) asked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.calls)
}

// release makes all decisions that wait, and lets those to come be made at once.
func (l *turns) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken = false
	for _, turn := range l.calls {
		if turn != nil {
			close(turn)
		}
	}
	l.calls = nil
}

// doing is a handler whose items say that they end, and do, when a test says so.
type doing struct {
	handler
	l     *log
	mu    sync.Mutex
	under map[string]context.Context
	over  map[string]chan struct{}
	most  int
}

func newDoing(l *log) *doing {
	d := &doing{l: l, under: map[string]context.Context{}, over: map[string]chan struct{}{}}
	d.do = func(ctx context.Context, item workqueue.Item) error {
		over := make(chan struct{})
		d.mu.Lock()
		d.under[item.EffectID], d.over[item.EffectID] = ctx, over
		d.most = max(d.most, len(d.under))
		d.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
		}
		return nil
	}
	return d
}

// ending has an item say that it ends.
func (d *doing) ending(t *testing.T, id string) {
	t.Helper()
	d.mu.Lock()
	ctx := d.under[id]
	d.mu.Unlock()
	if ctx == nil {
		t.Fatalf("%s is not under way", id)
	}
	worker.AnnounceEnd(ctx)
	pass(10 * time.Millisecond)
}

// end ends an item, in the log and then for itself.
func (d *doing) end(t *testing.T, id string) {
	t.Helper()
	d.mu.Lock()
	over := d.over[id]
	delete(d.under, id)
	d.mu.Unlock()
	if _, err := d.l.Append(t.Context(), one(id, coordination.TypeWorkCompleted, "{}")...); err != nil {
		t.Fatal(err)
	}
	close(over)
	pass(10 * time.Millisecond)
}

// count is how many are under way, and were at most.
func (d *doing) count() (now, most int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.under), d.most
}

func slots(n int) func() map[string]int {
	return func() map[string]int { return map[string]int{"p": n} }
}

// Claims that are under way beside each other share the places of a pool, whichever of them the log hears first.
func TestClaimsBesideEachOtherShareThePool(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][]int{"in order": {0, 1}, "the other way round": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, l *log) {
				d, log := newDoing(l), &turns{log: l}
				h := l.start(t, worker.Options{Log: log, Pools: slots(2), Handlers: kinds(d)})
				l.ask(t, effect("x", "x"))
				pass(time.Second)
				log.take()
				l.ask(t, effect("a", "a"), effect("b", "b"), effect("c", "c"))
				pass(time.Second)
				d.ending(t, "x")
				d.end(t, "x")
				for _, n := range order {
					log.give(t, n, nil)
				}
				log.release()
				pass(time.Second)
				if now, most := d.count(); now != 2 || most != 2 {
					t.Errorf("%d are under way, up to %d at a time", now, most)
				}
				h.end(t)
			})
		})
	}
}

// What the log has refused as a whole is started one by one, and has its places meanwhile also before a claim beside it.
func TestItemsStartedOneByOneKeepOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		d, log := newDoing(l), &turns{log: l}
		var refuse atomic.Bool
		d.begin = func(item workqueue.Item, _ time.Time) ([]eventstore.StreamAppend, error) {
			if refuse.Swap(false) {
				return append(one(item.EffectID, coordination.TypeWorkLeased, "{}"), one("none", "not valid", "{")...), nil
			}
			return one(item.EffectID, coordination.TypeWorkLeased, "{}"), nil
		}
		h := l.start(t, worker.Options{Log: log, Pools: slots(3), Handlers: kinds(d)})
		l.ask(t, effect("x", "x"))
		pass(time.Second)
		log.take()
		refuse.Store(true)
		l.ask(t, effect("a", "a"), effect("b", "b"), effect("c", "c"), effect("d", "d"))
		pass(time.Second)
		d.ending(t, "x")
		d.end(t, "x")
		log.give(t, 0, nil) // refused
		log.give(t, 2, nil) // a
		log.give(t, 3, nil) // b
		if now, _ := d.count(); now != 2 {
			t.Errorf("%d are under way", now)
		}
		log.give(t, 1, nil)
		log.release()
		pass(time.Second)
		if now, most := d.count(); now != 3 || most != 3 {
			t.Errorf("%d are under way, up to %d at a time", now, most)
		}
		h.end(t)
	})
}

// What would not begin in a claim is not tried in the claim beside it; what is behind it begins in its place.
func TestFailedStartIsTriedOnce(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func() error{
		"an error": func() error { return errors.New("not now") },
		"a panic":  func() error { panic("on purpose") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, l *log) {
				d, log := newDoing(l), &turns{log: l}
				var tried atomic.Int64
				d.begin = func(item workqueue.Item, _ time.Time) ([]eventstore.StreamAppend, error) {
					if item.EffectID == "a" {
						tried.Add(1)
						return nil, begin()
					}
					return one(item.EffectID, coordination.TypeWorkLeased, "{}"), nil
				}
				h := l.start(t, worker.Options{Log: log, Pools: slots(2), Handlers: kinds(d)})
				l.ask(t, effect("x", "x"))
				pass(time.Second)
				log.take()
				l.ask(t, effect("a", "a"), effect("b", "b"))
				pass(10 * time.Millisecond)
				d.ending(t, "x")
				log.give(t, 0, nil)
				log.give(t, 1, nil)
				log.release()
				pass(100 * time.Millisecond)
				if n, failed := tried.Load(), h.Stats().Failed; n != 1 || failed > 1 {
					t.Errorf("tried %d times, %d failed", n, failed)
				}
				if now, _ := d.count(); now != 2 {
					t.Errorf("%d are under way", now)
				}
				h.end(t)
			})
		})
	}
}

// Who says that an item ends, and cannot end it for long, does not keep the log busy.
func TestEndingForLong(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		d, log := newDoing(l), &turns{log: l}
		h := l.start(t, worker.Options{Log: log, Pools: slots(2), Handlers: kinds(d)})
		l.ask(t, effect("x", "x"), effect("y", "y"), effect("z", "z"))
		pass(time.Second)
		log.take()
		d.ending(t, "x")
		d.ending(t, "y")
		claims := 0
		for ; claims < log.asked() && claims < 20; claims++ {
			log.give(t, claims, nil)
		}
		if claims > 4 {
			t.Errorf("%d claims", claims)
		}
		d.end(t, "x")
		d.end(t, "y")
		log.release()
		pass(time.Second)
		if now, _ := d.count(); now != 1 {
			t.Errorf("%d are under way", now)
		}
		h.end(t)
	})
}

// oddity is an error that can be told from others.
type oddity struct{ text [64]byte }

func (o *oddity) Error() string { return fmt.Sprintf("odd: %x", o.text[0]) }

// A claim that is over is forgotten, also if there was another beside it, and another beside that, at all times.
func TestClaimsAreForgotten(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		d, log := newDoing(l), &turns{log: l}
		var held atomic.Value // a weak pointer to what the first claim knows
		odd := func() *oddity { return held.Load().(weak.Pointer[oddity]).Value() }
		d.begin = func(item workqueue.Item, _ time.Time) ([]eventstore.StreamAppend, error) {
			if item.EffectID != "a" {
				return one(item.EffectID, coordination.TypeWorkLeased, "{}"), nil
			}
			err := &oddity{}
			held.Store(weak.Make(err))
			return nil, err
		}
		h := l.start(t, worker.Options{Log: log, Pools: slots(3), Handlers: kinds(d)})
		l.ask(t, effect("x", "x"), effect("y", "y"))
		pass(time.Second)
		log.take()
		l.ask(t, effect("a", "a"))
		pass(10 * time.Millisecond)
		d.ending(t, "x")
		log.give(t, 0, nil)
		if runtime.GC(); odd() == nil {
			t.Error("the claim beside it does not know what would not begin")
		}
		d.ending(t, "y")
		log.give(t, 1, nil)
		if n := log.asked(); n != 3 {
			t.Errorf("%d claims", n)
		}
		if runtime.GC(); odd() != nil {
			t.Error("the first of three claims is still there")
		}
		log.release()
		h.end(t)
	})
}

// What was started when it was too late is told to end, also if the log did not take all of it.
func TestStartAfterLeaseExpired(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		d, log := newDoing(l), &turns{log: l}
		var refuse atomic.Bool
		refuse.Store(true)
		d.begin = func(item workqueue.Item, _ time.Time) ([]eventstore.StreamAppend, error) {
			if refuse.Swap(false) {
				return append(one(item.EffectID, coordination.TypeWorkLeased, "{}"), one("none", "not valid", "{")...), nil
			}
			return one(item.EffectID, coordination.TypeWorkLeased, "{}"), nil
		}
		log.take()
		h := l.start(t, worker.Options{Log: log, Handlers: kinds(d)})
		l.ask(t, effect("a", "a"), effect("b", "b"))
		pass(10 * time.Millisecond)
		h.stop()
		pass(10 * time.Millisecond)
		log.give(t, 0, nil) // refused
		log.give(t, 1, nil) // a
		log.give(t, 2, errors.New("the disk is full"))
		log.release()
		pass(100 * time.Millisecond)
		if n := h.logged.count("abandoned"); n != 0 || len(h.stopped) != 1 {
			t.Errorf("it goes on, %d were left behind", n)
		}
		if err := <-h.stopped; err != nil {
			t.Error(err)
		}
	})
}
