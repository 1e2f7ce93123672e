package spawn

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/projections/session"
	"github.com/pronto-lab/openclawd/projections/work"
	"github.com/pronto-lab/openclawd/tools/a2a"
)

// CleanupKind is the kind of work that Cleanup does.
const CleanupKind = a2a.CleanupKind

// cleaner is who takes sessions away, as their events have it.
const cleaner = "subagents"

// How often the session of a sub-agent is looked at that somebody still talks with, and for how long: about a week.
const (
	againAfter = 10 * time.Minute
	maxLooks   = 1_000
)

// Cleanup takes the sessions of sub-agents away that are done, as work of CleanupKind. One in which a run waits, or runs, is left alone until
// that is over.
func Cleanup(o Options) worker.Handler {
	return worker.Task(worker.Policy{MaxAttempts: maxLooks, Timeout: time.Minute},
		func(ctx context.Context, _ work.Item, what *coordination.WorkScheduled) (json.RawMessage, error) {
			var p a2a.CleanupPayload
			if err := json.Unmarshal(what.Payload, &p); err != nil {
				return nil, worker.Permanent(fmt.Errorf("read what is to be taken away: %w", err))
			}
			key, err := coordination.ParseSessionKey(p.SessionKey)
			if err != nil || key.Kind != coordination.KeySubagent {
				return nil, worker.Permanent(fmt.Errorf("%q is no session of a sub-agent", p.SessionKey))
			}
			_, err = o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
				return remove(tx, &o, key, p.Transcript)
			})
			return nil, err
		})
}

// inUse says that a session is not taken away yet.
type inUse struct {
	key  string
	runs int
}

func (e *inUse) Error() string {
	return fmt.Sprintf("session %s has %d runs that are not over", e.key, e.runs)
}
func (e *inUse) RetryAfter() time.Duration { return againAfter }

func remove(tx eventstore.Tx, o *Options, key coordination.SessionKey, keepTranscript bool) ([]eventstore.StreamAppend, error) {
	open, err := run.OpenOf(tx, key.String())
	if err != nil {
		return nil, err
	}
	if len(open) > 0 {
		return nil, &inUse{key.String(), len(open)}
	}
	state, _, err := session.Load(tx, key)
	if err != nil {
		return nil, err
	}
	events, err := decide.Delete(state, decide.DeleteCommand{
		Command: decide.Command{By: cleaner, NewID: o.NewID()}, Main: coordination.MainKey(key.Agent), KeepTranscript: keepTranscript,
	})
	if err != nil {
		return nil, err
	}
	return session.Append(state, eventstore.ActorSystem, o.Now().UnixMilli(), events)
}
