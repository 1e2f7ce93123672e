package gateway

import (
	"context"

	"github.com/pronto-lab/openclawd/coordination/run"
)

// Runs starts, stops and follows runs of agents. A gateway without it stores sessions and answers that no agent runs.
type Runs interface {
	// Queue accepts a message; it is on disk when Queue returns. For a RunID that was accepted before nothing changes,
	// and Again is set. Errors: *run.Refusal, *run.Busy, or the log's.
	Queue(ctx context.Context, ask run.Ask) (run.Accepted, error)
	// Wait returns a run once it is over, or its current state with ctx's error. It waits for an unknown run too.
	Wait(ctx context.Context, runID string) (run.Result, error)
	// Get returns a run's current state; found is false for an unknown run.
	Get(ctx context.Context, runID string) (r run.Result, found bool, err error)
	// Stop stops queued and active runs, and returns their ids once their end is on disk.
	Stop(ctx context.Context, stop run.Stop) ([]string, error)
	// Follow calls tell for every update of all runs until stop is called. tell must not block.
	Follow(tell func(run.Update)) (stop func())
}
