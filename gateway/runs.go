package gateway

import (
	"context"

	"github.com/pronto-lab/openclawd/coordination/run"
)

// Runs are the agents that answer. A gateway without any keeps sessions, and says that nobody answers in them.
type Runs interface {
	// Queue accepts a message; it is on disk when Queue returns. A RunID that was accepted before changes nothing: Again is set.
	// Errors: *run.Refusal, *run.Busy, or what the log returns.
	Queue(ctx context.Context, ask run.Ask) (run.Accepted, error)
	// Wait returns a run once it is over, or with ctx's error as it stands then. A run that nobody knows is waited for.
	Wait(ctx context.Context, runID string) (run.Result, error)
	// Look is a run as it stands; found is false for one that nobody knows.
	Look(ctx context.Context, runID string) (r run.Result, found bool, err error)
	// Stop stops what is queued or runs, and returns the ids of those runs once their end is on disk.
	Stop(ctx context.Context, stop run.Stop) ([]string, error)
	// Follow has tell called for everything that happens in runs from now on, until stop is called. tell must not wait.
	Follow(tell func(run.Update)) (stop func())
}
