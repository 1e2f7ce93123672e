package worker

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Schedule returns the append that schedules an effect. It conflicts with an earlier one of the same effect, and fails
// with a *Refusal of coordination/work if it can never be done. The caller must not put secrets into the payload.
func Schedule(what coordination.WorkScheduled) (eventstore.StreamAppend, error) {
	if err := work.Check(&what); err != nil {
		return eventstore.StreamAppend{}, err
	}
	data, err := json.Marshal(what)
	if err != nil {
		return eventstore.StreamAppend{}, fmt.Errorf("write %s: %w", coordination.TypeWorkScheduled, err)
	}
	return eventstore.StreamAppend{Stream: work.Stream(what.EffectID), Expect: eventstore.NoStream(), Events: []eventstore.NewEvent{
		{Type: coordination.TypeWorkScheduled, AgentID: what.Owner, Data: data}}}, nil
}

// Resend retries a given-up effect as if it had never been tried, behind what waits in its key. by is the requester.
// Errors: *Refusal of coordination/work, or the log's.
func (w *Worker) Resend(ctx context.Context, effectID, by string) error {
	now := w.opts.Now()
	_, err := w.opts.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		item, err := load(tx, effectID)
		if err != nil {
			return nil, err
		}
		if item.State != workqueue.Dead {
			return nil, &work.Refusal{Reason: work.CodeNotDead, Field: "effectId", Value: effectID, HintText: "wait for it: it is " + string(item.State)}
		}
		return item.Appends(coordination.TypeWorkResent, coordination.WorkAttempt{By: work.Tidy(by)}, now)
	})
	return err
}

// Cancel cancels an effect that waits or was given up; it is on disk when Cancel returns. An effect in progress is
// refused. by is the requester. Errors: *Refusal of coordination/work, or the log's.
func (w *Worker) Cancel(ctx context.Context, effectID, by string) error {
	now := w.opts.Now()
	_, err := w.opts.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		item, err := load(tx, effectID)
		switch {
		case err != nil:
			return nil, err
		case item.Kind == workqueue.KindRun:
			return nil, &work.Refusal{Reason: work.CodeRun, Field: "effectId", Value: effectID, HintText: "stop the run instead"}
		case item.Kind == workqueue.KindJob:
			return nil, &work.Refusal{Reason: work.CodeJob, Field: "effectId", Value: effectID, HintText: "cancel the flow instead"}
		case item.State == workqueue.Leased:
			return nil, &work.Refusal{Reason: work.CodeUnderWay, Field: "effectId", Value: effectID, HintText: "wait until this attempt is over"}
		}
		return item.Appends(coordination.TypeWorkCancelled, coordination.WorkAttempt{By: work.Tidy(by)}, now)
	})
	return err
}

func load(tx eventstore.Tx, effectID string) (workqueue.Item, error) {
	item, found, err := workqueue.Load(tx, effectID)
	if err == nil && !found {
		err = &work.Refusal{Reason: work.CodeUnknown, Field: "effectId", Value: effectID, HintText: "name one that waits or was given up; finished ones are not listed"}
	}
	return item, err
}
