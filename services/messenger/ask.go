package messenger

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// Ask returns what is appended to send a message, for a transaction that appends it together with its reason: like Send without waiting;
// Request.Wait is ignored. A refusal is in the result, with the appends that record it, if any. Errors are the log's. It does not see
// what else the transaction appends. A repeated message appends nothing, and the result is its current state.
func (s *Service) Ask(tx eventstore.Tx, r Request, now time.Time) (Result, []eventstore.StreamAppend, error) {
	var asker run.Result
	var err error
	if r.From.RunID != "" {
		if asker, _, err = runs.Load(tx, r.From.RunID); err != nil {
			return Result{}, nil, err
		}
	}
	r.Wait = 0
	op := s.newSendOperation(&r, asker)
	op.now = now
	appends, err := op.decide(tx)
	switch {
	case err != nil:
		return Result{}, nil, err
	case op.refused != nil:
		return op.refusal(), appends, nil
	case op.known == "":
		return op.accepted(), appends, nil
	}
	result, err := op.duplicate(tx)
	return result, nil, err
}

// duplicate returns the result of a repeated message. Why there is no answer comes from the run that was to give it.
func (s *sendOperation) duplicate(tx eventstore.Tx) (Result, error) {
	f, _, err := flows.Load(tx, s.known)
	if err != nil {
		return Result{}, err
	}
	r := Result{RunID: s.known, JobID: s.known, Status: statusAccepted, SessionKey: s.target.String(), ConversationID: f.ConversationID,
		WorkSessionID: f.WorkSessionID, TaskID: f.TaskID, PayloadType: f.PayloadType, PayloadWarnings: s.warned, Duplicate: true}
	r.pending(s.r.NoAnnounce)
	if f.Phase == a2a.Dispatching || f.Phase == a2a.Waiting {
		return r, nil
	}
	last, err := firstAnswerRun(tx, f)
	if err != nil {
		return Result{}, err
	}
	r.settle(f.Said, f.Outcome, "", last)
	return r, nil
}

// firstAnswerRun returns the newest run that was to give the first answer, a blank one for none.
func firstAnswerRun(tx eventstore.Tx, f *a2a.Flow) (last run.Result, err error) {
	for attempt := a2a.MaxRetries + 1; attempt > 0 && err == nil && last.RunID == ""; attempt-- {
		last, _, err = runs.LoadLast(tx, firstRun(f.JobID, attempt))
	}
	return last, err
}
