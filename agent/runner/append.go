package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// note is who says what events are appended to the stream of a run, when and because of what.
type note struct {
	runID, agentID string
	actor          eventstore.Actor
	at             int64  // ms since 1970
	exchange       string // the conversation that it belongs to
	cause          string // id of the event that caused it
}

// events puts what was decided into the stream of its run.
func (n *note) events(decided ...run.Event) (eventstore.StreamAppend, error) {
	a := eventstore.StreamAppend{Stream: coordination.RunStream(n.runID)}
	for _, d := range decided {
		data, err := json.Marshal(d.Data)
		if err != nil {
			return a, fmt.Errorf("write %s: %w", d.Type, err)
		}
		a.Events = append(a.Events, eventstore.NewEvent{Type: d.Type, AgentID: n.agentID, Actor: n.actor, Data: data,
			CorrelationID: n.exchange, CausationID: n.cause}.WithTS(n.at))
	}
	return a, nil
}

// queued is what run.queued says of a run.
type queued struct {
	coordination.RunQueued
	id       string // of the event
	agentID  string
	actor    eventstore.Actor
	redacted bool // nothing is left of what was asked
}

const selectQueued = "SELECT id, type, ver, agent_id, actor, data FROM events WHERE seq = ?"

// readQueued reads the event that asked for a run.
func readQueued(tx eventstore.Tx, seq int64) (*queued, error) {
	q, found := &queued{}, false
	err := tx.Query(selectQueued, []any{seq}, func(row eventstore.Row) error {
		found = true
		var id eventstore.ID
		copy(id[:], row.Blob(0))
		e := eventstore.Event{ID: id, Type: row.Text(1), Ver: int(row.Int(2)), AgentID: row.Text(3), Actor: eventstore.Actor(row.Text(4))}
		q.id, q.agentID, q.actor, q.redacted = id.String(), e.AgentID, e.Actor, row.Null(5)
		if q.redacted {
			return nil
		}
		e.Data = json.RawMessage(row.Text(5))
		return json.Unmarshal(projections.Current(&e).Data, &q.RunQueued)
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("read what run was asked for at %d: %w", seq, err)
	case !found:
		return nil, fmt.Errorf("read what run was asked for at %d: %w", seq, eventstore.ErrNotFound)
	}
	return q, nil
}

// maxContext is how much of an event's data is read for its context, which comes first in it: messages may be long.
const maxContext = 64 << 10

const selectContext = "SELECT id, agent_id, substr(data, 1, ?) FROM events WHERE seq = ?"

// readContext reads where the run belongs that an event asked for, and nothing else of what it says.
func readContext(tx eventstore.Tx, seq int64) (*queued, error) {
	q := &queued{}
	err := tx.Query(selectContext, []any{maxContext, seq}, func(row eventstore.Row) error {
		var id eventstore.ID
		copy(id[:], row.Blob(0))
		q.id, q.agentID, q.redacted = id.String(), row.Text(1), row.Null(2)
		if q.redacted {
			return nil
		}
		context := []byte{'{'}
		_ = coordination.EachField([]byte(row.Text(2)), func(name string, raw []byte) bool { // what is cut off is not of the context
			if name == "runId" {
				return false
			}
			if len(context) > 1 {
				context = append(context, ',')
			}
			context = strconv.AppendQuote(context, name)
			context = append(append(context, ':'), raw...)
			return true
		})
		return json.Unmarshal(append(context, '}'), &q.Context)
	})
	if err != nil {
		return nil, fmt.Errorf("read where the run belongs that was asked for at %d: %w", seq, err)
	}
	return q, nil
}

// note says that something has become of the run.
func (q *queued) note(runID string, actor eventstore.Actor, at int64) *note {
	return &note{runID: runID, agentID: q.agentID, actor: actor, at: at, exchange: q.ConversationID, cause: q.id}
}

// persist decides and appends. While the log takes nothing, because the disk is full or it has too much to do, it tries again until ctx
// ends; then it gives ctx's cause. Other errors mean that it will never be taken.
func (r *Runner) persist(ctx context.Context, runID string, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) error {
	for again := 1; ; again++ {
		_, err := r.o.Log.Decide(ctx, decide)
		if err == nil || r.isFinal(err) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if again == 1 {
			r.o.Logger.Warn("the log takes nothing; trying again", "run", runID, "err", err)
		}
		if err := pause(ctx, r.o.Backoff(again)); err != nil {
			return err
		}
	}
}

// isFinal reports whether an error of the log stays, however often one tries.
func (r *Runner) isFinal(err error) bool {
	refusal := (*run.Refusal)(nil)
	return errors.Is(err, eventstore.ErrClosed) || errors.As(err, &refusal) || r.isRefused(err)
}

// isRefused reports whether the log will never take what is appended, as it is.
func (r *Runner) isRefused(err error) bool {
	var (
		conflict *eventstore.ConflictError
		reuse    *eventstore.IDReuseError
		invalid  *eventstore.InvalidError
		refused  *eventstore.RefusedError
	)
	return errors.As(err, &conflict) || errors.As(err, &reuse) || errors.As(err, &invalid) || errors.As(err, &refused) && !r.o.Log.Fatal(err)
}
