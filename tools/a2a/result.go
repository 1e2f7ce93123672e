package a2a

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/a2a"
	projected "github.com/pronto-lab/openclawd/projections/run"
)

// Values of Delivery.
const (
	deliveryPending = "pending"
	deliveryDone    = "delivered"
	deliveryBlocked = "blocked"
	deliveryMode    = "announce"
)

// Values of Result.State.
const (
	stateQueued  = "queued"
	stateRunning = "running"
)

// refusal is the result of a message that was not taken on.
func (s *sending) refusal() Result {
	why := s.refused
	r := Result{RunID: s.jobID, Status: why.status, Error: coordination.Mask(why.reason), Code: why.code, Mend: coordination.Mask(why.mend),
		SessionKey: s.target.String(), PayloadWarnings: s.warned}
	if s.created.JobID != "" { // it was taken on, and its run was refused
		r.JobID, r.ConversationID, r.WorkSessionID, r.TaskID = s.jobID, s.created.ConversationID, s.created.WorkSessionID, s.created.TaskID
		r.Delivery = &Delivery{Status: deliveryBlocked}
	}
	return r
}

// accepted is the result of a message that nobody waits for.
func (s *sending) accepted() Result {
	f := &s.created
	r := Result{RunID: f.JobID, JobID: f.JobID, Status: statusAccepted, SessionKey: f.DisplayKey, ConversationID: f.ConversationID,
		WorkSessionID: f.WorkSessionID, TaskID: f.TaskID, PayloadType: f.PayloadType, PayloadWarnings: s.warned}
	r.pending(f.NoAnnounce)
	return r
}

// pending says that there is no answer yet.
func (r *Result) pending(noAnnounce bool) {
	if r.Delivery = &(Delivery{Status: deliveryPending, Mode: deliveryMode}); noAnnounce {
		r.Delivery.Mode = ""
	}
}

// await waits for the first answer, as long as the sender wants to, unless who is to give it waits for the sender.
func (c *Coordinator) await(ctx context.Context, s *sending) (Result, error) {
	inTime, cancel := context.WithTimeout(ctx, s.r.Wait)
	defer cancel()
	r, err := c.resultOf(context.WithoutCancel(ctx), s) // what came before it was waited for
	if err != nil || r.Status != statusAccepted {
		return r, err
	}
	if s.r.From.RunID != "" && s.left == nil {
		if s.claim(s.answers); s.left == nil {
			return r, nil
		}
	}
	select {
	case <-s.waiting.done:
	case <-inTime.Done():
		// From here on the requester's session is told of an end without an answer. What was decided before is on disk once a transaction has ended.
		s.leave()
		if _, err := c.o.Log.Decide(context.WithoutCancel(ctx), func(eventstore.Tx) ([]eventstore.StreamAppend, error) { return nil, nil }); err != nil {
			return Result{}, err
		}
	}
	s.waited = true
	return c.resultOf(context.WithoutCancel(ctx), s)
}

// resultOf is how a message stands that was sent: accepted, or timeout for who has waited, as long as there is no answer.
func (c *Coordinator) resultOf(ctx context.Context, s *sending) (r Result, err error) {
	err = c.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		r, err = s.standing(ctx, tx)
		return err
	})
	return r, err
}

// standing is resultOf within a read.
func (s *sending) standing(ctx context.Context, tx *sql.Tx) (Result, error) {
	row, found, err := projection.ByID(ctx, tx, s.jobID)
	switch {
	case err != nil:
		return Result{}, err
	case !found:
		return Result{}, fmt.Errorf("flow %s was sent and is not there", s.jobID)
	}
	s.answers = row.TargetSessionKey
	r := Result{RunID: s.jobID, JobID: s.jobID, Status: statusAccepted, SessionKey: s.target.String(), ConversationID: row.ConversationID,
		WorkSessionID: row.WorkSessionID, TaskID: row.TaskID, PayloadType: row.PayloadType, PayloadWarnings: s.warned, Duplicate: s.known != ""}
	r.pending(s.r.NoAnnounce)
	runs, err := projected.List(ctx, tx, projected.Query{JobID: s.jobID})
	switch {
	case err != nil:
		return Result{}, err
	case isAnswered(&row):
		last, err := lastFirst(ctx, tx, row.JobID, runs)
		if err != nil {
			return Result{}, err
		}
		r.settle(row.Said, row.Outcome, row.Reason, last)
	case s.waited:
		r.timedOut(s.r.Wait, &row, runs)
	}
	return r, nil
}

// timedOut says how far a message has come that is not answered in time.
func (r *Result) timedOut(wait time.Duration, row *projection.Row, runs []run.Result) {
	r.Status, r.Error = statusTimeout, fmt.Sprintf("no answer within %s; the exchange goes on", wait)
	r.Delivery, r.State = &Delivery{Status: deliveryPending}, stateQueued
	if row.Phase == decide.Waiting {
		r.Delivery.Status = deliveryDone
	}
	for i := range runs {
		if runs[i].State == run.Running {
			r.State = stateRunning
		}
	}
}

// settle says what the first answer was, or why there is none. last is the newest run that was to give it, a blank one if there is none.
func (r *Result) settle(said []decide.Said, outcome, reason string, last run.Result) {
	if len(said) > 0 {
		r.Status, r.Delivery = statusOK, &Delivery{Status: deliveryDone}
		if r.Reply = said[0].Text; last.State == run.OK && last.Over != nil { // else it is redacted, and how it began is all that is left
			r.Reply = decide.Plain(last.Over.Text)
		}
		return
	}
	why := ""
	if last.Over != nil && last.State.Over() {
		why = cmp.Or(last.Over.Error, last.Over.Reason)
	}
	r.Status, r.Code, r.Error = statusError, outcome, decide.OutcomeText(decide.Cut(why, maxReason), reason)
	if r.Delivery = &(Delivery{Status: deliveryDone}); last.RunID == "" {
		r.Delivery.Status = deliveryBlocked
	}
}

// lastFirst is the newest of the runs that were to give the first answer, a blank one if there is none. runs are those of the flow, the newest
// first.
func lastFirst(ctx context.Context, tx *sql.Tx, jobID string, runs []run.Result) (last run.Result, err error) {
	for i := range runs {
		if isFirst(jobID, &runs[i]) {
			last, _, err = projected.ByID(ctx, tx, runs[i].RunID)
			return last, err
		}
	}
	return last, nil
}

// isFirst reports whether a run was to give the first answer.
func isFirst(jobID string, r *run.Result) bool {
	return run.MessageOf(r.RunID, r.RetryOf, jobID) == jobID
}
