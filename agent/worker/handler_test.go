package worker_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// slow is an error that says when to come back.
type slow struct{ after time.Duration }

func (s slow) Error() string             { return "come back later" }
func (s slow) RetryAfter() time.Duration { return s.after }

// What a task comes to is what its attempts say, in those events.
func TestTasks(t *testing.T) {
	t.Parallel()
	token := "ghp_" + strings.Repeat("a1B2", 9)
	for name, c := range map[string]struct {
		policy worker.Policy
		most   int
		do     func(ctx context.Context, item workqueue.Item) (json.RawMessage, error)
		want   []string
	}{
		"done": {do: func(context.Context, workqueue.Item) (json.RawMessage, error) {
			return json.RawMessage(`{"id":1}`), nil
		},
			want: []string{"scheduled", "leased", "completed"}},
		"a result that is none": {do: func(context.Context, workqueue.Item) (json.RawMessage, error) { return json.RawMessage(`[]`), nil },
			want: []string{"scheduled", "leased", "completed its result was not kept: it is no JSON object, or larger than 64 KiB"}},
		"the third time": {do: func(_ context.Context, item workqueue.Item) (json.RawMessage, error) {
			if item.Attempt < 3 {
				return nil, fmt.Errorf("no %d", item.Attempt)
			}
			return nil, nil
		}, want: []string{"scheduled", "leased", "released no 1 in 1s", "leased", "released no 2 in 2s", "leased", "completed"}},
		"never": {policy: worker.Policy{MaxAttempts: 2}, do: func(context.Context, workqueue.Item) (json.RawMessage, error) {
			return nil, errors.New("401 for " + token)
		}, want: []string{"scheduled", "leased", "released 401 for [MASKED] in 1s", "leased", "dead 401 for [MASKED]"}},
		"the item's own limit": {most: 1, do: func(context.Context, workqueue.Item) (json.RawMessage, error) { return nil, errors.New("no") },
			want: []string{"scheduled", "leased", "dead no"}},
		"for good": {do: func(context.Context, workqueue.Item) (json.RawMessage, error) {
			return nil, fmt.Errorf("post: %w", worker.Permanent(errors.New("gone")))
		}, want: []string{"scheduled", "leased", "dead post: gone"}},
		"a hint": {most: 2, do: func(context.Context, workqueue.Item) (json.RawMessage, error) {
			return nil, fmt.Errorf("post: %w", slow{time.Minute})
		},
			want: []string{"scheduled", "leased", "released post: come back later in 1m0s", "leased", "dead post: come back later"}},
		"too slow": {policy: worker.Policy{Timeout: time.Minute, MaxAttempts: 1}, do: func(ctx context.Context, _ workqueue.Item) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}, want: []string{"scheduled", "leased", "dead it took longer than 1m0s: " + worker.ErrLease.Error()}},
		"panics": {most: 2, do: func(context.Context, workqueue.Item) (json.RawMessage, error) { panic("on purpose") },
			want: []string{"scheduled", "leased", "lease_expired lease in 1s", "leased", "dead lease the last attempt was broken off: lease"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, l *log) {
				h := l.start(t, worker.Options{Handlers: kinds(worker.Task(c.policy,
					func(ctx context.Context, item workqueue.Item, what *coordination.WorkScheduled) (json.RawMessage, error) {
						if what.EffectID != item.EffectID || string(what.Payload) != `{"to":"x"}` {
							t.Errorf("it was told %+v of %+v", what, item)
						}
						return c.do(ctx, item)
					}))})
				w := effect("e", "a")
				w.MaxAttempts, w.Payload = c.most, json.RawMessage(`{"to":"x"}`)
				l.ask(t, w)
				pass(time.Hour)
				synctest.Wait()
				h.end(t)
				if got := l.history(t, "e"); !slices.Equal(maskless(got), maskless(c.want)) {
					t.Errorf("history:\n%q, want\n%q", got, c.want)
				}
				for _, line := range l.history(t, "e") {
					if strings.Contains(line, token) {
						t.Errorf("a secret is in the log: %s", line)
					}
				}
			})
		})
	}
}

