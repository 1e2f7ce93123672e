package redaction

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/work"
)

// Reason is why work ends of which nothing is left.
const Reason = "redacted"

// asked is an open piece of work that an event has asked for.
type asked struct {
	effectID, kind, owner string
}

const selectOpen = "SELECT effect_id, kind, owner FROM work WHERE seq = ?"

// calledOff ends the work that was asked for by events that are going to be blank, while it is still known what that was: nobody could do it, and
// once the tables are made anew nobody would know of it.
func calledOff(tx eventstore.Tx, seqs []int64, by string, now int64) (ends []eventstore.StreamAppend, err error) {
	for _, seq := range seqs {
		var open *asked
		err := tx.Query(selectOpen, []any{seq}, func(row eventstore.Row) error {
			open = &asked{row.Text(0), row.Text(1), row.Text(2)}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("see what was asked for: %w", err)
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

// end is the event that ends it.
func (a *asked) end(payload json.RawMessage, by string, now int64) (eventstore.StreamAppend, error) {
	var typ string
	var data any
	role := coordination.Context{EventRole: coordination.RoleObservability}
	switch a.kind {
	case work.KindRun:
		var q coordination.RunQueued
		_ = json.Unmarshal(payload, &q) // what cannot be read says nothing
		over := coordination.RunOver{Context: q.Context, RunID: q.RunID, SessionKey: q.SessionKey, SessionID: q.SessionID, EndedAtMs: now, Reason: Reason, By: by}
		over.EventRole = coordination.RoleObservability
		typ, data = coordination.TypeRunAborted, over
	case work.KindJob:
		var j coordination.A2AJob
		_ = json.Unmarshal(payload, &j)
		j.EventRole = coordination.RoleOrchestration
		job := coordination.A2AJob{Context: j.Context, JobID: j.JobID, Kind: j.Kind, FromAgent: j.FromAgent, ToAgent: j.ToAgent,
			Outcome: coordination.OutcomeValueCancelled, Reason: Reason, By: by}
		typ, data = coordination.TypeA2AJobCancelled, job
	default:
		typ, data = coordination.TypeWorkCancelled, coordination.WorkAttempt{Context: role, EffectID: a.effectID, Reason: Reason, By: by}
	}
	text, err := json.Marshal(data)
	if err != nil {
		return eventstore.StreamAppend{}, err
	}
	return eventstore.StreamAppend{Stream: decide.Stream(a.effectID), Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: typ, AgentID: a.owner, Actor: eventstore.ActorSystem, Data: text}.WithTS(now)}}, nil
}

// halt calls off what is open because of such events, as operators do it, where somebody is at it: what an agent has in mind it would say again.
func (r *Redactor) halt(ctx context.Context, seqs []int64, by string) error {
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
			var a asked
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
		if err := r.o.CallOff(ctx, effect, by); err != nil { // it may be over by now; the transaction sees to what is not
			r.o.Logger.Info("work that is redacted could not be called off", "effect", effect, "err", err)
		}
	}
	return err
}
