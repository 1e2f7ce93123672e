package redact

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Reason is recorded for work that ends because its request was redacted.
const Reason = "redacted"

// openWork is unfinished work that an event requested.
type openWork struct {
	effectID, kind, owner string
}

const selectOpen = "SELECT effect_id, kind, owner FROM work WHERE seq = ?"

// cancelWork ends the work that was requested by events about to be blanked, while its payload can still be read:
// it could not be done without it, and rebuilt tables would not contain it.
func cancelWork(tx eventstore.Tx, seqs []int64, by string, now int64) (ends []eventstore.StreamAppend, err error) {
	for _, seq := range seqs {
		var open *openWork
		err := tx.Query(selectOpen, []any{seq}, func(row eventstore.Row) error {
			open = &openWork{row.Text(0), row.Text(1), row.Text(2)}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read open work: %w", err)
		}
		if open == nil {
			continue
		}
		var payload json.RawMessage
		if err := tx.Query("SELECT data FROM events WHERE seq = ?", []any{seq}, func(row eventstore.Row) error {
			payload = json.RawMessage(row.Text(0))
			return nil
		}); err != nil {
			return nil, err
		}
		end, err := open.end(payload, by, now)
		if err != nil {
			return nil, err
		}
		ends = append(ends, end)
	}
	return ends, nil
}

// end returns the event that ends it.
func (a *openWork) end(payload json.RawMessage, by string, now int64) (eventstore.StreamAppend, error) {
	var typ string
	var data any
	role := coordination.Context{EventRole: coordination.RoleObservability}
	switch a.kind {
	case workqueue.KindRun:
		var q coordination.RunQueued
		_ = json.Unmarshal(payload, &q) // without a readable payload the fields stay empty
		over := coordination.RunOver{Context: q.Context, RunID: q.RunID, SessionKey: q.SessionKey, SessionID: q.SessionID, EndedAtMs: now, Reason: Reason, By: by}
		over.EventRole = coordination.RoleObservability
		typ, data = coordination.TypeRunAborted, over
	case workqueue.KindJob:
		var j coordination.A2AJob
		_ = json.Unmarshal(payload, &j)
		j.EventRole = coordination.RoleOrchestration
		job := coordination.A2AJob{Context: j.Context, JobID: j.JobID, Kind: j.Kind, FromAgent: j.FromAgent, ToAgent: j.ToAgent,
			Outcome: coordination.OutcomeValueCancelled, Reason: Reason, By: by}
		typ, data = coordination.TypeA2AJobCancelled, job
	default:
		typ, data = coordination.TypeWorkCancelled, coordination.WorkAttempt{Context: role, EffectID: a.effectID, Reason: Reason, By: by}
	}
	end := eventstore.StreamAppend{Stream: work.Stream(a.effectID)}
	err := end.Add(eventstore.NewEvent{Type: typ, AgentID: a.owner, Actor: eventstore.ActorSystem}, data, now)
	return end, err
}

// stopRunning cancels open work of such events that is being worked on, as operators do: an agent would repeat what it
// has in its context.
func (r *Redactor) stopRunning(ctx context.Context, seqs []int64, by string) error {
	if r.o.CallOff == nil {
		return nil
	}
	var open []string
	err := r.o.Log.View(ctx, func(tx *sql.Tx) error {
		stmt, err := tx.PrepareContext(ctx, selectOpen)
		if err != nil {
			return err
		}
		defer stmt.Close()
		for _, seq := range seqs {
			var a openWork
			switch err := stmt.QueryRowContext(ctx, seq).Scan(&a.effectID, &a.kind, &a.owner); {
			case errors.Is(err, sql.ErrNoRows):
			case err != nil:
				return err
			default:
				open = append(open, a.effectID)
			}
		}
		return nil
	})
	for _, effect := range open {
		if err := r.o.CallOff(ctx, effect, by); err != nil { // it may have ended by now; the transaction ends the rest
			r.o.Logger.Info("cannot cancel work that is redacted", "effect", effect, "err", err)
		}
	}
	return err
}