// maskless leaves out what a mask may look like.
func maskless(lines []string) (out []string) {
	for _, line := range lines {
		words := strings.Fields(line)
		out = append(out, strings.Join(slices.DeleteFunc(words, func(w string) bool { return strings.ContainsAny(w, "*[]_…") && w != "lease_expired" }), " "))
	}
	return out
}

// What does not end although its lease is over is taken away after a while, the queue goes on, and it comes too late when it comes.
func TestALeaseEnds(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		free := make(chan struct{})
		h := l.start(t, worker.Options{Grace: 10 * time.Second, Handlers: task(worker.Policy{Timeout: time.Minute}, func(_ context.Context, item workqueue.Item) error {
			if item.EffectID == "a1" && item.Attempt == 1 {
				<-free
			}
			return nil
		})})
		l.ask(t, effect("a1", "a"), effect("a2", "a"))
		pass(69 * time.Second)
		synctest.Wait()
		if s := h.Stats(); s.Stuck != 0 || s.Pools["p"].Leased != 1 {
			t.Errorf("within the grace: %+v", s)
		}
		pass(time.Minute)
		synctest.Wait()
		if s := h.Stats(); s.Stuck != 1 || s.Pools["p"].Leased != 0 || h.logged.count("still running") != 1 {
			t.Errorf("after the grace: %+v", s)
		}
		want := []string{"scheduled", "leased", "lease_expired lease in 1s", "leased", "completed"}
		if got := l.history(t, "a1"); !slices.Equal(got, want) {
			t.Errorf("history: %v, want %v", got, want)
		}
		if got := l.list(t, workqueue.Query{}); got != nil {
			t.Errorf("left: %v", got)
		}
		close(free)
		pass(time.Second)
		synctest.Wait()
		if s := h.Stats(); s.Stuck != 0 {
			t.Errorf("after all: %+v", s)
		}
		h.end(t)
		if got := l.history(t, "a1"); !slices.Equal(got, want) {
			t.Errorf("history after all: %v, want %v", got, want)
		}
	})
}

// An item that cannot begin harms no one else, whether its handler says so, panics, or says what cannot be stored; it is given up.
func TestPoison(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begin func(item workqueue.Item) ([]eventstore.StreamAppend, error)
		tries int
	}{
		"an error": {func(workqueue.Item) ([]eventstore.StreamAppend, error) { return nil, errors.New("no") }, 3},
		"nothing":  {func(workqueue.Item) ([]eventstore.StreamAppend, error) { return nil, nil }, 3},
		"a panic":  {func(workqueue.Item) ([]eventstore.StreamAppend, error) { panic("on purpose") }, 1},
		"no lease": {func(i workqueue.Item) ([]eventstore.StreamAppend, error) {
			return one(i.EffectID, "some.thing", "{}"), nil
		}, 3},
		"put off until now": {func(i workqueue.Item) ([]eventstore.StreamAppend, error) {
			return one(i.EffectID, coordination.TypeWorkReleased, fmt.Sprintf(`{"dueAtMs":%d}`, time.Now().UnixMilli())), nil
		}, 3},
		"put off, not said until when": {func(i workqueue.Item) ([]eventstore.StreamAppend, error) {
			return one(i.EffectID, coordination.TypeWorkReleased, "{}"), nil
		}, 3},
		"no JSON": {func(i workqueue.Item) ([]eventstore.StreamAppend, error) {
			return one(i.EffectID, coordination.TypeWorkLeased, "{"), nil
		}, 3},
		"a conflict": {func(i workqueue.Item) ([]eventstore.StreamAppend, error) {
			a := one(i.EffectID, coordination.TypeWorkLeased, "{}")
			a[0].Expect = eventstore.NoStream()
			return a, nil
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, l *log) {
				var h *hands
				tries := map[time.Time]bool{} // in one moment it is tried with others, then alone
				h = l.start(t, worker.Options{Handlers: kinds(&handler{
					begin: func(item workqueue.Item, now time.Time) ([]eventstore.StreamAppend, error) {
						if item.EffectID == "bad" {
							tries[now] = true
							return c.begin(item)
						}
						return one(item.EffectID, coordination.TypeWorkLeased, "{}"), nil
					},
					do: func(ctx context.Context, item workqueue.Item) error {
						_, err := l.Append(context.WithoutCancel(ctx), one(item.EffectID, coordination.TypeWorkCompleted, "{}")...)
						return err
					},
				}), Pools: func() map[string]int { return map[string]int{"p": 10} }})
				l.ask(t, effect("good1", "a"), effect("bad", "b"), effect("behind", "b"), effect("good2", "c"))
				pass(100 * time.Millisecond)
				synctest.Wait()
				for _, id := range []string{"good1", "good2"} {
					if got := l.history(t, id); !slices.Equal(got, []string{"scheduled", "leased", "completed"}) {
						t.Errorf("history of %s: %v", id, got)
					}
				}
				pass(time.Minute)
				synctest.Wait()
				s := h.Stats()
				h.end(t)
				if got := l.history(t, "bad"); len(got) != 2 || !strings.HasPrefix(got[1], "dead ") {
					t.Errorf("history of the bad one: %v", got)
				}
				if got := l.history(t, "behind"); !slices.Equal(got, []string{"scheduled", "leased", "completed"}) {
					t.Errorf("history of the one behind it: %v", got)
				}
				if len(tries) != c.tries || s.Pools["p"].Dead != 1 || s.Failed != 1 || s.Done != 3 {
					t.Errorf("%d tries, stats: %+v", len(tries), s)
				}
			})
		})
	}
}

