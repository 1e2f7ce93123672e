package inbound

import (
	"context"
	"errors"
	"time"

	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// lookAgain is how long Run waits at most before it looks again: whatever the clock does, a suspension that is over is told of by then.
const lookAgain = 30 * time.Second

// Run tells of suspensions that are over, until ctx ends.
func (m *Monitor) Run(ctx context.Context) error {
	for again := 0; ctx.Err() == nil; {
		wait, err := m.release(ctx)
		switch {
		case errors.Is(err, eventstore.ErrClosed):
			return nil
		case err != nil && ctx.Err() == nil:
			again++
			m.o.Logger.Warn("that a suspension is over is not in the log; trying again", "err", err)
			wait = min(m.o.Backoff(again), lookAgain)
		default:
			again = 0
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-m.wake:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return nil
}

// release tells of what is over, and says when to look again.
func (m *Monitor) release(ctx context.Context) (wait time.Duration, err error) {
	wait = lookAgain
	_, err = m.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		now := m.o.Now().UnixMilli()
		places, next, err := routing.Suspended(tx, now)
		if err != nil {
			return nil, err
		}
		if wait = lookAgain; next > 0 {
			wait = min(wait, time.Duration(max(next-now, 1))*time.Millisecond)
		}
		events := make([]route.Event, 0, len(places))
		for _, place := range places {
			events = append(events, route.Released(place, now))
		}
		return appendsOf(events, "")
	})
	return wait, err
}
