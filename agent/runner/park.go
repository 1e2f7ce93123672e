package runner

import (
	"context"
	"errors"

	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/permissions"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// park has a run wait for a decision: it gives up its lane, keeps its place in the session, and is started again when it is woken or the
// time is over. A run that was decided about meanwhile is started again at once; one that is to stop ends. It returns when that is on disk.
func (r *Runner) park(ctx context.Context, a *activeRun, o outcome) error {
	patient, done := r.graceContext(ctx)
	defer done()
	var stop *stopRequest
	err := r.persist(patient, a.result.RunID, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		result, found, err := runs.Load(tx, a.result.RunID)
		switch {
		case err != nil:
			return nil, err
		case !found || result.State != run.Running:
			return nil, &run.Refusal{Reason: run.CodeOver, Field: "state", Value: string(result.State), Text: "run " + a.result.RunID + " is over"}
		}
		if stop = a.stopRequested(); stop != nil {
			return nil, nil
		}
		return r.parkEvents(tx, result, a, &o)
	})
	var over *run.Refusal
	switch {
	case errors.As(err, &over): // it was ended elsewhere
		return nil
	case err != nil:
		return err
	case stop != nil:
		return r.finish(ctx, a, a.interrupted(stop, o.over))
	}
	parked := a.result
	parked.State = run.Queued
	a.parked.Store(true)
	a.notify(run.Update{Kind: run.Parked, Result: &parked})
	return nil
}

func (r *Runner) parkEvents(tx eventstore.Tx, result run.Result, a *activeRun, o *outcome) ([]eventstore.StreamAppend, error) {
	now, due := r.now().UnixMilli(), o.waits.Until
	if o.givenBack != "" {
		if o.givenBack == reasonNoWorker {
			due = now + again.Milliseconds()
		}
		given, err := a.asked.meta(result.RunID, eventstore.ActorSystem, now).events(run.GiveBack(a.asked.Context, result, o.givenBack, now, due))
		return []eventstore.StreamAppend{given}, err
	}
	wanted, found, err := permissions.Load(tx, o.waits.ApprovalID)
	if err != nil {
		return nil, err
	}
	if !found || wanted.StatusAt(now) != permission.Pending {
		due = 0
	}
	parked, err := a.asked.meta(result.RunID, eventstore.ActorSystem, now).events(run.Park(a.asked.Context, result, o.waits.ApprovalID, now, due))
	return []eventstore.StreamAppend{parked}, err
}
