package worker_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Who says that an item ends, and does not end it yet, keeps its place in the pool; the next one begins once the log says that it is over.
func TestEndingKeepsThePlace(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		var mu sync.Mutex
		var did []string
		note := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			did = append(did, what)
		}
		h := l.start(t, worker.Options{
			Pools: func() map[string]int { return map[string]int{"p": 1} },
			Handlers: task(worker.Policy{}, func(ctx context.Context, item workqueue.Item) error {
				note("+" + item.EffectID)
				worker.AnnounceEnd(ctx)
				worker.AnnounceEnd(ctx) // says nothing new
				pass(time.Second)
				note("-" + item.EffectID)
				return nil
			}),
		})
		l.ask(t, effect("1", "a"), effect("2", "b"), effect("3", "c"))
		pass(time.Minute)
		synctest.Wait()
		h.end(t)
		if want := []string{"+1", "-1", "+2", "-2", "+3", "-3"}; !slices.Equal(did, want) {
			t.Errorf("done: %v, want %v", did, want)
		}
		if s := h.Stats(); s.Claims != 3 || s.Done != 3 {
			t.Errorf("stats: %+v", s)
		}
	})
}

// AnnounceEnd outside of a Do is heard by no one.
func TestEndingOutsideOfADo(t *testing.T) {
	t.Parallel()
	worker.AnnounceEnd(t.Context())
}
