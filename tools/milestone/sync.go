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
	"github.com/pronto-lab/openclawd/projections/work"
	"github.com/pronto-lab/openclawd/tools"
)

// How often and how long an item is tried to follow its task. The lease is longer, so that what takes too long is told as such.
const (
	attempts    = 3
	attemptTime = 10 * time.Second
	leaseTime   = 30 * time.Second
)

// Sync is the handler of Kind: it tells Task-Hub how an item stands. That may be told more than once, with the same Idempotency-Key, and comes to
// the same. With the end of the work comes what became of it: milestone.synced, or milestone.sync_failed when it is given up.
func Sync(hub Hub) worker.Handler {
	return worker.Task(worker.Policy{MaxAttempts: attempts, Timeout: leaseTime, Then: tellEnd},
		func(ctx context.Context, w work.Item, what *coordination.WorkScheduled) (json.RawMessage, error) {
			var p payload
			if err := json.Unmarshal(what.Payload, &p); err != nil {
				return nil, worker.Permanent(fmt.Errorf("read which item has to follow: %w", err))
			}
			body, err := tools.Encode(item{Status: p.Status})
			if err != nil {
				return nil, err
			}
			ctx, stop := context.WithTimeout(ctx, attemptTime)
			defer stop()
			of := asked{milestoneID: p.MilestoneID, itemID: p.MilestoneItemID}
			_, err = hub.Do(ctx, http.MethodPut, of.path(), body, http.Header{idempotencyKey: {keyOf(w.EffectID)}})
			if refused, is := errors.AsType[*taskhub.Error](err); is && !refused.Passing() {
				return nil, worker.Permanent(err)
			}
			return nil, err
		})
}

// keyOf is the id of an effect as a header holds it.
func keyOf(effectID string) string {
	for i := range len(effectID) {
		if effectID[i] <= ' ' || effectID[i] > '~' {
			return digest(effectID)
		}
	}
	return effectID
}

// tellEnd says what became of an item.
func tellEnd(_ eventstore.Tx, end worker.Ended, now time.Time) ([]eventstore.StreamAppend, error) {
	var p payload
	if end.What == nil {
		return nil, nil // nobody knows any more which item it was
	}
	if err := json.Unmarshal(end.What.Payload, &p); err != nil {
		return nil, fmt.Errorf("read which item has followed: %w", err)
	}
	if p.TaskID == "" {
		return nil, errors.New("the item of no task has followed")
	}
	typ := coordination.TypeMilestoneSynced
	if end.Error != "" {
		typ = coordination.TypeMilestoneSyncFailed
	}
	return p.tell(end.Owner, typ, end.Error, now)
}
