package a2a

import (
	"time"

	decide "github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/a2a"
	projected "github.com/pronto-lab/openclawd/projections/run"
)

// Ask says what is appended to have a message sent, within the transaction that appends it and its reason: as Send does, for who does not wait.
// What refuses it is told by the result, and then what is appended, if anything, tells of the refusal. Only errors of the log are errors.
// Request.Wait is not heeded. It does not see what else the transaction appends. Of one that was sent before nothing is appended, and the result
// is how it stands.
func (c *Coordinator) Ask(tx eventstore.Tx, r Request, now time.Time) (Result, []eventstore.StreamAppend, error) {
	var asker run.Result
	var err error
	if r.From.RunID != "" {
		if asker, _, err = projected.Load(tx, r.From.RunID); err != nil {
			return Result{}, nil, err
		}
	}
	r.Wait = 0
	s := c.sending(&r, asker)
	s.now = now
	appends, err := s.decide(tx)
	switch {
	case err != nil:
		return Result{}, nil, err
	case s.refused != nil:
		return s.refusal(), appends, nil
	case s.known == "":
		return s.accepted(), appends, nil
	}
	result, err := s.duplicate(tx)
	return result, nil, err
}

// duplicate is the result of a message that was sent before. Why nobody has answered it says as far as the run does that was to.
func (s *sending) duplicate(tx eventstore.Tx) (Result, error) {
	f, _, err := projection.Load(tx, s.known)
	if err != nil {
		return Result{}, err
	}
	r := Result{RunID: s.known, JobID: s.known, Status: statusAccepted, SessionKey: s.target.String(), ConversationID: f.ConversationID,
		WorkSessionID: f.WorkSessionID, TaskID: f.TaskID, PayloadType: f.PayloadType, PayloadWarnings: s.warned, Duplicate: true}
	r.pending(s.r.NoAnnounce)
	if f.Phase == decide.Dispatching || f.Phase == decide.Waiting {
		return r, nil
	}
	last, err := firstAnswering(tx, f)
	if err != nil {
		return Result{}, err
	}
	r.settle(f.Said, f.Outcome, "", last)
	return r, nil
}

// firstAnswering is the newest of the runs that were to give the first answer, a blank one if there is none.
func firstAnswering(tx eventstore.Tx, f *decide.Flow) (last run.Result, err error) {
	for attempt := decide.MaxRetries + 1; attempt > 0 && err == nil && last.RunID == ""; attempt-- {
		last, _, err = projected.LoadLast(tx, firstRun(f.JobID, attempt))
	}
	return last, err
}
