package budget_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pronto-lab/openclawd/internal/budget"
)

const (
	large    = 10 << 20
	patience = 2 * time.Second // of the fake clock
)

func holding(t *testing.T, b *budget.Budget, bytes int64) *budget.Share {
	t.Helper()
	s := b.Open()
	if err := s.Read(t.Context(), patience, func(ctx context.Context) error { return budget.Take(ctx, bytes) }); err != nil {
		t.Fatal(err)
	}
	return s
}

// The total never exceeds the budget, however many reads run; what is given back is available again.
func TestReadsShareABudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(4 * large)
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() {
				s := b.Open()
				defer s.Close()
				err := s.Read(t.Context(), patience, func(ctx context.Context) error {
					for range 3 {
						if err := budget.Take(ctx, large/2); err != nil {
							return err
						}
					}
					return nil
				})
				if used := b.Used(); used > 4*large {
					t.Errorf("%d bytes are held, may be %d", used, 4*large)
				}
				if err != nil {
					t.Error(err) // earlier ones finish at once
				}
			})
		}
		all.Wait()
		if used := b.Used(); used != 0 {
			t.Errorf("%d bytes are still held", used)
		}
	})
}

// A read waits for others, and is refused after its patience. Small reads need no budget, and a read that is alone
// always may proceed.
func TestReadsWaitAndAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(large)
		first := holding(t, b, 3*large) // alone
		holding(t, b, budget.Free).Close()
		start := time.Now()
		second := b.Open()
		err := second.Read(t.Context(), patience, func(ctx context.Context) error { return budget.Take(ctx, large) })
		var full *budget.FullError
		if !errors.As(err, &full) || full.Code() != "read_busy" || time.Since(start) != patience {
			t.Errorf("%v after %s, want a refusal when its patience ends", err, time.Since(start))
		}
		second.Close()

		time.AfterFunc(time.Second, first.Close)
		tries := 0
		third := b.Open()
		err = third.Read(t.Context(), patience, func(ctx context.Context) error { tries++; return budget.Take(ctx, large) })
		if err != nil || tries != 2 {
			t.Errorf("%v after %d attempts, want success when the other read has ended", err, tries)
		}
		third.Keep(large / 2) // the answer alone
		holding(t, b, large/2).Close()
		third.Close()
		third.Close()
		if used := b.Used(); used != 0 {
			t.Errorf("%d bytes are still held", used)
		}
	})
}

// Without a budget nothing is bounded.
func TestNoBudgetBoundsNothing(t *testing.T) {
	t.Parallel()
	var none *budget.Budget
	s := none.Open()
	defer s.Close()
	if err := s.Read(t.Context(), patience, func(ctx context.Context) error { return budget.Take(ctx, 1<<40) }); err != nil {
		t.Error(err)
	}
	if err := budget.Take(t.Context(), 1<<40); err != nil {
		t.Error(err)
	}
}
