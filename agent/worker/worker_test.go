package worker_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// crowd is how many items wait in tests that want many.
var crowd = testscale.Of(200, 10_000)

// What has one key is done one after the other, in order; another key goes on meanwhile.
func TestKeysAreDoneInOrderAndBesideEachOther(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		var mu sync.Mutex
		var did []string
		note := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			did = append(did, what)
		}
		h := l.start(t, worker.Options{Handlers: task(worker.Policy{}, func(_ context.Context, item workqueue.Item) error {
			note("+" + item.EffectID)
			pass(time.Second)
			note("-" + item.EffectID)
			return nil
		})})
		l.ask(t, effect("a1", "a"), effect("a2", "a"), effect("b1", "b"), effect("a3", "a"))
		pass(time.Minute)
		synctest.Wait()
		h.end(t)
		of := func(key string) (list []string) {
			for _, d := range did {
				if d[1:2] == key {
					list = append(list, d)
				}
			}
			return list
		}
		if got, want := of("a"), []string{"+a1", "-a1", "+a2", "-a2", "+a3", "-a3"}; !slices.Equal(got, want) {
			t.Errorf("key a: %v, want %v", got, want)
		}
		if i := slices.Index(did, "+b1"); i < 0 || i > 1 {
			t.Errorf("b1 did not begin beside a1: %v", did)
		}
		if s := h.Stats(); s.Claims != 4 || s.Done != 4 || s.Failed != 0 || s.Pools["p"] != (worker.Pool{Capacity: 2}) {
			t.Errorf("stats: %+v", s)
		}
	})
}

// However much of whatever is asked for, no pool has more under way than it may, each key is done in order, and all is done.
func TestPoolsAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		sizes := map[string]int{"p": rapid.IntRange(1, 4).Draw(rt, "p"), "q": rapid.IntRange(1, 2).Draw(rt, "q")}
		var rounds [][]coordination.WorkScheduled
		var takes []time.Duration
		order := map[string][]string{}
		for range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			var round []coordination.WorkScheduled
			for range rapid.IntRange(1, 12).Draw(rt, "items") {
				w := effect(fmt.Sprint(len(takes)), rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(rt, "key"))
				w.Pool, w.Owner = rapid.SampledFrom([]string{"p", "q"}).Draw(rt, "pool"), rapid.SampledFrom([]string{"", "x"}).Draw(rt, "owner")
				takes = append(takes, time.Duration(rapid.IntRange(0, 5).Draw(rt, "takes"))*time.Second)
				order[w.Key] = append(order[w.Key], w.EffectID)
				round = append(round, w)
			}
			rounds = append(rounds, round)
		}
		path := emptyAt(t, dir)
		synctest.Test(t, func(t *testing.T) {
			l := openAt(t, path)
			defer l.close(t)
			var mu sync.Mutex
			now, most, did := map[string]int{}, map[string]int{}, map[string][]string{}
			h := l.start(t, worker.Options{Pools: func() map[string]int { return sizes },
				Handlers: task(worker.Policy{}, func(_ context.Context, item workqueue.Item) error {
					mu.Lock()
					now[item.Pool]++
					most[item.Pool] = max(most[item.Pool], now[item.Pool])
					did[item.Key] = append(did[item.Key], item.EffectID)
					mu.Unlock()
					var n int
					if _, err := fmt.Sscan(item.EffectID, &n); err != nil {
						return err
					}
					pass(takes[n])
					mu.Lock()
					now[item.Pool]--
					mu.Unlock()
					return nil
				})})
			for _, round := range rounds {
				l.ask(t, round...)
				pass(3 * time.Second)
			}
			pass(time.Hour)
			synctest.Wait()
			h.end(t)
			for pool, n := range most {
				if n > sizes[pool] {
					t.Errorf("%d at a time in pool %s of %d", n, pool, sizes[pool])
				}
			}
			for key, want := range order {
				if !slices.Equal(did[key], want) {
					t.Errorf("key %s: %v, want %v", key, did[key], want)
				}
			}
			if left := l.list(t, workqueue.Query{}); left != nil {
				t.Errorf("left: %v", left)
			}
		})
	})
}

