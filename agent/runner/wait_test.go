package runner_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination/run"
)

// Waiting knows all states, and costs no goroutine.
func TestWaitInAllStates(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: hangs})
	now, cancel := context.WithCancel(t.Context())
	cancel()
	state := func(id string, want run.State) {
		t.Helper()
		r, err := h.Wait(now, id)
		if r.State != want || want.Over() && (err != nil || r.Over == nil) || !want.Over() && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %+v, %v, want %s", id, r, err, want)
		}
	}
	state("unheard of", "")
	h.say("r1", "main", "hang")
	h.say("r2", "main", "next")
	h.until("r1", says("one two "))
	state("r1", run.Running)
	state("r2", run.Queued)
	h.halt(run.Stop{RunID: "r1", Reason: "rpc"})
	h.over("r2")
	state("r1", run.Aborted)
	state("r2", run.OK)
	if s := h.Stats(); s.Waiters != 0 {
		t.Errorf("left over: %+v", s)
	}
}

func TestManyWaitForAFutureRun(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	const n = 200
	var all sync.WaitGroup
	for range n {
		all.Go(func() { h.ends("r1", run.OK, "echo: hello") })
	}
	for h.Stats().Waiters < n {
		runtime.Gosched()
	}
	h.say("r1", "main", "hello")
	all.Wait()
}

// B1: who waits for a run that is aborted is told so at once, and not that it still runs.
func TestB1_AbortedIsNotStillRunning(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: hangs})
	h.say("r1", "main", "hang")
	h.until("r1", says("one two "))
	waited := make(chan run.Result, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		r, err := h.Wait(ctx, "r1")
		if err != nil {
			t.Error(err)
		}
		waited <- r
	}()
	for h.Stats().Waiters == 0 {
		runtime.Gosched()
	}
	h.halt(run.Stop{RunID: "r1", Reason: "rpc"})
	if r := <-waited; r.State != run.Aborted || r.EndedAt == 0 || r.Over.Reason != "rpc" {
		t.Errorf("got %+v", r)
	}
}

func TestPanickingSubscribersAreIsolated(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	stop := h.Follow(func(run.Update) { panic("on purpose") })
	var once sync.Once
	stopOther := h.Follow(func(u run.Update) { // one that calls back
		if u.Kind == run.Started {
			once.Do(func() {
				if _, _, err := h.Get(context.Background(), u.RunID); err != nil {
					t.Error(err)
				}
			})
		}
	})
	h.say("r1", "main", "hello")
	h.ends("r1", run.OK, "echo: hello")
	stop()
	stopOther()
	h.say("r2", "main", "again")
	h.ends("r2", run.OK, "echo: again")
	if got := h.told("r2"); len(got) != 4 {
		t.Errorf("told %q", got)
	}
}

// Waiting for a turn costs rows, not goroutines.
//
// Promise: order
func TestQueuedRunsNeedNoGoroutine(t *testing.T) {
	h := setup(t, setting{asleep: true})
	before := runtime.NumGoroutine()
	for i := range 300 {
		h.say(time.Duration(i).String(), "main", "hello")
	}
	if more := runtime.NumGoroutine() - before; more > 2 {
		t.Errorf("%d goroutines more", more)
	}
}
