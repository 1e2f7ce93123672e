package messenger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/runs"
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

func (s *sendOperation) refusal() Result {
	why := s.refused
	r := Result{RunID: s.jobID, Status: why.status, Error: coordination.Mask(why.reason), Code: why.code, Hint: coordination.Mask(why.hint),
		SessionKey: s.target.String(), PayloadWarnings: s.warned}
	if s.created.JobID != "" { // the message was accepted, but its run was refused
		r.JobID, r.ConversationID, r.WorkSessionID, r.TaskID = s.jobID, s.created.ConversationID, s.created.WorkSessionID, s.created.TaskID
		r.Delivery = &Delivery{Status: deliveryBlocked}
	}
	return r
}

func (s *sendOperation) accepted() Result {
	f := &s.created
	r := Result{RunID: f.JobID, JobID: f.JobID, Status: statusAccepted, SessionKey: f.DisplayKey, ConversationID: f.ConversationID,
		WorkSessionID: f.WorkSessionID, TaskID: f.TaskID, PayloadType: f.PayloadType, PayloadWarnings: s.warned}
	r.pending(f.NoAnnounce)
	return r
}

func (r *Result) pending(noAnnounce bool) {
	if r.Delivery = &(Delivery{Status: deliveryPending, Mode: deliveryMode}); noAnnounce {
		r.Delivery.Mode = ""
	}
}

// await waits for the first answer up to the sender's timeout, unless the target waits for the sender.
func (s *Service) await(ctx context.Context, op *sendOperation) (Result, error) {
	inTime, cancel := context.WithTimeout(ctx, op.r.Wait)
	defer cancel()
	r, err := s.resultOf(context.WithoutCancel(ctx), op) // results from before the wait
	if err != nil || r.Status != statusAccepted {
		return r, err
	}
	if op.r.From.RunID != "" && op.left == nil {
		if op.claim(op.answers); op.left == nil {
			return r, nil
		}
	}
	select {
	case <-op.waiting.done:
	case <-inTime.Done():
		// From here on the requester's session is told of an end without an answer. Earlier decisions are on disk once a transaction has
		// ended.
		op.leave()
		if _, err := s.o.Log.Decide(context.WithoutCancel(ctx), func(eventstore.Tx) ([]eventstore.StreamAppend, error) { return nil, nil }); err != nil {
			return Result{}, err
		}
	}
	op.waited = true
	return s.resultOf(context.WithoutCancel(ctx), op)
}

// resultOf returns the current result of a sent message; without an answer accepted, or timeout if the sender has waited.
func (s *Service) resultOf(ctx context.Context, op *sendOperation) (r Result, err error) {
	err = s.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		r, err = op.readResult(ctx, tx)
		return err
	})
	return r, err
}

// readResult is resultOf within a read.
func (s *sendOperation) readResult(ctx context.Context, tx *sql.Tx) (Result, error) {
	row, found, err := flows.ByID(ctx, tx, s.jobID)
	switch {
	case err != nil:
		return Result{}, err
	case !found:
		return Result{}, fmt.Errorf("flow %s was sent but is missing", s.jobID)
	}
	s.answers = row.TargetSessionKey
	r := Result{RunID: s.jobID, JobID: s.jobID, Status: statusAccepted, SessionKey: s.target.String(), ConversationID: row.ConversationID,
		WorkSessionID: row.WorkSessionID, TaskID: row.TaskID, PayloadType: row.PayloadType, PayloadWarnings: s.warned, Duplicate: s.known != ""}
	r.pending(s.r.NoAnnounce)
	runs, err := runs.List(ctx, tx, runs.Query{JobID: s.jobID})
	switch {
	case err != nil:
		return Result{}, err
	case isAnswered(&row):
		last, err := newestFirstRun(ctx, tx, row.JobID, runs)
		if err != nil {
			return Result{}, err
		}
		r.settle(row.Said, row.Outcome, row.Reason, last)
	case s.waited:
		r.timedOut(s.r.Wait, &row, runs)
	}
	return r, nil
}

// timedOut reports the progress of a message without an answer in time.
func (r *Result) timedOut(wait time.Duration, row *flows.Row, runs []run.Result) {
	r.Status, r.Error = statusTimeout, fmt.Sprintf("no answer within %s; the exchange goes on", wait)
	r.Delivery, r.State = &Delivery{Status: deliveryPending}, stateQueued
	if row.Phase == a2a.Waiting {
		r.Delivery.Status = deliveryDone
	}
	for i := range runs {
		if runs[i].State == run.Running {
			r.State = stateRunning
		}
	}
}

// settle reports the first answer, or why there is none. last is the newest run that was to give it, a blank one for none.
func (r *Result) settle(said []a2a.AnswerPreview, outcome, reason string, last run.Result) {
	if len(said) > 0 {
		r.Status, r.Delivery = statusOK, &Delivery{Status: deliveryDone}
		if r.Reply = said[0].Text; last.State == run.OK && last.Over != nil { // else it is redacted, and only the preview is left
			r.Reply = a2a.Plain(last.Over.Text)
		}
		return
	}
	why := ""
	if last.Over != nil && last.State.Over() {
		why = cmp.Or(last.Over.Error, last.Over.Reason)
	}
	r.Status, r.Code, r.Error = StatusError, outcome, a2a.OutcomeText(a2a.Cut(why, maxReason), reason)
	if r.Delivery = &(Delivery{Status: deliveryDone}); last.RunID == "" {
		r.Delivery.Status = deliveryBlocked
	}
}

// newestFirstRun returns the newest run that was to give the first answer, a blank one for none. runs are the flow's runs, newest first.
func newestFirstRun(ctx context.Context, tx *sql.Tx, jobID string, runList []run.Result) (last run.Result, err error) {
	for i := range runList {
		if isFirst(jobID, &runList[i]) {
			last, _, err = runs.ByID(ctx, tx, runList[i].RunID)
			return last, err
		}
	}
	return last, nil
}

// isFirst reports whether a run was to give the first answer.
func isFirst(jobID string, r *run.Result) bool {
	return run.MessageOf(r.RunID, r.RetryOf, jobID) == jobID
}
