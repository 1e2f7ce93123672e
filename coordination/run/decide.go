package run

import (
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Event is what a decision makes happen: a type of the catalogue and its data.
type Event struct {
	Type string
	Data any
}

// Start begins a run that is queued; whether it is, its caller has seen in the transaction that appends this. sessionID is the transcript
// that it speaks in, at when it begins, leaseUntil when it is taken away from its worker, 0 for never; both in ms since 1970.
func Start(q *coordination.RunQueued, sessionID string, at, leaseUntil int64, model, configHash string) Event {
	data := coordination.RunStarted{
		Context: contextOf(q.Context), RunID: q.RunID, SessionKey: q.SessionKey, SessionID: sessionID, StartedAtMs: at, LeaseUntilMs: leaseUntil,
		Model: model, ConfigHash: configHash,
	}
	return Event{coordination.TypeRunStarted, data}
}

// End ends a run as r, read in the transaction that appends this, says that it stands. over says what came of it, in the context of its
// ask; the ids and when it began are r's. Its texts are masked here. A run is ended once: errors are *Refusal, with CodeOver for one that
// is over already, and CodeNotBegun for one that is said to be OK or TimedOut and has never begun.
func End(r Result, to State, over coordination.RunOver) (Event, error) {
	typ := typeOf(to)
	if _, moves := Next(r.State, typ); !moves || !to.Over() {
		return Event{}, refuseEnd(r, to)
	}
	over.Context = contextOf(over.Context)
	over.RunID, over.SessionKey, over.StartedAtMs = r.RunID, r.SessionKey, r.StartedAt
	if r.SessionID != "" {
		over.SessionID = r.SessionID
	}
	over.EndedAtMs = max(over.EndedAtMs, r.StartedAt, r.QueuedAt) // a clock may have been set back
	over.Text, over.Error, over.By = coordination.Mask(over.Text), coordination.Mask(over.Error), coordination.Mask(over.By)
	return Event{typ, over}, nil
}

func refuseEnd(r Result, to State) *Refusal {
	refusal := &Refusal{Code: CodeOver, Field: "state", Value: string(r.State)}
	switch {
	case typeOf(to) == "" || !to.Over():
		refusal.Code, refusal.Value = CodeNoEnd, string(to)
		refusal.Text, refusal.Mend = "no run ends as "+string(to), "end it as ok, error, aborted or timed_out"
	case r.State.Over():
		refusal.Text, refusal.Mend = "run "+r.RunID+" is over: "+string(r.State), "ask for another run"
	default:
		refusal.Code = CodeNotBegun
		refusal.Text, refusal.Mend = "run "+r.RunID+" has not begun", "begin it, or end it as error or aborted"
	}
	return refusal
}

// MayRetry says whether a run is to be asked for once more when it is broken off. After MaxAttempts it is only reported.
func MayRetry(q *coordination.RunQueued) bool {
	return q.OnRestart == OnRestartRetry && len(q.Earlier)+1 < MaxAttempts
}

// Retry asks for what a restart broke off once more, under newID, at once: it was due before. RetryOf is the run that was asked for at
// first, however often it was broken off since, and so is what tells models that they are asked again.
func Retry(q coordination.RunQueued, newID string) Event {
	q.RetryOf = RootOf(q.RunID, q.RetryOf)
	q.Earlier = append(slices.Clone(q.Earlier), q.RunID)
	q.RunID, q.Context, q.DueAtMs = newID, contextOf(q.Context), 0
	if q.Reset != "" {
		q.Reset, q.SessionID = "", "" // it was done when the first one began, and closed the transcript
	}
	return Event{coordination.TypeRunQueued, q}
}

// RootOf is the run that was asked for at first: retryOf, or the run itself.
func RootOf(runID, retryOf string) string {
	if retryOf != "" {
		return retryOf
	}
	return runID
}

// MessageOf is the run with which a message was asked to be answered at first: all attempts at it have the same, those that repeat what a restart broke
// off as well as those that a flow makes when there was no answer.
func MessageOf(runID, retryOf, jobID string) string {
	root := RootOf(runID, retryOf)
	if n, is := strings.CutPrefix(root, jobID+AttemptSuffix); is && jobID != "" && n != "" && strings.Trim(n, "0123456789") == "" {
		return jobID
	}
	return root
}

// AttemptSuffix comes between the id of a flow's job and the number of an attempt at its first answer, in the ids of the runs from the second one on.
const AttemptSuffix = ".r"

// contextOf is what an event of a run says of where it belongs.
func contextOf(c coordination.Context) coordination.Context {
	c.EventRole = coordination.RoleObservability
	return c
}
