package wait_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pronto-lab/openclawd/internal/wait"
)

func TestForEndsWithTimeOrContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := wait.For(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("it ended after %v with %v, want 1m", time.Since(began), err)
		}
		cause := errors.New("stopped")
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { stop(cause) })
		began = time.Now()
		if err := wait.For(ctx, time.Minute); !errors.Is(err, cause) || time.Since(began) != time.Second {
			t.Errorf("it ended after %v with %v, want the cause after 1s", time.Since(began), err)
		}
		if err := wait.For(t.Context(), -time.Second); err != nil {
			t.Errorf("a negative time ended with %v", err)
		}
	})
}

func TestWokenEndsWithTheFirstOfThree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{}, 1)
		took := func(ctx context.Context, d time.Duration) time.Duration {
			began := time.Now()
			wait.Woken(ctx, wake, d)
			return time.Since(began)
		}
		if got := took(t.Context(), time.Minute); got != time.Minute {
			t.Errorf("without a signal it took %v, want 1m", got)
		}
		for _, limit := range []time.Duration{0, time.Minute} {
			time.AfterFunc(time.Second, func() { wake <- struct{}{} })
			if got := took(t.Context(), limit); got != time.Second {
				t.Errorf("with a signal and limit %v it took %v, want 1s", limit, got)
			}
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		if got := took(ctx, 0); got != time.Hour {
			t.Errorf("with a context that ends it took %v, want 1h", got)
		}
	})
}
