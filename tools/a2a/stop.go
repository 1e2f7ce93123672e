package a2a

import (
	"context"
	"database/sql"
	"errors"

	decide "github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/a2a"
	projected "github.com/pronto-lab/openclawd/projections/run"
)

// Stop ends flows, with the sub-agents that their runs have started, and stops their runs. It returns the ids of those that were open. One
// that cannot be stopped does not keep the others from it.
func (c *Coordinator) Stop(ctx context.Context, jobID, by, reason string) (stopped []string, err error) {
	var errs []error
	seen := map[string]bool{jobID: true}
	for next := []string{jobID}; len(next) > 0; next = next[1:] {
		was, err := c.stop(ctx, next[0], by, reason)
		errs = append(errs, err)
		if !was {
			continue
		}
		stopped = append(stopped, next[0])
		begun, err := c.begunBy(ctx, next[0]) // after its run has ended: it begins no more
		errs = append(errs, err)
		for _, id := range begun {
			if !seen[id] {
				seen[id] = true
				next = append(next, id)
			}
		}
	}
	return stopped, errors.Join(errs...)
}

// stop ends one flow, and stops the run that it waits for. was is false for one that is not open.
func (c *Coordinator) stop(ctx context.Context, jobID, by, reason string) (was bool, err error) {
	var runID string
	now := c.o.Now()
	_, err = c.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		was = false // it may be called again
		f, found, err := projection.Load(tx, jobID)
		if err != nil || !found || !f.Phase.Open() {
			return nil, err
		}
		done, err := c.performed(tx, f, decide.Stop(f, by, reason, now.UnixMilli()), now)
		was, runID = true, done.step.StopRun
		return done.appends, err
	})
	if err != nil {
		return false, err
	}
	if was && runID != "" {
		_, err = c.o.Runs.Stop(ctx, run.Stop{RunID: runID, Reason: stopReason, By: by})
	}
	return was, err
}

// begunBy are the open flows that runs of a flow have begun, the newest first.
func (c *Coordinator) begunBy(ctx context.Context, jobID string) (ids []string, err error) {
	err = c.o.Log.View(ctx, func(tx *sql.Tx) error {
		runs, err := projected.List(ctx, tx, projected.Query{JobID: jobID})
		if err != nil {
			return err
		}
		own, sessions := map[string]bool{}, map[string]bool{}
		for i := range runs {
			own[runs[i].RunID], sessions[runs[i].SessionKey] = true, true
		}
		for key := range sessions {
			flows, err := projection.List(ctx, tx, projection.Query{RequesterSessionKey: key, Open: true})
			if err != nil {
				return err
			}
			for i := range flows {
				if own[flows[i].RequesterRunID] {
					ids = append(ids, flows[i].JobID)
				}
			}
		}
		return nil
	})
	return ids, err
}
