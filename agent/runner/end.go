package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// outcome is how a run ends.
type outcome struct {
	to    run.State
	over  coordination.RunOver
	last  *coordination.SessionMessage // final transcript message; nil for none
	retry bool                         // it is queued again
	next  resumption                   // of what is queued again
	alone bool                         // without consequences: the log would reject them
	waits *tool.WaitsError             // it does not end, but waits for a decision
	media []delivery.Named             // files that the answer names
	// givenBack is why it waits for a worker instead; "": it does not.
	givenBack string

	followed bool // it had consequences when last written
}

// Classes of errors other than models'.
const (
	classTools    = "tools"
	classPrompt   = "prompt"
	classInternal = "internal"
	classWorker   = "worker"
)

// Causes of stopping a run's context, in addition to the worker's.
var errTimedOut = errors.New("the time of the run is over")

// stopRequest is a stop on request.
type stopRequest struct{ reason, by string }

func (h *stopRequest) Error() string { return "stopped: " + h.reason }

// interrupted is the end of a run whose context has ended. cause is the reason, spent its cost.
func (a *activeRun) interrupted(cause error, spent coordination.RunOver) outcome {
	o := outcome{to: run.Aborted, over: spent, last: a.partial("aborted")}
	o.over.Text = a.currentText()
	var h *stopRequest
	switch {
	case errors.As(cause, &h):
		o.over.Reason, o.over.By = h.reason, h.by
	case errors.Is(cause, errTimedOut):
		o.to, o.over.Error = run.TimedOut, fmt.Sprintf("the run took longer than %s", a.timeout)
	default:
		o.over.Reason, o.next = reasonShutdown, a.resumption(a.ahead.Load())
		o.retry = o.next.resume || run.MayRetry(&a.asked.RunQueued)
	}
	return o
}

// applyStop reports a run interrupted by a restart or shutdown as stopped on request if a stop was requested meanwhile, so
// that it is not retried.
func (o *outcome) applyStop(a *activeRun) {
	if h := a.stopRequested(); h != nil && o.to == run.Aborted {
		o.retry, o.over.Reason, o.over.By = false, h.reason, h.by
	}
}

// reasonShutdown is the reason of a run aborted by the shutdown.
const reasonShutdown = "shutdown"

// partial is the text of an incomplete answer, or nil if it is empty or already in the transcript.
func (a *activeRun) partial(stopReason string) *coordination.SessionMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.text == "" || a.kept {
		return nil
	}
	return &coordination.SessionMessage{Author: authorAssistant, Text: a.text, StopReason: stopReason}
}

// finish writes the end of a run and notifies subscribers. It retries until the lease expires or, during a shutdown, the
// grace period.
func (r *Runner) finish(ctx context.Context, a *activeRun, o outcome) error {
	patient, done := r.graceContext(ctx)
	defer done()
	if r.o.Media != nil && o.to == run.OK && a.asked.Deliver {
		o.media = r.o.Media(patient, &a.asked.RunQueued, a.asked.agentID, o.over.Text)
	}
	err := r.writeEnd(patient, a, &o)
	if err != nil && r.isRefused(err) {
		r.logger.Error("cannot record the end of a run as it is; recording a failure", "run", a.result.RunID, "err", err)
		o = outcome{to: run.Failed, over: coordination.RunOver{ErrorClass: classInternal, Error: "its end could not be written"}, retry: o.retry, next: o.next}
		err = r.writeEnd(patient, a, &o)
	}
	return err
}

// writeEnd writes an end with its consequences or, if the log rejects them, without.
func (r *Runner) writeEnd(ctx context.Context, a *activeRun, o *outcome) error {
	err := r.writeEndOnce(ctx, a, o)
	if err != nil && o.followed && r.isRefused(err) {
		r.logWithoutConsequences(a.result.RunID, err)
		o.alone = true
		err = r.writeEndOnce(ctx, a, o)
	}
	return err
}