// An agent with one thing to do does not wait for another one's thousand.
//
// Promise: order
func TestOwnersTakeTurns(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		var mu sync.Mutex
		began := map[string]time.Time{}
		h := l.start(t, worker.Options{Handlers: task(worker.Policy{}, func(_ context.Context, item workqueue.Item) error {
			mu.Lock()
			began[item.EffectID] = time.Now()
			mu.Unlock()
			pass(time.Second)
			return nil
		})})
		var many []coordination.WorkScheduled
		for i := range crowd / 10 {
			many = append(many, effect(fmt.Sprint("a", i), fmt.Sprint("a", i)))
		}
		l.ask(t, many...)
		pass(1500 * time.Millisecond)
		b := effect("b", "b")
		b.Owner = "seum"
		l.ask(t, b)
		asked := time.Now()
		pass(time.Second)
		synctest.Wait()
		h.end(t)
		if at := began["b"]; at.IsZero() || at.Sub(asked) > 510*time.Millisecond {
			t.Errorf("b began at %s, asked for at %s", at, asked)
		}
	})
}

// What is due later begins then, and not before; its key waits for it, another does not.
func TestDueTimes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		var mu sync.Mutex
		began := map[string]time.Duration{}
		start := time.Now()
		h := l.start(t, worker.Options{Handlers: task(worker.Policy{}, func(_ context.Context, item workqueue.Item) error {
			mu.Lock()
			defer mu.Unlock()
			began[item.EffectID] = time.Since(start).Truncate(time.Second)
			return nil
		})})
		later := effect("a1", "a")
		later.DueAtMs = start.Add(3 * time.Hour).UnixMilli()
		soon := effect("b1", "b")
		soon.DueAtMs = start.Add(time.Minute).UnixMilli()
		l.ask(t, later, effect("a2", "a"), soon, effect("c1", "c"))
		pass(4 * time.Hour)
		synctest.Wait()
		h.end(t)
		want := map[string]time.Duration{"a1": 3 * time.Hour, "a2": 3 * time.Hour, "b1": time.Minute, "c1": 0}
		if fmt.Sprint(began) != fmt.Sprint(want) {
			t.Errorf("began %v, want %v", began, want)
		}
	})
}

// What waits costs no goroutine, and what is found in the queue is done as it was asked for.
func TestQueuedItemsNeedNoGoroutines(t *testing.T) {
	path := emptyAt(t, t.TempDir())
	l := openAt(t, path)
	defer l.close(t)
	var many []coordination.WorkScheduled
	for i := range crowd {
		w := effect(fmt.Sprint(i), fmt.Sprint(i%1000))
		if w.DueAtMs = 0; i%2 == 1 {
			w.DueAtMs = time.Now().Add(time.Hour).UnixMilli()
		}
		many = append(many, w)
	}
	for chunk := range slices.Chunk(many, 200) {
		l.ask(t, chunk...)
	}
	began, goOn := make(chan string), make(chan struct{})
	before := runtime.NumGoroutine()
	h := l.start(t, worker.Options{Handlers: task(worker.Policy{}, func(_ context.Context, item workqueue.Item) error {
		began <- item.EffectID
		<-goOn
		return nil
	})})
	first := []string{<-began, <-began}
	if more := runtime.NumGoroutine() - before; more > 30 {
		t.Errorf("%d more goroutines for %d that wait", more, crowd)
	}
	if s := h.Stats().Pools["p"]; s.Waiting != crowd-2 || s.Leased != 2 {
		t.Errorf("stats: %+v", s)
	}
	slices.Sort(first)
	if !slices.Equal(first, []string{"0", "2"}) {
		t.Errorf("first of all came %v", first)
	}
	h.stop()
	close(goOn)
	h.end(t)
}

// Folding the log again does nothing outside.
func TestRebuildStartsNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		n := 0
		h := l.start(t, worker.Options{Handlers: task(worker.Policy{}, func(context.Context, workqueue.Item) error {
			n++
			return nil
		})})
		for i := range 5 {
			l.ask(t, effect(fmt.Sprint(i), "a"))
		}
		pass(time.Second)
		for _, live := range []bool{true, false} {
			if err := l.engine.Rebuild(t.Context(), projections.RebuildOptions{Live: live}); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Minute)
		synctest.Wait()
		h.end(t)
		if n != 5 {
			t.Errorf("%d things done, 5 asked for", n)
		}
	})
}

