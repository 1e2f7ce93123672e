package milestone

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/taskhub"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/tools"
)

// Retries and timeouts of a synchronization. The lease is longer than the timeout, so that a timeout is reported as such.
const (
	attempts    = 3
	attemptTime = 10 * time.Second
	leaseTime   = 30 * time.Second
)

// Sync is the handler of Kind: it sends an item's status to Task-Hub, at least once, with the same Idempotency-Key. The end of the work
// comes with its outcome: milestone.synced, or milestone.sync_failed after the last attempt.
func Sync(hub Hub) worker.Handler {
	return worker.Task(worker.Policy{MaxAttempts: attempts, Timeout: leaseTime, Then: endEvents},
		func(ctx context.Context, w workqueue.Item, what *coordination.WorkScheduled) (json.RawMessage, error) {
			var p payload
			if err := json.Unmarshal(what.Payload, &p); err != nil {
				return nil, worker.Permanent(fmt.Errorf("decode the change of an item: %w", err))
			}
			body, err := tools.Encode(item{Status: p.Status})
			if err != nil {
				return nil, err
			}
			ctx, stop := context.WithTimeout(ctx, attemptTime)
			defer stop()
			of := callTarget{milestoneID: p.MilestoneID, itemID: p.MilestoneItemID}
			_, err = hub.Do(ctx, http.MethodPut, of.path(), body, http.Header{idempotencyKey: {keyOf(w.EffectID)}})
			if refused, is := errors.AsType[*taskhub.Error](err); is && !refused.Temporary() {
				return nil, worker.Permanent(err)
			}
			return nil, err
		})
}

// keyOf turns an effect id into a valid header value.
func keyOf(effectID string) string {
	for i := range len(effectID) {
		if effectID[i] <= ' ' || effectID[i] > '~' {
			return digest(effectID)
		}
	}
	return effectID
}

// endEvents reports the outcome for an item.
func endEvents(_ eventstore.Tx, end worker.Ended, now time.Time) ([]eventstore.StreamAppend, error) {
	var p payload
	if end.What == nil {
		return nil, nil // the payload is redacted, so the item is unknown
	}
	if err := json.Unmarshal(end.What.Payload, &p); err != nil {
		return nil, fmt.Errorf("decode the synchronized item: %w", err)
	}
	if p.TaskID == "" {
		return nil, errors.New("the synchronized item names no task")
	}
	typ := coordination.TypeMilestoneSynced
	if end.Error != "" {
		typ = coordination.TypeMilestoneSyncFailed
	}
	return p.endEvent(end.Owner, typ, end.Error, now)
}
