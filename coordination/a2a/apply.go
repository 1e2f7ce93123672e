package a2a

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
)

// Apply folds an event of the job's stream into a flow, and tells whether that changed it. seq is the event's place in the log, at when it
// happened, in ms since 1970; data is nil for one that was redacted. What begins a flow twice, or moves one that is over or was never begun,
// changes nothing. An error is data that is not of its type.
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

// move folds what happens to an open flow.
func (f *Flow) move(typ string, job *coordination.A2AJob, at int64) (changed bool) {
	switch typ {
	case coordination.TypeA2AJobRunning:
		return f.run(job, at)
	case coordination.TypeA2AJobResumed:
		f.Resumed++
		return true
	case coordination.TypeA2AJobCompleted, coordination.TypeA2AJobFailed, coordination.TypeA2AJobAbandoned, coordination.TypeA2AJobCancelled:
		f.Turn = f.taken()
		if job.JobID != "" { // else it was redacted
			f.Turn = job.Turn
		}
		f.say(job.LastText)
		f.Phase, f.DueAt, f.ChangedAt, f.Outcome, f.Post = Over, 0, at, outcomeOf(typ, job.Outcome), ""
		return true
	}
	return false
}

// outcomeOf is the outcome of a flow that an event has ended; one that was redacted says none.
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
	f.say(job.LastText)
	f.Phase, f.DueAt, f.ChangedAt, f.Attempt = Phase(job.Phase), job.DueAtMs, at, job.Attempt
	f.RunID, f.Speaker, f.Turn = job.RunID, job.Speaker, job.Turn
	if job.Reason != "" {
		f.EndedEarly = job.Reason
	}
	if job.Post != "" {
		f.Post = job.Post
	}
	if !same { // else it was only put off
		f.Resumed = 0
	}
	return true
}

// say notes the answer of the run that a flow has waited for.
func (f *Flow) say(text string) {
	if text != "" {
		f.Said = append(f.Said[:len(f.Said):len(f.Said)], Said{Agent: f.Speaker, Text: text})
	}
}
