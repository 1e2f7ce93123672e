package pending

import (
	"context"
	"database/sql"
	"math"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Channels reads what is open in each channel, by name, without the bots' own state, as of now in ms since 1970.
func Channels(ctx context.Context, tx *sql.Tx, now int64) (map[string]health.ChannelState, error) {
	all := map[string]health.ChannelState{}
	lanes, err := workqueue.Lanes(ctx, tx)
	if err != nil {
		return nil, err
	}
	reading := projections.Reading(ctx, tx)
	began, _, err := routing.Suspended(reading, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	over, _, err := routing.Suspended(reading, now)
	if err != nil {
		return nil, err
	}
	for _, c := range coordination.Channels() {
		var s health.ChannelState
		if s.OpenCollaborations, err = responses.Count(ctx, tx, responses.Query{Channel: c.Name, Status: response.StatusPending}); err != nil {
			return nil, err
		}
		if s.Escalated, err = responses.Count(ctx, tx, responses.Query{Channel: c.Name, Status: response.StatusEscalated}); err != nil {
			return nil, err
		}
		for i := range lanes {
			if lanes[i].Pool == c.Name { // a channel's pool has its name
				s.Undelivered += lanes[i].Dead
			}
		}
		s.Suspended = countIn(began, c.Name) - countIn(over, c.Name)
		all[c.Name] = s
	}
	return all, nil
}

func countIn(places []string, channel string) (n int) {
	for _, id := range places {
		if coordination.ChannelOf(id) == channel {
			n++
		}
	}
	return n
}