// What no one here can do waits, and is told once.
func TestUnknownKindsWait(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		h := l.start(t, worker.Options{Handlers: task(worker.Policy{}, func(context.Context, workqueue.Item) error { return nil })})
		for i := range 5 {
			w := effect(fmt.Sprint("strange", i), fmt.Sprint(i))
			w.Kind = "strange"
			l.ask(t, w, effect(fmt.Sprint("known", i), fmt.Sprint("k", i)))
			pass(time.Second)
		}
		synctest.Wait()
		s := h.Stats()
		h.end(t)
		if got := l.list(t, workqueue.Query{}); len(got) != 5 {
			t.Errorf("left: %v", got)
		}
		if !slices.Equal(s.Unknown, []string{"strange"}) || s.Done != 5 || s.Pools["p"].Waiting != 5 || s.Pools["p"].OldestMs < 4000 {
			t.Errorf("stats: %+v", s)
		}
		if n := h.logged.count("strange"); n != 1 {
			t.Errorf("told %d times", n)
		}
	})
}

// When told to end, a worker begins nothing more, lets be done what is under way, and returns.
func TestDrain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		h := l.start(t, worker.Options{Drain: time.Minute, Handlers: task(worker.Policy{}, func(ctx context.Context, _ workqueue.Item) error {
			pass(10 * time.Second)
			return ctx.Err()
		})})
		l.ask(t, effect("a1", "a"), effect("a2", "a"))
		pass(time.Second)
		told := time.Now()
		h.end(t)
		if took := time.Since(told); took < 9*time.Second || took > 10*time.Second {
			t.Errorf("it took %s", took)
		}
		if got := l.list(t, workqueue.Query{}); !slices.Equal(got, []string{"a2"}) {
			t.Errorf("left: %v", got)
		}
	})
}

// What does not end while the worker drains has its context ended, and is given back.
func TestDrainEndsRunningItems(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		var cause error
		h := l.start(t, worker.Options{Drain: time.Minute, Handlers: task(worker.Policy{}, func(ctx context.Context, _ workqueue.Item) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return cause
		})})
		l.ask(t, effect("a1", "a"))
		pass(time.Second)
		told := time.Now()
		h.end(t)
		if took := time.Since(told); took != time.Minute || cause != worker.ErrDrained {
			t.Errorf("it took %s, for %v", took, cause)
		}
		if got, want := l.history(t, "a1"), []string{"scheduled", "leased", "lease_expired restart"}; !slices.Equal(got, want) {
			t.Errorf("history: %v, want %v", got, want)
		}
	})
}

// A clock that stands still holds up neither the drain, nor the end of a lease, nor another try after trouble with the log.
func TestStoppedClock(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		frozen := time.Now()
		full := &fullLog{Log: l}
		var causes sync.Map
		causeOf := func(id string) any {
			synctest.Wait()
			cause, _ := causes.Load(id)
			return cause
		}
		h := l.start(t, worker.Options{Log: full, Drain: time.Minute, Now: func() time.Time { return frozen },
			Handlers: task(worker.Policy{Timeout: time.Hour, MaxAttempts: 1}, func(ctx context.Context, item workqueue.Item) error {
				<-ctx.Done()
				causes.Store(item.EffectID, context.Cause(ctx))
				return ctx.Err()
			})})
		full.set(true)
		l.ask(t, effect("a1", "a"))
		pass(time.Minute)
		full.set(false)
		pass(59 * time.Minute)
		if cause := causeOf("a1"); cause != nil {
			t.Errorf("it has ended early, for %v", cause)
		}
		pass(2 * time.Minute)
		l.ask(t, effect("b1", "b"))
		pass(time.Second)
		told := time.Now()
		h.end(t)
		if took := time.Since(told); took != time.Minute || causeOf("a1") != worker.ErrLease || causeOf("b1") != worker.ErrDrained {
			t.Errorf("it took %s, for %v and %v", took, causeOf("a1"), causeOf("b1"))
		}
	})
}

