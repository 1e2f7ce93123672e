package a2a

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
)

// Apply folds an event of the job's stream into a flow, and reports whether that changed it. seq is the event's place
// in the log, at its time in ms since 1970; data is nil if it was redacted. A second beginning, and any event of a
// flow that is over or was never started, changes nothing. An error means that the data is not of its type.
func (f *Flow) Apply(typ string, data json.RawMessage, seq, at int64) (changed bool, err error) {
	if typ == coordination.TypeA2AJobCreated {
		if f.Phase != "" {
			return false, nil
		}
		var created coordination.A2AJobCreated
		if err := decode(data, &created); err != nil {
			return false, err
		}
		f.begin(created, seq, at)
		f.Redacted = data == nil
		return true, nil
	}
	if !f.Phase.Open() {
		return false, nil
	}
	var job coordination.A2AJob
	if err := decode(data, &job); err != nil {
		return false, err
	}
	return f.move(typ, &job, at), nil
}

func decode(data json.RawMessage, into any) error {
	if data == nil {
		return nil
	}
	return json.Unmarshal(data, into)
}

func (f *Flow) begin(created coordination.A2AJobCreated, seq, at int64) {
	*f = Flow{A2AJobCreated: created, Seq: seq, Phase: Waiting, DueAt: created.DueAtMs, CreatedAt: at, ChangedAt: at}
	if Phase(created.Phase) == Dispatching {
		f.Phase = Dispatching
		return
	}
	f.RunID, f.Speaker, f.Attempt = created.JobID, created.ToAgent, 1
}

// move folds a change of an open flow.
func (f *Flow) move(typ string, job *coordination.A2AJob, at int64) (changed bool) {
	switch typ {
	case coordination.TypeA2AJobRunning:
		return f.run(job, at)
	case coordination.TypeA2AJobResumed:
		f.Resumed++
		return true
	case coordination.TypeA2AJobCompleted, coordination.TypeA2AJobFailed, coordination.TypeA2AJobAbandoned, coordination.TypeA2AJobCancelled:
		f.Turn = f.taken()
		if job.JobID != "" { // otherwise it was redacted
			f.Turn = job.Turn
		}
		f.setAnswer(job.LastText)
		f.Phase, f.DueAt, f.ChangedAt, f.Outcome, f.Post = Over, 0, at, outcomeOf(typ, job.Outcome), ""
		return true
	}
	return false
}

// outcomeOf returns the outcome of a flow from the event that ended it; a redacted event has none.
func outcomeOf(typ, said string) string {
	switch {
	case said != "":
		return said
	case typ == coordination.TypeA2AJobFailed:
		return coordination.OutcomeValueFailed
	case typ == coordination.TypeA2AJobAbandoned:
		return coordination.OutcomeValueAbandoned
	case typ == coordination.TypeA2AJobCancelled:
		return coordination.OutcomeValueCancelled
	}
	return OutcomeOK
}

func (f *Flow) run(job *coordination.A2AJob, at int64) (changed bool) {
	switch Phase(job.Phase) {
	case Waiting, Turn, Announcing, Posting:
	default:
		return false
	}
	same := Phase(job.Phase) == f.Phase && job.RunID == f.RunID && job.Attempt == f.Attempt
	f.setAnswer(job.LastText)
	f.Phase, f.DueAt, f.ChangedAt, f.Attempt = Phase(job.Phase), job.DueAtMs, at, job.Attempt
	f.RunID, f.Speaker, f.Turn = job.RunID, job.Speaker, job.Turn
	if job.Reason != "" {
		f.EndedEarly = job.Reason
	}
	if job.Post != "" {
		f.Post = job.Post
	}
	if !same { // otherwise it was only postponed
		f.Resumed = 0
	}
	return true
}

// setAnswer stores the answer of the run that a flow has waited for.
func (f *Flow) setAnswer(text string) {
	if text != "" {
		f.Said = append(f.Said[:len(f.Said):len(f.Said)], AnswerPreview{Agent: f.Speaker, Text: text})
	}
}