func (r *Runner) writeEndOnce(ctx context.Context, a *activeRun, o *outcome) error {
	worker.AnnounceEnd(ctx)
	var ended run.Result
	err := r.persist(ctx, a.result.RunID, func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
		result, found, err := runs.Load(tx, a.result.RunID)
		switch {
		case err != nil:
			return nil, err
		case !found:
			return nil, eventstore.ErrNotFound
		}
		o.applyStop(a)
		appends, ended, err = r.endEvents(tx, result, a.asked, o, eventstore.ActorAgent, r.now())
		return appends, err
	})
	if err == nil {
		r.reportEnd(a, ended)
		return nil
	}
	if over := (*run.Refusal)(nil); !errors.As(err, &over) {
		return err
	}
	// It was ended elsewhere.
	result, _, lookErr := r.Get(context.WithoutCancel(ctx), a.result.RunID)
	if lookErr != nil || !isOver(result) {
		return errors.Join(err, lookErr)
	}
	r.reportEnd(a, result)
	return nil
}

// endEvents returns the events of an end: the last message, the end itself, by an actor, and either a retry or the
// consequences.
func (r *Runs) endEvents(tx eventstore.Tx, result run.Result, q *queuedRun, o *outcome, actor eventstore.Actor, now time.Time) (
	[]eventstore.StreamAppend, run.Result, error) {
	at := now.UnixMilli()
	over := o.over
	over.Context, over.EndedAtMs = q.Context, at
	decided, err := run.End(result, o.to, over)
	if err != nil {
		return nil, result, err
	}
	var appends []eventstore.StreamAppend
	if o.last != nil {
		if appends, err = r.appendMessage(tx, result, q, o.last, at); err != nil {
			return nil, result, err
		}
	}
	ended, err := q.meta(result.RunID, actor, at).events(decided)
	if err != nil {
		return nil, result, err
	}
	appends = append(appends, ended)
	if data, ok := decided.Data.(coordination.RunOver); ok {
		over = data
	}
	result = overAs(result, o.to, over)
	if o.retry {
		again := q.meta(r.newID(), eventstore.ActorSystem, at)
		next := run.Retry(q.RunQueued, again.runID)
		if o.next.resume {
			next = run.Resume(q.RunQueued, again.runID, result.SessionID, o.next.ahead)
		}
		queued, err := again.events(next)
		return append(appends, queued), result, err
	}
	appends, err = r.addConsequences(tx, result, q, o, appends, now)
	return appends, result, err
}

// appendMessage adds a message to the transcript the run belongs to, even if the session has another one by now.
func (r *Runs) appendMessage(tx eventstore.Tx, result run.Result, q *queuedRun, m *coordination.SessionMessage, at int64) ([]eventstore.StreamAppend, error) {
	key, err := coordination.ParseSessionKey(result.SessionKey)
	if err != nil {
		return nil, err
	}
	state, _, err := sessions.Load(tx, key)
	if err != nil {
		return nil, err
	}
	said := *m
	said.Context, said.Internal = q.Context, q.Internal
	said.EventRole = coordination.RoleObservability
	said.SessionKey, said.SessionID, said.RunID = result.SessionKey, result.SessionID, result.RunID
	if said.MessageID == "" {
		said.MessageID = r.newID()
	}
	said.Text, said.Error = coordination.Mask(said.Text), coordination.Mask(said.Error)
	return sessions.Append(state, eventstore.ActorAgent, at, []session.Event{{Type: coordination.TypeSessionMessage, Data: said}})
}

// graceContext is a context that ends with the lease at once, and otherwise later than ctx by the grace period.
func (r *Runner) graceContext(ctx context.Context) (patient context.Context, done func()) {
	patient, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); errors.Is(cause, worker.ErrLease) || wait.For(patient, r.o.Grace) == nil {
			cancel(cause)
		}
	})
	return patient, func() {
		unhook()
		cancel(nil)
	}
}
