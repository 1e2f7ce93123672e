package storetest

import (
	"context"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
)

// watched is a context that signals when a caller starts waiting for its end. So a test knows that a call blocks
// without asking the store.
type watched struct {
	context.Context
	started chan struct{}
	once    func()
}

func watch(ctx context.Context) *watched {
	started := make(chan struct{})
	return &watched{Context: ctx, started: started, once: sync.OnceFunc(func() { close(started) })}
}

func (w *watched) Done() <-chan struct{} {
	w.once()
	return w.Context.Done()
}

// answer is what a blocking call returned.
type answer struct {
	head int64
	err  error
}

// block runs call, which gets a context under ctx, in the background. It returns once the call waits, and fails t if
// it returns instead.
func block(ctx context.Context, t *testing.T, call func(context.Context) (int64, error)) <-chan answer {
	t.Helper()
	w := watch(ctx)
	answers := make(chan answer, 1)
	go func() {
		head, err := call(w)
		answers <- answer{head, err}
	}()
	select {
	case <-w.started:
	case a := <-answers:
		t.Fatalf("the call returned %d, %v at once", a.head, a.err)
	case <-ctx.Done():
		t.Fatal("the call neither returns nor waits on its context")
	}
	return answers
}

func waitWakesAtTheSeq(t *testing.T, s *subject) {
	waitFor3 := func(ctx context.Context) (int64, error) { return s.Log.Wait(ctx, 3) }
	early := block(s.ctx, t, waitFor3)
	s.append(t, to("task/a", event(`{}`)))
	s.append(t, to("task/a", event(`{}`)))
	late := block(s.ctx, t, waitFor3)
	select {
	case a := <-early:
		t.Fatalf("Wait(3) = %d, %v with the head at 2", a.head, a.err)
	case a := <-late:
		t.Fatalf("Wait(3) = %d, %v with the head at 2", a.head, a.err)
	default:
	}

	s.append(t, to("task/a", event(`{}`), event(`{}`)))
	for _, answers := range []<-chan answer{early, late} {
		if a := <-answers; a.err != nil || a.head < 3 {
			t.Fatalf("Wait(3) = %d, %v; want at least 3", a.head, a.err)
		}
	}
	for _, seq := range []int64{-1, 0, 4} {
		if head, err := s.Log.Wait(s.ctx, seq); err != nil || head != 4 {
			t.Errorf("Wait(%d) = %d, %v; want 4 at once", seq, head, err)
		}
	}
}

func waitEndsWithItsContext(t *testing.T, s *subject) {
	s.append(t, to("task/a", event(`{}`)))
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	waiting := block(ctx, t, func(ctx context.Context) (int64, error) { return s.Log.Wait(ctx, 2) })
	following := block(ctx, t, func(ctx context.Context) (int64, error) {
		return 0, eventstore.Subscribe(ctx, s.Log, 1, func(eventstore.Event) error { return nil })
	})
	cancel()
	wantIs(t, (<-waiting).err, context.Canceled)
	wantIs(t, (<-following).err, context.Canceled)
}