// What comes back late neither ends nor loses the attempt that was started meanwhile.
func TestALateAttemptChangesNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		free := make(chan struct{})
		h := l.start(t, worker.Options{Grace: time.Second, Handlers: task(worker.Policy{Timeout: time.Minute}, func(_ context.Context, item workqueue.Item) error {
			if item.Attempt == 1 {
				<-free
				return errors.New("too late")
			}
			pass(50 * time.Second)
			return nil
		})})
		l.ask(t, effect("e", "a"))
		pass(80 * time.Second)
		close(free)
		pass(time.Second)
		synctest.Wait()
		if got, want := l.history(t, "e"), []string{"scheduled", "leased", "lease_expired lease in 1s", "leased"}; !slices.Equal(got, want) {
			t.Errorf("history: %v, want %v", got, want)
		}
		pass(time.Minute)
		h.end(t)
		if got, want := l.history(t, "e"), []string{"scheduled", "leased", "lease_expired lease in 1s", "leased", "completed"}; !slices.Equal(got, want) {
			t.Errorf("history after all: %v, want %v", got, want)
		}
	})
}

// What is sent again counts its attempts again. An attempt that has given it up, and has not returned yet, takes nothing away from the new one, which
// begins when it has.
func TestSentAgainBeforeItHasLanded(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		free := make(chan struct{})
		var now, most, times atomic.Int64
		own := &handler{do: func(ctx context.Context, item workqueue.Item) error {
			if item.EffectID == "e" {
				defer now.Add(-1)
				most.Store(max(most.Load(), now.Add(1)))
			}
			if times.Add(1) > 1 {
				pass(time.Second)
				_, err := l.Append(ctx, one(item.EffectID, coordination.TypeWorkCompleted, "{}")...)
				return err
			}
			_, err := l.Append(ctx, one(item.EffectID, coordination.TypeWorkDead, "{}")...)
			<-free
			return err
		}}
		h := l.start(t, worker.Options{Handlers: kinds(own)})
		l.ask(t, effect("e", "a"))
		synctest.Wait()
		if err := h.Resend(t.Context(), "e", "cli"); err != nil {
			t.Fatal(err)
		}
		l.ask(t, effect("other", "b"))
		synctest.Wait()
		close(free)
		pass(time.Minute)
		synctest.Wait()
		h.end(t)
		if got, want := l.history(t, "e"), []string{"scheduled", "leased", "dead", "resent cli", "leased", "completed"}; !slices.Equal(got, want) {
			t.Errorf("history: %v, want %v", got, want)
		}
		if got, want := l.history(t, "other"), []string{"scheduled", "leased", "completed"}; !slices.Equal(got, want) {
			t.Errorf("history of the other one: %v, want %v", got, want)
		}
		if most.Load() != 1 || times.Load() != 3 {
			t.Errorf("%d attempts, %d at a time at e; want 3, and one", times.Load(), most.Load())
		}
	})
}

