package gateway

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// waitAnswer answers agent.wait. Status uses the original's words, where timeout means either that the run is not over
// or that it was stopped. State tells them apart.
type waitAnswer struct {
	RunID     string `json:"runId"`
	Status    string `json:"status"` // ok, error, timeout
	State     string `json:"state"`  // ok, error, aborted, timed_out, running, unknown
	StartedAt int64  `json:"startedAt,omitempty"`
	EndedAt   int64  `json:"endedAt,omitempty"`
	Error     string `json:"error,omitempty"`
	Ahead     *int   `json:"queueAhead,omitempty"` // earlier runs of the session; only while queued
}

// waitForRun answers agent.wait when the run is over or the time has passed. An unknown run may start at any time, so
// it is waited for too, unless the client leaves.
func (s *Server) waitForRun(ctx context.Context, call *wire.Call) (any, error) {
	const usual, longest = 30_000, 1<<31 - 1
	p, err := paramsOf[struct {
		RunID     string   `json:"runId"`
		TimeoutMs *float64 `json:"timeoutMs"`
	}](call)
	if err != nil {
		return nil, err
	}
	wait := float64(usual)
	if p.TimeoutMs != nil {
		wait = min(*p.TimeoutMs, longest)
	}
	patient, stop := context.WithTimeout(ctx, time.Duration(wait)*time.Millisecond)
	defer stop()
	if s.opts.Runs == nil {
		<-patient.Done()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return waitAnswer{RunID: p.RunID, Status: "timeout", State: "unknown"}, nil
	}
	var r run.Result
	if wait > 0 {
		r, err = s.opts.Runs.Wait(patient, p.RunID)
	} else {
		r, _, err = s.opts.Runs.Get(ctx, p.RunID)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		return nil, err
	case r.State == "":
		return waitAnswer{RunID: p.RunID, Status: "timeout", State: "unknown"}, nil
	}
	return s.waitState(ctx, &r)
}

func (s *Server) waitState(ctx context.Context, r *run.Result) (a waitAnswer, err error) {
	a = waitAnswer{RunID: r.RunID, Status: "timeout", State: string(r.State), StartedAt: r.StartedAt, EndedAt: r.EndedAt}
	switch r.State {
	case run.OK:
		a.Status = "ok"
	case run.Failed:
		if a.Status = "error"; r.Over != nil {
			a.Error = errorText(r.Over)
		}
	case run.Queued, run.Running:
		a.State, a.StartedAt, a.EndedAt = string(run.Running), 0, 0
		if r.State == run.Queued {
			a.Ahead, err = s.ahead(ctx, r)
		}
	}
	return a, err
}

// ahead is how many runs of its session precede a queued run.
func (s *Server) ahead(ctx context.Context, r *run.Result) (*int, error) {
	before := 0
	err := s.opts.Log.View(ctx, func(tx *sql.Tx) (err error) {
		before, _, err = runs.Position(ctx, tx, r.RunID)
		return err
	})
	return &before, err
}
