package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	decide "github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/projections/session"
)

// outcome is how a run ends.
type outcome struct {
	to    run.State
	over  coordination.RunOver
	last  *coordination.SessionMessage // that comes into the transcript with it; nil for none
	retry bool                         // it is asked for once more
	alone bool                         // nothing follows from it: the log would not take that

	followed bool // something did, when it was written last
}

// Classes of errors that are no model's.
const (
	classTools    = "tools"
	classPrompt   = "prompt"
	classInternal = "internal"
)

// Why a run is to stop, as the cause of its context. Those of the worker come beside.
var errTimedOut = errors.New("the time of the run is over")

// halted is that somebody stops it.
type halted struct{ reason, by string }

func (h *halted) Error() string { return "stopped: " + h.reason }

// interrupted is the end of a run whose context has ended. cause is why, spent what it has cost.
func (a *active) interrupted(cause error, spent coordination.RunOver) outcome {
	o := outcome{to: run.Aborted, over: spent, last: a.partial("aborted")}
	o.over.Text = a.said()
	var h *halted
	switch {
	case errors.As(cause, &h):
		o.over.Reason, o.over.By = h.reason, h.by
	case errors.Is(cause, errTimedOut):
		o.to, o.over.Error = run.TimedOut, fmt.Sprintf("the run took longer than %s", a.timeout)
	default:
		o.over.Reason, o.retry = reasonShutdown, run.MayRetry(&a.asked.RunQueued)
	}
	return o
}

// heed makes of what a restart or a shutdown breaks off what somebody has stopped, if somebody has meanwhile: it is not asked for again.
func (o *outcome) heed(a *active) {
	if h := a.stopped(); h != nil && o.to == run.Aborted {
		o.retry, o.over.Reason, o.over.By = false, h.reason, h.by
	}
}

// reasonShutdown is the reason of what is aborted because the program is told to end.
const reasonShutdown = "shutdown"

// partial is what has been said of an answer that did not come to its end, or nil if nothing was, or if it is in the transcript already.
func (a *active) partial(stopReason string) *coordination.SessionMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.text == "" || a.kept {
		return nil
	}
	return &coordination.SessionMessage{Author: authorAssistant, Text: a.text, StopReason: stopReason}
}

// finish writes the end of a run, and tells it. It does not give up before the lease ends, or, once the program is told to end, its grace.
func (r *Runner) finish(ctx context.Context, a *active, o outcome) error {
	patient, done := r.patience(ctx)
	defer done()
	err := r.writeEnd(patient, a, &o)
	if err != nil && r.isRefused(err) {
		r.o.Logger.Error("the end of a run cannot be written as it is", "run", a.result.RunID, "err", err)
		o = outcome{to: run.Failed, over: coordination.RunOver{ErrorClass: classInternal, Error: "its end could not be written"}, retry: o.retry}
		err = r.writeEnd(patient, a, &o)
	}
	return err
}

// writeEnd writes an end with what follows from it, or, if the log would not take that, without.
func (r *Runner) writeEnd(ctx context.Context, a *active, o *outcome) error {
	err := r.writeEndOnce(ctx, a, o)
	if err != nil && o.followed && r.isRefused(err) {
		r.tellAlone(a.result.RunID, err)
		o.alone = true
		err = r.writeEndOnce(ctx, a, o)
	}
	return err
}

func (r *Runner) writeEndOnce(ctx context.Context, a *active, o *outcome) error {
	worker.Ending(ctx)
	var ended run.Result
	err := r.persist(ctx, a.result.RunID, func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
		result, found, err := projection.Load(tx, a.result.RunID)
		switch {
		case err != nil:
			return nil, err
		case !found:
			return nil, eventstore.ErrNotFound
		}
		o.heed(a)
		appends, ended, err = r.ending(tx, result, a.asked, o, eventstore.ActorAgent, r.o.Now())
		return appends, err
	})
	if err == nil {
		r.ended(a, ended)
		return nil
	}
	if over := (*run.Refusal)(nil); !errors.As(err, &over) {
		return err
	}
	// Somebody else has ended it.
	result, _, lookErr := r.Look(context.WithoutCancel(ctx), a.result.RunID)
	if lookErr != nil || !isOver(result) {
		return errors.Join(err, lookErr)
	}
	r.ended(a, result)
	return nil
}

// ending is what is appended for an end: what is said last, what ends the run, by an actor, and what asks for it again, or else follows from
// it.
func (r *Runner) ending(tx eventstore.Tx, result run.Result, q *queued, o *outcome, actor eventstore.Actor, now time.Time) (
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
		if appends, err = r.saying(tx, result, q, o.last, at); err != nil {
			return nil, result, err
		}
	}
	ended, err := q.note(result.RunID, actor, at).events(decided)
	if err != nil {
		return nil, result, err
	}
	appends = append(appends, ended)
	if data, ok := decided.Data.(coordination.RunOver); ok {
		over = data
	}
	result = overAs(result, o.to, over)
	if o.retry {
		again := q.note(r.o.NewID(), eventstore.ActorSystem, at)
		queued, err := again.events(run.Retry(q.RunQueued, again.runID))
		return append(appends, queued), result, err
	}
	appends, err = r.following(tx, result, q, o, appends, now)
	return appends, result, err
}

// saying puts a message of a run into the transcript that the run speaks in, also if the session has another one by now.
func (r *Runner) saying(tx eventstore.Tx, result run.Result, q *queued, m *coordination.SessionMessage, at int64) ([]eventstore.StreamAppend, error) {
	key, err := coordination.ParseSessionKey(result.SessionKey)
	if err != nil {
		return nil, err
	}
	state, _, err := session.Load(tx, key)
	if err != nil {
		return nil, err
	}
	said := *m
	said.Context, said.Internal = q.Context, q.Internal
	said.EventRole = coordination.RoleObservability
	said.SessionKey, said.SessionID, said.RunID = result.SessionKey, result.SessionID, result.RunID
	if said.MessageID == "" {
		said.MessageID = r.o.NewID()
	}
	said.Text, said.Error = coordination.Mask(said.Text), coordination.Mask(said.Error)
	return session.Append(state, eventstore.ActorAgent, at, []decide.Event{{Type: coordination.TypeSessionMessage, Data: said}})
}

// patience is a context that ends with the lease at once, and otherwise later than ctx by the grace.
func (r *Runner) patience(ctx context.Context) (patient context.Context, done func()) {
	patient, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); errors.Is(cause, worker.ErrLease) || pause(patient, r.o.Grace) == nil {
			cancel(cause)
		}
	})
	return patient, func() {
		unhook()
		cancel(nil)
	}
}
