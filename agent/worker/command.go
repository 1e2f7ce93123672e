package worker

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	queue "github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/work"
)

// Schedule is the append that asks for something to be done. It conflicts with an earlier one of the same effect, and is a *Refusal of
// coordination/work if it can never be done. Secrets in the payload are the caller's care.
func Schedule(what coordination.WorkScheduled) (eventstore.StreamAppend, error) {
	if err := queue.Check(&what); err != nil {
		return eventstore.StreamAppend{}, err
	}
	data, err := json.Marshal(what)
	if err != nil {
		return eventstore.StreamAppend{}, fmt.Errorf("write %s: %w", coordination.TypeWorkScheduled, err)
	}
	return eventstore.StreamAppend{Stream: queue.Stream(what.EffectID), Expect: eventstore.NoStream(), Events: []eventstore.NewEvent{
		{Type: coordination.TypeWorkScheduled, AgentID: what.Owner, Data: data}}}, nil
}

// Resend has what was given up done after all, as if it had never been tried, after what waits in its key. by is who asks for it.
// Errors: *Refusal of coordination/work, or what the log returns.
func (w *Worker) Resend(ctx context.Context, effectID, by string) error {
	now := w.opts.Now()
	_, err := w.opts.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		item, err := load(tx, effectID)
		if err != nil {
			return nil, err
		}
		if item.State != work.Dead {
			return nil, &queue.Refusal{Reason: queue.CodeNotDead, Field: "effectId", Value: effectID, Mend: "wait for it: it is " + string(item.State)}
		}
		return appendOf(&item, coordination.TypeWorkResent, coordination.WorkAttempt{By: queue.Tidy(by)}, now)
	})
	return err
}

// Cancel has something not done that waits, or was given up; it is on disk when Cancel returns. What is under way is refused. by is who
// asks for it. Errors: *Refusal of coordination/work, or what the log returns.
func (w *Worker) Cancel(ctx context.Context, effectID, by string) error {
	now := w.opts.Now()
	_, err := w.opts.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		item, err := load(tx, effectID)
		switch {
		case err != nil:
			return nil, err
		case item.Kind == work.KindRun:
			return nil, &queue.Refusal{Reason: queue.CodeRun, Field: "effectId", Value: effectID, Mend: "stop the run instead"}
		case item.Kind == work.KindJob:
			return nil, &queue.Refusal{Reason: queue.CodeJob, Field: "effectId", Value: effectID, Mend: "cancel the flow instead"}
		case item.State == work.Leased:
			return nil, &queue.Refusal{Reason: queue.CodeUnderWay, Field: "effectId", Value: effectID, Mend: "wait until this attempt is over"}
		}
		return appendOf(&item, coordination.TypeWorkCancelled, coordination.WorkAttempt{By: queue.Tidy(by)}, now)
	})
	return err
}

func load(tx eventstore.Tx, effectID string) (work.Item, error) {
	item, found, err := work.Load(tx, effectID)
	if err == nil && !found {
		err = &queue.Refusal{Reason: queue.CodeUnknown, Field: "effectId", Value: effectID, Mend: "name one that waits or was given up; what is done is not listed"}
	}
	return item, err
}