// What was under way when the process ended is lost exactly once, before anything is started, and done again under the same id.
func TestRestart(t *testing.T) {
	t.Parallel()
	path := emptyAt(t, t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		l := openAt(t, path)
		h := l.start(t, worker.Options{Handlers: task(worker.Policy{}, func(context.Context, workqueue.Item) error {
			<-free // it ignores its context
			return nil
		})})
		l.ask(t, effect("a1", "a"), effect("a2", "a"), effect("b1", "b"))
		pass(time.Second)
		h.end(t)
		if n := h.logged.count("abandoned"); n != 2 {
			t.Errorf("%d left behind", n)
		}
		l.close(t)
		close(free)
		for range 2 {
			l = openAt(t, path)
			var order []string
			h = l.start(t, worker.Options{Handlers: task(worker.Policy{}, func(_ context.Context, item workqueue.Item) error {
				order = append(order, fmt.Sprint(item.EffectID, " ", item.Attempt))
				return nil
			}), Pools: func() map[string]int { return map[string]int{"p": 1} }})
			pass(time.Second)
			h.end(t)
			if len(order) > 0 && !slices.Equal(order, []string{"a1 2", "a2 1", "b1 2"}) && !slices.Equal(order, []string{"a1 2", "b1 2", "a2 1"}) {
				t.Errorf("done: %v", order)
			}
			if got, want := l.history(t, "a1"), []string{"scheduled", "leased", "lease_expired restart", "leased", "completed"}; !slices.Equal(got, want) {
				t.Errorf("history: %v, want %v", got, want)
			}
			if got := l.list(t, workqueue.Query{}); got != nil {
				t.Errorf("left: %v", got)
			}
			l.close(t)
		}
	})
}

// A log that takes nothing for a while is left in peace, and then all goes on.
func TestTroubleWithTheLog(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		full := &fullLog{Log: l}
		var done atomic.Int64
		h := l.start(t, worker.Options{Log: full, Handlers: task(worker.Policy{}, func(context.Context, workqueue.Item) error {
			full.set(done.Add(1) == 1) // what comes of the first cannot be written
			return nil
		})})
		full.set(true)
		l.ask(t, effect("a1", "a"), effect("a2", "a"))
		pass(time.Minute)
		if n := full.tries(); n < 2 || n > 30 || done.Load() > 0 {
			t.Errorf("%d tries in a minute, %d done", n, done.Load())
		}
		full.set(false)
		pass(10 * time.Second)
		if n := done.Load(); n != 1 {
			t.Fatalf("%d done", n)
		}
		full.set(false)
		pass(time.Minute)
		h.end(t)
		if got, want := l.history(t, "a1"), []string{"scheduled", "leased", "completed"}; !slices.Equal(got, want) || done.Load() != 2 {
			t.Errorf("%d done, history: %v, want %v", done.Load(), got, want)
		}
	})
}

// fullLog is a log whose disk is full from time to time.
type fullLog struct {
	worker.Log
	mu    sync.Mutex
	full  bool
	tried int
}

func (f *fullLog) set(full bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.full, f.tried = full, 0
}

func (f *fullLog) tries() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tried
}

func (f *fullLog) Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error) {
	f.mu.Lock()
	f.tried++
	full := f.full
	f.mu.Unlock()
	if full {
		return eventstore.Result{}, &eventstore.DiskFullError{Path: "log.db"}
	}
	return f.Log.Decide(ctx, decide)
}

// A log that is closed ends Run.
func TestAClosedLogEndsRun(t *testing.T) {
	t.Parallel()
	path := emptyAt(t, t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l := openAt(t, path)
		h := l.start(t, worker.Options{Handlers: task(worker.Policy{}, func(context.Context, workqueue.Item) error { return nil })})
		synctest.Wait()
		l.close(t)
		if err := <-h.stopped; err != eventstore.ErrClosed {
			t.Errorf("Run: %v", err)
		}
	})
}
