package monitor

import (
	"context"
	"errors"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/projections/trace"
)

const tracePath = "/api/trace"

// traceAnswer answers GET /api/trace/:id.
type traceAnswer struct {
	Trace   *trace.Trace `json:"trace"`
	AsOfSeq int64        `json:"asOfSeq"`
}

func (s *Server) showTrace(c echo.Context) error {
	id := idOf(c)
	p := parametersOf(c)
	if id == "" {
		return echo.ErrNotFound
	}
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		found, err := trace.Of(ctx, v.tx, id, trace.Options{Now: int64(v.now), Rules: v.Rules, Events: v.Store.EventsIn})
		var missing *trace.NotFoundError
		if errors.As(err, &missing) {
			p := notFound("Nothing to trace: " + missing.Error())
			p.Hint = missing.Hint()
			return nil, p
		}
		return traceAnswer{found, v.asOf}, err
	})
}
