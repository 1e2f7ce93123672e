package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
)

var errEnough = errors.New("enough")

func subscriptionHasNoSeam(t *testing.T, s *subject) {
	const appenders, appends, before = 3, 20, 10
	const total = before + 2*appenders*appends
	for range before {
		s.append(t, to("task/a", event(`{}`)))
	}
	var working sync.WaitGroup
	for range appenders {
		working.Go(func() {
			for range appends {
				if _, err := s.Log.Append(s.ctx, to("task/a", event(`{}`)), to("task/b", event(`{}`))); err != nil {
					t.Errorf("Append: %v", err)
					return
				}
			}
		})
	}
	for _, after := range []int64{0, before / 2, before, before + appenders} {
		working.Go(func() {
			next := after + 1
			err := eventstore.Subscribe(s.ctx, s.Log, after, func(e eventstore.Event) error {
				if e.Seq != next {
					t.Errorf("subscription from %d got seq %d, want %d", after, e.Seq, next)
				}
				next = e.Seq + 1
				if e.Seq == total {
					return errEnough
				}
				return nil
			})
			if !errors.Is(err, errEnough) {
				t.Errorf("subscription from %d ended before seq %d with %v", after, next, err)
			}
		})
	}
	working.Wait()
}

func slowSubscriberBlocksNoOther(t *testing.T, s *subject) {
	const total = 40
	s.append(t, to("task/a", event(`{}`)))
	handling, release := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	var seen []int64
	go func() {
		ended <- eventstore.Subscribe(s.ctx, s.Log, 0, func(e eventstore.Event) error {
			if e.Seq == 1 {
				close(handling)
				<-release
			}
			seen = append(seen, e.Seq)
			if e.Seq == total {
				return errEnough
			}
			return nil
		})
	}()
	<-handling
	for range total - 1 {
		s.append(t, to("task/a", event(`{}`)))
	}
	close(release)
	wantIs(t, <-ended, errEnough)
	for i, seq := range seen {
		if seq != int64(i)+1 {
			t.Fatalf("event %d has seq %d", i+1, seq)
		}
	}
}

func subscriptionEnds(t *testing.T, s *subject) {
	s.append(t, to("task/a", event(`{}`), event(`{}`)))

	calls := 0
	err := eventstore.Subscribe(s.ctx, s.Log, 0, func(eventstore.Event) error { calls++; return errEnough })
	wantIs(t, err, errEnough)
	wantEqual(t, "calls of the handler that failed", calls, 1)

	ctx, cancel := context.WithCancel(s.ctx)
	err = eventstore.Subscribe(ctx, s.Log, 0, func(e eventstore.Event) error {
		if e.Seq == 2 {
			cancel()
		}
		return nil
	})
	wantIs(t, err, context.Canceled)
}
