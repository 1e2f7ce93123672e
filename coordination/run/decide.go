package run

import (
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Event is an event to append: a catalogue type and its data.
type Event struct {
	Type string
	Data any
}

// Start starts a queued run; the caller has checked the state in the transaction. sessionID is the transcript, at the start, leaseUntil
// the end of the worker's lease, 0 for none; times are ms since 1970.
func Start(q *coordination.RunQueued, sessionID string, at, leaseUntil int64, model, configHash string) Event {
	data := coordination.RunStarted{
		Context: contextOf(q.Context), RunID: q.RunID, SessionKey: q.SessionKey, SessionID: sessionID, StartedAtMs: at, LeaseUntilMs: leaseUntil,
		Model: model, ConfigHash: configHash,
	}
	return Event{coordination.TypeRunStarted, data}
}

// Park has a running run wait, until it is woken or a time in ms since 1970; 0 is at once.
func Park(c coordination.Context, r Result, approvalID string, at, dueAt int64) Event {
	return Event{coordination.TypeRunParked, coordination.RunParked{Context: contextOf(c), RunID: r.RunID, SessionKey: r.SessionKey, SessionID: r.SessionID,
		ApprovalID: approvalID, ParkedAtMs: at, DueAtMs: dueAt}}
}

// GiveBack has a running run wait for a worker on another machine, from a time in ms since 1970 on; 0 is at once.
func GiveBack(c coordination.Context, r Result, reason string, at, dueAt int64) Event {
	e := Park(c, r, "", at, dueAt)
	parked, _ := e.Data.(coordination.RunParked) // by Park
	parked.Reason = reason
	e.Data = parked
	return e
}

// Wake has a parked run go on.
func Wake(r Result, approvalID string, at int64) Event {
	c := coordination.Context{WorkSessionID: r.WorkSessionID, ConversationID: r.ConversationID, ParentRunID: r.ParentRunID}
	return Event{coordination.TypeRunWoken, coordination.RunWoken{Context: contextOf(c), RunID: r.RunID, SessionKey: r.SessionKey, ApprovalID: approvalID, WokenAtMs: at}}
}

// End ends a run whose current result is r, read in the same transaction. over describes the end in the context of its Ask; ids and
// start time come from r. Texts are masked. Errors are *Refusal: CodeOver for a run already over, CodeNotBegun for OK or TimedOut of one
// that never started.
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
	over.EndedAtMs = max(over.EndedAtMs, r.StartedAt, r.QueuedAt) // the clock may have been set back
	over.Text, over.Error, over.By = coordination.Mask(over.Text), coordination.Mask(over.Error), coordination.Mask(over.By)
	return Event{typ, over}, nil
}

func refuseEnd(r Result, to State) *Refusal {
	refusal := &Refusal{Reason: CodeOver, Field: "state", Value: string(r.State)}
	switch {
	case typeOf(to) == "" || !to.Over():
		refusal.Reason, refusal.Value = CodeNoEnd, string(to)
		refusal.Text, refusal.HintText = "no run ends as "+string(to), "end it as ok, error, aborted or timed_out"
	case r.State.Over():
		refusal.Text, refusal.HintText = "run "+r.RunID+" is over: "+string(r.State), "queue another run"
	default:
		refusal.Reason = CodeNotBegun
		refusal.Text, refusal.HintText = "run "+r.RunID+" has not started", "start it, or end it as error or aborted"
	}
	return refusal
}

// MayRetry reports whether an interrupted run is queued again. After MaxAttempts it is only reported.
func MayRetry(q *coordination.RunQueued) bool {
	return q.OnRestart == OnRestartRetry && len(q.Earlier)+1 < MaxAttempts
}

// Retry queues a run interrupted by a restart again, under newID and due at once. RetryOf stays the first run, which also tells models
// that they are asked again.
func Retry(q coordination.RunQueued, newID string) Event {
	q.RetryOf = RootOf(q.RunID, q.RetryOf)
	q.Earlier = append(slices.Clone(q.Earlier), q.RunID)
	q.RunID, q.Context, q.DueAtMs = newID, contextOf(q.Context), 0
	if q.Reset != "" {
		q.Reset, q.SessionID = "", "" // already done when the first run started
	}
	return Event{coordination.TypeRunQueued, q}
}

// causeContinuation is the cause of runs that services/continuer asks for.
const causeContinuation = "continuation"

// maxResumed limits how often a run that gets ahead each time is continued.
const maxResumed = 100

// MayResume reports whether an interrupted run whose steps are on disk is continued. ahead says that it has added a step itself: after
// MaxAttempts without one it is only reported, in case the run itself crashes the process. A prompt of continuation is not continued: the
// next one tells the agent of the restart.
func MayResume(q *coordination.RunQueued, ahead bool) bool {
	return q.Cause != causeContinuation && len(q.Earlier)+1 < maxResumed && stalled(q, ahead) < MaxAttempts
}

func stalled(q *coordination.RunQueued, ahead bool) int {
	if ahead {
		return 0
	}
	return q.Stalled + 1
}

// Resume queues an interrupted run to continue at its last step, like Retry. sessionID is its transcript, in which the steps are.
func Resume(q coordination.RunQueued, newID, sessionID string, ahead bool) Event {
	q.Resume, q.Stalled = true, stalled(&q, ahead)
	e := Retry(q, newID)
	again, _ := e.Data.(coordination.RunQueued) // by Retry
	again.SessionID = sessionID
	e.Data = again
	return e
}

// RootOf returns the first run: retryOf, or the run itself.
func RootOf(runID, retryOf string) string {
	if retryOf != "" {
		return retryOf
	}
	return runID
}

// MessageOf returns the first run for a message. All attempts share it: repetitions after a restart, and those of a flow without an
// answer.
func MessageOf(runID, retryOf, jobID string) string {
	root := RootOf(runID, retryOf)
	if n, is := strings.CutPrefix(root, jobID+AttemptSuffix); is && jobID != "" && n != "" && strings.Trim(n, "0123456789") == "" {
		return jobID
	}
	return root
}

// AttemptSuffix separates, in run ids of a flow's later attempts at its first answer, the job id from the attempt's number.
const AttemptSuffix = ".r"

// contextOf returns the context of a run's events.
func contextOf(c coordination.Context) coordination.Context {
	c.EventRole = coordination.RoleObservability
	return c
}
