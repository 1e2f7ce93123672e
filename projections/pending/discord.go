package pending

import (
	"context"
	"database/sql"
	"math"

	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Discord reads what is open in Discord, without the bots' own state, as of now in ms since 1970.
func Discord(ctx context.Context, tx *sql.Tx, now int64) (s health.Discord, err error) {
	if s.OpenCollaborations, err = responses.Count(ctx, tx, responses.Query{Status: response.StatusPending}); err != nil {
		return s, err
	}
	if s.Escalated, err = responses.Count(ctx, tx, responses.Query{Status: response.StatusEscalated}); err != nil {
		return s, err
	}
	lanes, err := workqueue.Lanes(ctx, tx)
	if err != nil {
		return s, err
	}
	for i := range lanes {
		if lanes[i].Pool == delivery.Pool {
			s.Undelivered += lanes[i].Dead
		}
	}
	reading := projections.Reading(ctx, tx)
	began, _, err := routing.Suspended(reading, math.MaxInt64)
	if err != nil {
		return s, err
	}
	over, _, err := routing.Suspended(reading, now)
	s.Suspended = len(began) - len(over)
	return s, err
}
