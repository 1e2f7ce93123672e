package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/agent/remote"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// Reasons of a run that is given back to the queue, to wait for a worker.
const (
	reasonNoWorker   = "no_worker"
	reasonWorkerLost = "worker_lost"
)

// again is after which time a run that no worker has taken may be started again.
const again = 10 * time.Second

// maxLosses is how often in a row a run may lose its worker before it has done a step: it may be the run that ends workers.
const maxLosses = 3

// performWhere answers here, or at a worker's place if the agent runs elsewhere. Without a worker the run goes back to the queue.
func (r *Runner) performWhere(ctx context.Context, a *activeRun) outcome {
	where := a.config.PlacementOf(a.asked.agentID)
	if !where.Remote() || r.o.Workers == nil {
		return r.perform(ctx, a, nil)
	}
	place, err := r.o.Workers.Take(ctx, remote.Run{RunID: a.result.RunID, AgentID: a.asked.agentID, SessionKey: a.result.SessionKey, Attempt: a.attempt, Labels: where.Labels})
	switch {
	case errors.Is(err, remote.ErrNoWorker):
		return outcome{waits: &tool.WaitsError{}, givenBack: reasonNoWorker}
	case err != nil:
		return a.interrupted(err, coordination.RunOver{})
	}
	defer place.Release()
	bound, stop := place.Bind(ctx)
	defer stop()
	o := r.perform(remote.With(bound, place), a, place)
	if o.givenBack == "" {
		r.o.Workers.Forget(a.result.RunID)
	}
	return o
}

// isUnplaced reports whether a run's context has ended because its worker was lost.
func isUnplaced(cause error) bool { return errors.As(cause, new(*remote.LostError)) }

// unplaced is the failure of a run that has lost its worker too often; nil if it may go on with another one.
func (t *turn) unplaced(cause error) *failure {
	if !isUnplaced(cause) {
		return nil
	}
	n := t.runner.o.Workers.Lost(t.result.RunID)
	t.runner.logger.Warn("a run has lost its worker", "run", t.result.RunID, "worker", t.place.Worker(), "in_a_row", n)
	if n < maxLosses {
		return nil
	}
	return &failure{classWorker, fmt.Sprintf("%d workers in a row were lost before they had done a step of it", n)}
}
