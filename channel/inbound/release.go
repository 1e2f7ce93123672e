package inbound

import (
	"context"
	"errors"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// lookAgain is the maximum interval of Run's checks: an ended suspension is reported by then, whatever the clock does.
const lookAgain = 30 * time.Second

// Run records the ends of suspensions, until ctx ends. Where the service does not tell bots of each other's messages, it
// tells them what only the log knows to be posted.
func (m *Service) Run(ctx context.Context) error {
	own, _ := coordination.ChannelNamed(m.o.Channel)
	var told siblings
	for again := 0; ctx.Err() == nil; {
		next, err := m.release(ctx)
		switch {
		case errors.Is(err, eventstore.ErrClosed):
			return nil
		case err != nil && ctx.Err() == nil:
			again++
			m.o.Logger.Warn("cannot record the end of a suspension; will retry", "err", err)
			next = min(m.o.Backoff(again), lookAgain)
		default:
			again = 0
		}
		if !own.Siblings {
			next = min(next, m.tell(ctx, &told))
		}
		wait.Woken(ctx, m.wake, max(next, 1))
	}
	return nil
}

// release records what has ended, and returns when to check again.
func (m *Service) release(ctx context.Context) (pause time.Duration, err error) {
	pause = lookAgain
	_, err = m.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		now := m.o.Now().UnixMilli()
		places, next, err := routing.Suspended(tx, now)
		if err != nil {
			return nil, err
		}
		if pause = lookAgain; next > 0 {
			pause = min(pause, time.Duration(max(next-now, 1))*time.Millisecond)
		}
		events := make([]route.Event, 0, len(places))
		for _, place := range places {
			events = append(events, route.Released(place, now))
		}
		return appendsOf(events, "")
	})
	return pause, err
}