// An attempt that was taken away, and comes back when its item was given up and sent again, is not taken for the one of now.
func TestLateAttemptDoesNotAffectResentItem(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		free := make(chan struct{})
		var times atomic.Int64
		policy := worker.Policy{Timeout: time.Minute, MaxAttempts: 1}
		h := l.start(t, worker.Options{Grace: time.Second, Handlers: task(policy, func(context.Context, workqueue.Item) error {
			if times.Add(1) == 1 {
				<-free
				return errors.New("too late")
			}
			pass(50 * time.Second)
			return nil
		})})
		l.ask(t, effect("e", "a"))
		pass(80 * time.Second)
		synctest.Wait()
		if err := h.Resend(t.Context(), "e", "cli"); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		synctest.Wait()
		close(free)
		pass(time.Minute)
		h.end(t)
		want := []string{"scheduled", "leased", "dead lease the last attempt was broken off: lease", "resent cli", "leased", "completed"}
		if got := l.history(t, "e"); !slices.Equal(got, want) {
			t.Errorf("history: %v, want %v", got, want)
		}
	})
}

// While items that would not begin are held back, what comes behind them begins, also where there is room for one only.
func TestDelayedItemsTakeNoSlot(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		h := l.start(t, worker.Options{Pools: func() map[string]int { return map[string]int{"p": 1} }, Handlers: kinds(&handler{
			begin: func(item workqueue.Item, _ time.Time) ([]eventstore.StreamAppend, error) {
				if strings.HasPrefix(item.EffectID, "bad") {
					return nil, errors.New("not yet")
				}
				return one(item.EffectID, coordination.TypeWorkCancelled, "{}"), nil
			}})})
		l.ask(t, effect("bad1", "a"), effect("bad2", "b"))
		pass(time.Millisecond)
		l.ask(t, effect("good", "c"))
		pass(time.Millisecond)
		synctest.Wait()
		if got := l.list(t, workqueue.Query{}); !slices.Equal(got, []string{"bad1", "bad2"}) {
			t.Errorf("left: %v", got)
		}
		h.end(t)
	})
}

// A Do that leaves its item as it was has lost it; a handler that will not take a lost one back has it given up.
func TestAbandonedItemsAreLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func() error
		lost func(item workqueue.Item, why string) ([]eventstore.StreamAppend, error)
		want string
	}{
		"left":        {func() error { return nil }, nil, "cancelled lease"},
		"failed":      {func() error { return errors.New("no") }, nil, "cancelled lease"},
		"panicked":    {func() error { panic("on purpose") }, nil, "cancelled lease"},
		"never back":  {func() error { return nil }, func(workqueue.Item, string) ([]eventstore.StreamAppend, error) { return nil, errors.New("no") }, "dead it could not be given back: no"},
		"lost panics": {func() error { return nil }, func(workqueue.Item, string) ([]eventstore.StreamAppend, error) { panic("on purpose") }, "dead it could not be given back: panic: on purpose"},
		"lost is nothing": {func() error { return nil }, func(workqueue.Item, string) ([]eventstore.StreamAppend, error) { return nil, nil },
			"dead it could not be given back: its handler neither ended it nor gave it back"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, l *log) {
				h := l.start(t, worker.Options{Handlers: kinds(&handler{do: func(context.Context, workqueue.Item) error { return c.do() }, lost: c.lost})})
				l.ask(t, effect("e", "a"))
				pass(time.Second)
				synctest.Wait()
				s := h.Stats()
				h.end(t)
				if got, want := l.history(t, "e"), []string{"scheduled", "leased", c.want}; !slices.Equal(got, want) {
					t.Errorf("history: %q, want %q", got, want)
				}
				if s.Failed != 1 || s.Done != 0 {
					t.Errorf("stats: %+v", s)
				}
			})
		})
	}
}

