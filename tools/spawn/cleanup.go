package spawn

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/services/messenger"
)

// CleanupKind is the kind of the work that Cleanup does.
const CleanupKind = messenger.CleanupKind

// cleaner is the actor of the deletions, as events name it.
const cleaner = "subagents"

// Interval and number of checks of a session that is still in use: about a week.
const (
	againAfter = 10 * time.Minute
	maxLooks   = 1_000
)

// Cleanup deletes the sessions of finished sub-agents, as work of CleanupKind. A session with a waiting or running run is left alone
// until that is over.
func Cleanup(o Options) worker.Handler {
	return worker.Task(worker.Policy{MaxAttempts: maxLooks, Timeout: time.Minute},
		func(ctx context.Context, _ workqueue.Item, what *coordination.WorkScheduled) (json.RawMessage, error) {
			var p messenger.CleanupPayload
			if err := json.Unmarshal(what.Payload, &p); err != nil {
				return nil, worker.Permanent(fmt.Errorf("decode the session to delete: %w", err))
			}
			key, err := coordination.ParseSessionKey(p.SessionKey)
			if err != nil || key.Kind != coordination.KeySubagent {
				return nil, worker.Permanent(fmt.Errorf("%q is not a session of a sub-agent", p.SessionKey))
			}
			_, err = o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
				return remove(tx, &o, key, p.Transcript)
			})
			return nil, err
		})
}

// inUseError reports that a session cannot be deleted yet.
type inUseError struct {
	key  string
	runs int
}

func (e *inUseError) Error() string {
	return fmt.Sprintf("session %s has %d runs that are not over", e.key, e.runs)
}
func (e *inUseError) RetryAfter() time.Duration { return againAfter }

func remove(tx eventstore.Tx, o *Options, key coordination.SessionKey, keepTranscript bool) ([]eventstore.StreamAppend, error) {
	open, err := runs.OpenOf(tx, key.String())
	if err != nil {
		return nil, err
	}
	if len(open) > 0 {
		return nil, &inUseError{key.String(), len(open)}
	}
	state, _, err := sessions.Load(tx, key)
	if err != nil {
		return nil, err
	}
	events, err := session.Delete(state, session.DeleteCommand{
		Command: session.Command{By: cleaner, NewID: o.NewID()}, Main: coordination.MainKey(key.Agent), KeepTranscript: keepTranscript,
	})
	if err != nil {
		return nil, err
	}
	return sessions.Append(state, eventstore.ActorSystem, o.Now().UnixMilli(), events)
}
