package monitor

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/owed"
	"github.com/pronto-lab/openclawd/projections/runs"
)

const countsPath = "/api/counts"

// countsAnswer answers GET /api/counts.
type countsAnswer struct {
	Problems int   `json:"problems"` // total of GET /api/problems
	Running  int64 `json:"running"`  // runs
	Queued   int64 `json:"queued"`   // runs
	Owed     int   `json:"owed"`     // total of GET /api/owed
	AtMs     int64 `json:"atMs"`     // the current time, or that of as_of
	LastAtMs int64 `json:"lastAtMs"` // own time of the last event; 0: there is none
	AsOfSeq  int64 `json:"asOfSeq"`
}

// counts answers how much is going on, in one read that is cheap as of any event.
func (s *Server) counts(c echo.Context) error {
	p := parametersOf(c)
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	ctx := c.Request().Context()
	program := s.programNow(ctx)
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		a := countsAnswer{AtMs: int64(v.now), AsOfSeq: v.asOf}
		stuck, err := v.problems(ctx, program, nil, nil, 0, 1)
		if err != nil {
			return nil, err
		}
		a.Problems = stuck.Total
		states, err := runs.Count(ctx, v.tx)
		if err != nil {
			return nil, err
		}
		a.Running, a.Queued = states[run.Running], states[run.Queued]
		open, err := owed.Read(ctx, v.tx, owed.Query{Now: a.AtMs, Limit: 1})
		if err != nil {
			return nil, err
		}
		a.Owed = open.Total
		last, err := index.Entries(ctx, v.tx, []int64{v.asOf})
		if e := last[v.asOf]; e != nil {
			a.LastAtMs = int64(e.Time)
		}
		if err != nil {
			return nil, err
		}
		return a, nil
	})
}