// A handler that wants to ends itself what is given up; where it cannot that is dead as ever.
func TestRefuserEndsWhatIsGivenUp(t *testing.T) {
	t.Parallel()
	fails := func() error { return errors.New("no") }
	for name, c := range map[string]struct {
		begin, lost func() error
		refused     func(item workqueue.Item) ([]eventstore.StreamAppend, error)
		want        []string
	}{
		"not started":  {begin: fails, want: []string{"scheduled", "cancelled no"}},
		"begin panics": {begin: func() error { panic("on purpose") }, want: []string{"scheduled", "cancelled panic: on purpose"}},
		"not lost":     {lost: fails, want: []string{"scheduled", "leased", "cancelled it could not be given back: no"}},
		"it fails":     {begin: fails, refused: func(workqueue.Item) ([]eventstore.StreamAppend, error) { return nil, fails() }, want: []string{"scheduled", "dead no"}},
		"it panics":    {begin: fails, refused: func(workqueue.Item) ([]eventstore.StreamAppend, error) { panic("on purpose") }, want: []string{"scheduled", "dead no"}},
		"it ends not":  {begin: fails, refused: func(workqueue.Item) ([]eventstore.StreamAppend, error) { return nil, nil }, want: []string{"scheduled", "dead no"}},
		"it is refused": {begin: fails, refused: func(i workqueue.Item) ([]eventstore.StreamAppend, error) {
			return one(i.EffectID, coordination.TypeWorkCancelled, "5"), nil
		}, want: []string{"scheduled", "dead no"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, l *log) {
				r := &refuser{refused: c.refused}
				r.do = func(context.Context, workqueue.Item) error { return nil }
				if c.begin != nil {
					r.begin = func(workqueue.Item, time.Time) ([]eventstore.StreamAppend, error) { return nil, c.begin() }
				}
				if c.lost != nil {
					r.lost = func(workqueue.Item, string) ([]eventstore.StreamAppend, error) { return nil, c.lost() }
				}
				h := l.start(t, worker.Options{Handlers: kinds(r)})
				l.ask(t, effect("e", "a"))
				pass(time.Minute)
				h.end(t)
				if diff := cmp.Diff(c.want, l.history(t, "e")); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

type refuser struct {
	handler
	refused func(workqueue.Item) ([]eventstore.StreamAppend, error)
}

func (r *refuser) Refused(_ eventstore.Tx, item workqueue.Item, err error, _ time.Time) ([]eventstore.StreamAppend, error) {
	if r.refused != nil {
		return r.refused(item)
	}
	return one(item.EffectID, coordination.TypeWorkCancelled, fmt.Sprintf(`{"error":%q}`, err)), nil
}

// A handler may end an item instead of beginning it.
func TestBeginMayEnd(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		h := l.start(t, worker.Options{Handlers: kinds(&handler{begin: func(item workqueue.Item, _ time.Time) ([]eventstore.StreamAppend, error) {
			return one(item.EffectID, coordination.TypeWorkCancelled, "{}"), nil
		}})})
		l.ask(t, effect("a1", "a"), effect("a2", "a"))
		pass(time.Second)
		h.end(t)
		if got := l.list(t, workqueue.Query{}); got != nil || h.Stats().Claims != 0 {
			t.Errorf("left: %v, %+v", got, h.Stats())
		}
	})
}

// A handler may put an item off instead of beginning it, as often as it wants to: that is no attempt and no failure.
func TestBeginMayPutOff(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		var times atomic.Int64
		h := l.start(t, worker.Options{Handlers: kinds(&handler{
			begin: func(item workqueue.Item, now time.Time) ([]eventstore.StreamAppend, error) {
				if times.Add(1) <= 5 {
					return one(item.EffectID, coordination.TypeWorkReleased, fmt.Sprintf(`{"dueAtMs":%d}`, now.Add(time.Minute).UnixMilli())), nil
				}
				return one(item.EffectID, coordination.TypeWorkLeased, "{}"), nil
			},
			do: func(ctx context.Context, item workqueue.Item) error {
				if item.Attempt != 1 {
					t.Errorf("attempt %d", item.Attempt)
				}
				_, err := l.Append(context.WithoutCancel(ctx), one(item.EffectID, coordination.TypeWorkCompleted, "{}")...)
				return err
			},
		})})
		l.ask(t, effect("a1", "a"))
		pass(time.Second)
		if got := l.list(t, workqueue.Query{State: workqueue.Waiting}); !slices.Equal(got, []string{"a1"}) || times.Load() != 1 {
			t.Errorf("%v waits after %d times", got, times.Load())
		}
		pass(10 * time.Minute)
		h.end(t)
		off := "released in 1m0s"
		if diff := cmp.Diff([]string{"scheduled", off, off, off, off, off, "leased", "completed"}, l.history(t, "a1")); diff != "" {
			t.Error(diff)
		}
		if s := h.Stats(); times.Load() != 6 || s.Failed != 0 || s.Done != 1 || s.Claims != 1 || h.logged.count("cannot start") != 0 {
			t.Errorf("%d times, %+v", times.Load(), s)
		}
	})
}

