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
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections"
)

// eventMeta describes how events are appended to a run's stream: actor, time and cause.
type eventMeta struct {
	runID, agentID string
	actor          eventstore.Actor
	at             int64  // ms since 1970
	exchange       string // conversation of the run
	cause          string // id of the causing event
}

// events appends a decision to the run's stream.
func (n *eventMeta) events(decided ...run.Event) (eventstore.StreamAppend, error) {
	a := eventstore.StreamAppend{Stream: coordination.RunStream(n.runID)}
	for _, d := range decided {
		e := eventstore.NewEvent{Type: d.Type, AgentID: n.agentID, Actor: n.actor, CorrelationID: n.exchange, CausationID: n.cause}
		if err := a.Add(e, d.Data, n.at); err != nil {
			return a, err
		}
	}
	return a, nil
}

// queuedRun is the data of a run.queued.
type queuedRun struct {
	coordination.RunQueued
	id       string // of the event
	agentID  string
	actor    eventstore.Actor
	redacted bool // redacted
}

const selectQueued = "SELECT id, type, ver, agent_id, actor, data FROM events WHERE seq = ?"

// readQueued reads the event that queued a run.
func readQueued(tx eventstore.Tx, seq int64) (*queuedRun, error) {
	q, found := &queuedRun{}, false
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

// maxContext is how much of an event's data is read for its context, which comes first: messages may be long.
const maxContext = 64 << 10

const selectContext = "SELECT id, agent_id, substr(data, 1, ?) FROM events WHERE seq = ?"

// readContext reads only the context of the event that queued a run.
func readContext(tx eventstore.Tx, seq int64) (*queuedRun, error) {
	q := &queuedRun{}
	err := tx.Query(selectContext, []any{maxContext, seq}, func(row eventstore.Row) error {
		var id eventstore.ID
		copy(id[:], row.Blob(0))
		q.id, q.agentID, q.redacted = id.String(), row.Text(1), row.Null(2)
		if q.redacted {
			return nil
		}
		context := []byte{'{'}
		_ = coordination.EachField([]byte(row.Text(2)), func(name string, raw []byte) bool { // the truncated part is not part of the context
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

// meta describes an event of the run.
func (q *queuedRun) meta(runID string, actor eventstore.Actor, at int64) *eventMeta {
	return &eventMeta{runID: runID, agentID: q.agentID, actor: actor, at: at, exchange: q.ConversationID, cause: q.id}
}

// persist decides and appends. Temporary failures, such as a full disk, are retried until ctx ends; then it returns
// ctx's cause. Other errors are permanent.
func (r *Runs) persist(ctx context.Context, runID string, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) error {
	for again := 1; ; again++ {
		_, err := r.log.Decide(ctx, decide)
		if err == nil || r.isFinal(err) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if again == 1 {
			r.logger.Warn("cannot write to the log; will retry", "run", runID, "err", err)
		}
		if err := wait.For(ctx, r.backoff(again)); err != nil {
			return err
		}
	}
}

// isFinal reports whether an error of the log is permanent.
func (r *Runs) isFinal(err error) bool {
	refusal := (*run.Refusal)(nil)
	return errors.Is(err, eventstore.ErrClosed) || errors.As(err, &refusal) || r.isRefused(err)
}

// isRefused reports whether the log rejects the events themselves.
func (r *Runs) isRefused(err error) bool {
	var (
		conflict *eventstore.ConflictError
		reuse    *eventstore.IDReuseError
		invalid  *eventstore.InvalidError
		refused  *eventstore.RefusedError
	)
	return errors.As(err, &conflict) || errors.As(err, &reuse) || errors.As(err, &invalid) || errors.As(err, &refused) && !r.log.Fatal(err)
}