// What follows from ending an item, or putting it off, is seen when the next one is started: they are not started in one transaction.
func TestNextItemSeesEndOfPrevious(t *testing.T) {
	t.Parallel()
	for typ, want := range map[string][]int{coordination.TypeWorkCancelled: {4, 3, 2, 1}, coordination.TypeWorkReleased: {4, 3, 2, 1}, coordination.TypeWorkLeased: {4, 4, 4, 4}} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, l *log) {
				s := &seeing{typ: typ}
				s.do = func(context.Context, workqueue.Item) error { return nil }
				l.ask(t, effect("e1", "a"), effect("e2", "b"), effect("e3", "c"), effect("e4", "d"))
				h := l.start(t, worker.Options{Handlers: kinds(s), Pools: func() map[string]int { return map[string]int{"p": 10} }})
				pass(time.Second)
				h.end(t)
				if diff := cmp.Diff(want, s.ready); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// seeing is a handler that counts what is ready when it begins an item.
type seeing struct {
	handler
	typ   string
	ready []int
}

func (s *seeing) Begin(tx eventstore.Tx, item workqueue.Item, now time.Time) ([]eventstore.StreamAppend, error) {
	ready, err := workqueue.Ready(tx, item.Pool, now.UnixMilli(), 100)
	if err != nil {
		return nil, err
	}
	s.ready = append(s.ready, len(ready))
	return one(item.EffectID, s.typ, fmt.Sprintf(`{"dueAtMs":%d}`, now.Add(time.Hour).UnixMilli())), nil
}

// looking counts how often a worker looks for what is ready: once before each claim.
type looking struct {
	*log
	times atomic.Int64
}

func (l *looking) View(ctx context.Context, read func(*sql.Tx) error) error {
	l.times.Add(1)
	return l.log.View(ctx, read)
}

// Thousands may come due at once that end, or are put off, when they are started: many of them share a commit. Among them others begin, never
// more at a time than their pool allows, and what would not begin is not tried more often for that.
func TestManyEndAtOnce(t *testing.T) {
	t.Parallel()
	const items, slots = 300, 3
	inBubble(t, func(t *testing.T, l *log) {
		for n := 0; n < items; n += 100 {
			var some []coordination.WorkScheduled
			for i := n; i < n+100; i++ {
				some = append(some, effect(fmt.Sprint("e", i), fmt.Sprint("e", i)))
			}
			l.ask(t, some...)
		}
		var under, most, done, refused atomic.Int64
		counted := &looking{log: l}
		h := l.start(t, worker.Options{Log: counted, Pools: func() map[string]int { return map[string]int{"p": slots} }, Handlers: kinds(&handler{
			begin: func(item workqueue.Item, now time.Time) ([]eventstore.StreamAppend, error) {
				switch n, _ := strconv.Atoi(item.EffectID[1:]); {
				case item.EffectID == "e150":
					refused.Add(1)
					return nil, errors.New("not yet")
				case n%30 == 7:
					return one(item.EffectID, coordination.TypeWorkLeased, "{}"), nil
				case n%2 == 0:
					return one(item.EffectID, coordination.TypeWorkCancelled, "{}"), nil
				}
				return one(item.EffectID, coordination.TypeWorkReleased, fmt.Sprintf(`{"dueAtMs":%d}`, now.Add(time.Hour).UnixMilli())), nil
			},
			do: func(ctx context.Context, item workqueue.Item) error {
				for n := under.Add(1); n > most.Load(); {
					most.Store(n)
				}
				pass(10 * time.Millisecond)
				under.Add(-1)
				done.Add(1)
				_, err := l.Append(context.WithoutCancel(ctx), one(item.EffectID, coordination.TypeWorkCompleted, "{}")...)
				return err
			},
		})})
		pass(500 * time.Millisecond)
		if refused.Load() != 1 || done.Load() != items/30 || most.Load() > slots {
			t.Errorf("one would not begin %d times, %d were done, up to %d at a time", refused.Load(), done.Load(), most.Load())
		}
		if left := l.list(t, workqueue.Query{}); len(left) != 1+items/2-items/30 {
			t.Errorf("%d are left", len(left))
		}
		if n := counted.times.Load(); n > items/4 {
			t.Errorf("%d claims for %d items", n, items)
		}
		h.end(t)
	})
}

// What was given up is listed, sent again, or cancelled; anything else that is asked is refused and says why.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		var broken atomic.Bool
		broken.Store(true)
		h := l.start(t, worker.Options{Handlers: task(worker.Policy{MaxAttempts: 1}, func(ctx context.Context, item workqueue.Item) error {
			if item.EffectID == "slow" {
				<-ctx.Done()
			}
			if broken.Load() {
				return errors.New("no")
			}
			return nil
		}), Drain: time.Second})
		later := effect("later", "l")
		later.DueAtMs = time.Now().Add(time.Hour).UnixMilli()
		l.ask(t, effect("a1", "a"), effect("a2", "a"), effect("slow", "s"), later)
		pass(time.Second)
		if got := l.list(t, workqueue.Query{State: workqueue.Dead}); !slices.Equal(got, []string{"a1", "a2"}) {
			t.Errorf("dead: %v", got)
		}
		broken.Store(false)
		refused := func(err error, code string) {
			t.Helper()
			var refusal *work.Refusal
			if !errors.As(err, &refusal) || refusal.Code() != code || refusal.Hint() == "" {
				t.Errorf("%v, want %s", err, code)
			}
		}
		refused(h.Resend(t.Context(), "none", "cli"), work.CodeUnknown)
		refused(h.Resend(t.Context(), "later", "cli"), work.CodeNotDead)
		refused(h.Cancel(t.Context(), "slow", "cli"), work.CodeUnderWay)
		refused(h.Cancel(t.Context(), "none", "cli"), work.CodeUnknown)
		if err := errors.Join(h.Resend(t.Context(), "a1", "cli"), h.Cancel(t.Context(), "a2", "cli"), h.Cancel(t.Context(), "later", "cli")); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Hour)
		h.end(t)
		for id, want := range map[string][]string{
			"a1":    {"scheduled", "leased", "dead no", "resent cli", "leased", "completed"},
			"a2":    {"scheduled", "leased", "dead no", "cancelled cli"},
			"later": {"scheduled", "cancelled cli"},
		} {
			if diff := cmp.Diff(want, l.history(t, id)); diff != "" {
				t.Errorf("history of %s, -want +got:\n%s", id, diff)
			}
		}
		refused(h.Resend(t.Context(), "a1", "cli"), work.CodeUnknown)
		if _, err := l.Append(t.Context(), one("job/j", coordination.TypeA2AJobCreated, `{"jobId":"j","toAgent":"seum"}`)...); err != nil {
			t.Fatal(err)
		}
		refused(h.Cancel(t.Context(), "job/j", "cli"), work.CodeJob)
	})
}

// What can never be done is not asked for.
func TestScheduleRefuses(t *testing.T) {
	t.Parallel()
	w := effect("run/x", "a")
	var refusal *work.Refusal
	if _, err := worker.Schedule(w); !errors.As(err, &refusal) || refusal.Field != "effectId" {
		t.Errorf("%v", err)
	}
}
