package outbound

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/backoff"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// following are events appended beside the delivery's own.
type following func(tx eventstore.Tx) ([]eventstore.StreamAppend, error)

type result struct {
	State      delivery.State `json:"state"`
	ThreadID   string         `json:"threadId,omitempty"`
	MessageIDs []string       `json:"messageIds,omitempty"`
}

// recordFailure records the last failure. mine says whether the attempt still owns the delivery.
func (a *attempt) recordFailure(ctx context.Context) (mine bool, err error) {
	events, err := a.failureEvents(a.o.Now())
	if err != nil || len(events) == 0 {
		return err == nil, err
	}
	return a.append(ctx, events)
}

// failureEvents are the event of the last failure, if not yet in the log.
func (a *attempt) failureEvents(now time.Time) ([]eventstore.NewEvent, error) {
	if a.failure == nil {
		return nil, nil
	}
	e, err := newEvent(coordination.TypeDiscordSendFailed, a.delivery.AgentID, a.failure, now)
	a.failure = nil
	return []eventstore.NewEvent{e}, err
}

// release returns the delivery to the queue, to be continued after a delay.
func (a *attempt) release(ctx context.Context, wait time.Duration) error {
	now := a.o.Now()
	data := coordination.WorkAttempt{Attempt: a.item.Attempt}
	if wait > 0 {
		data.DueAtMs, data.Error = now.Add(wait).UnixMilli(), a.progress.Text
	}
	events, err := a.failureEvents(now)
	if err != nil {
		return err
	}
	e, err := workEvent(&a.item, coordination.TypeWorkReleased, data, now)
	if err != nil {
		return err
	}
	_, err = a.append(ctx, append(events, e))
	return err
}

// giveUp ends an unreadable delivery, without consequences.
func (a *attempt) giveUp(ctx context.Context, why string) error {
	e, err := workEvent(&a.item, coordination.TypeWorkDead, coordination.WorkAttempt{Attempt: a.item.Attempt, Error: why}, a.o.Now())
	if err != nil {
		return err
	}
	_, err = a.append(ctx, []eventstore.NewEvent{e})
	return err
}

// end records the delivery's outcome with its consequences.
func (a *attempt) end(ctx context.Context, o *delivery.Outcome) error {
	now := a.o.Now()
	if o.State != delivery.Done {
		a.o.Logger.Warn("delivery ended without being posted", "effect", a.item.EffectID, "purpose", a.delivery.Purpose, "state", o.State, "code", o.Code,
			"why", o.Text, "hint", o.Hint)
	}
	own, err := a.ends(o, now)
	if err != nil {
		return err
	}
	mine, err := a.appendWith(ctx, own[0].Events, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) { return a.follows(tx, o, now) })
	if mine && a.o.Ended != nil {
		a.o.Ended(&a.delivery, o.State)
	}
	return err
}

// ends are the delivery's own events of an outcome.
func (a *attempt) ends(o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	var events []eventstore.NewEvent
	var errs []error
	add := func(e eventstore.NewEvent, err error) { events, errs = append(events, e), append(errs, err) }
	last := a.failure
	if last == nil {
		f := a.outbound()
		f.Index, f.Step, f.Error = len(a.progress.MessageIDs), delivery.StepPost, o.Text
		if a.delivery.Open != nil && !a.progress.Opened {
			f.Step = delivery.StepOpen
		}
		last = &f
	}
	switch {
	case o.State == delivery.Failed:
		last.ErrorCode, last.Escalate = o.Code, o.Escalate
		last.Forgets = a.forgets(o)
		add(newEvent(coordination.TypeDiscordSendFailed, a.delivery.AgentID, last, now))
	case a.failure != nil:
		add(newEvent(coordination.TypeDiscordSendFailed, a.delivery.AgentID, a.failure, now))
	}
	if o.State == delivery.Unknown {
		u := a.outbound()
		u.Step, u.Index, u.Error, u.ErrorCode, u.Escalate = delivery.StepPost, len(a.progress.MessageIDs), work.Tidy(o.Text), o.Code, o.Escalate
		if a.delivery.Open != nil && !a.progress.Opened {
			u.Step = delivery.StepOpen
		} else {
			u.Nonce = a.delivery.Nonce(a.item.EffectID, a.delivery.Place(a.progress.ThreadID), u.Index)
		}
		add(newEvent(coordination.TypeDiscordDeliveryUnknown, a.delivery.AgentID, u, now))
	}
	typ, data := coordination.TypeWorkCompleted, coordination.WorkAttempt{Attempt: a.item.Attempt}
	if o.State == delivery.Failed || o.State == delivery.Unknown {
		typ, data.Error = coordination.TypeWorkDead, work.Tidy(o.Code+": "+o.Text+"; "+o.Hint)
	} else {
		text, err := json.Marshal(result{o.State, o.ThreadID, o.MessageIDs})
		data.Result, errs = text, append(errs, err)
	}
	add(workEvent(&a.item, typ, data, now))
	return []eventstore.StreamAppend{{Stream: coordination.WorkStream(a.item.EffectID), Events: events}}, errors.Join(errs...)
}

// forgets is the key of a thread not to be reused, "" for none: a reuse key, or the conversation it reports on.
func (a *attempt) forgets(o *delivery.Outcome) string {
	switch d := &a.delivery; {
	case !o.Forget:
	case d.Open != nil:
		return d.Open.ReuseKey
	case d.ReportOf != "":
		return "report/" + d.ReportOf
	}
	return ""
}

// follows returns the purpose's consequences of an outcome, none if the log already records such an outcome. An error
// is the log's; others are logged and have no consequences.
func (a *attempt) follows(tx eventstore.Tx, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	then := a.o.Then[a.delivery.Purpose]
	if then == nil || !a.known || a.progress.IsRecorded(o.State) {
		return nil, nil
	}
	appends, err := a.ask(then, tx, o, now)
	switch {
	case err == nil:
		return appends, nil
	case a.o.Log.Fatal(err):
		return nil, err
	}
	a.o.Logger.Error("cannot determine the follow-up events of a delivery; skipped", "effect", a.item.EffectID, "purpose", a.delivery.Purpose, "err", err)
	return nil, nil
}

func (a *attempt) ask(then Then, tx eventstore.Tx, o *delivery.Outcome, now time.Time) (appends []eventstore.StreamAppend, err error) {
	defer func() {
		if p := recover(); p != nil {
			appends, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	d, outcome := a.delivery, *o
	return then(tx, a.item.EffectID, &d, &outcome, now)
}

func (a *attempt) append(ctx context.Context, events []eventstore.NewEvent) (mine bool, err error) {
	return a.appendWith(ctx, events, nil)
}

// retries are the delays between attempts to write to the log.
var retries = backoff.Backoff{First: 40 * time.Millisecond, Most: 5 * time.Second}

// appendWith appends the delivery's events and their consequences while the attempt owns the delivery. Temporary
// failures are retried until the context ends; rejected consequences are left out.
func (a *attempt) appendWith(ctx context.Context, events []eventstore.NewEvent, follow following) (mine bool, err error) {
	for n := 1; ; n++ {
		more := false
		_, err := a.o.Log.Decide(context.WithoutCancel(ctx), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
			mine, more = false, false // it may be called again
			is, found, err := workqueue.Load(tx, a.item.EffectID)
			if err != nil || !found || !is.Holds(&a.item) {
				return nil, err
			}
			mine = true
			appends := []eventstore.StreamAppend{{Stream: coordination.WorkStream(a.item.EffectID), Events: events}}
			if follow == nil {
				return appends, nil
			}
			after, err := follow(tx)
			more = len(after) > 0
			return append(appends, after...), err
		})
		switch {
		case err == nil:
			return mine, nil
		case more && eventstore.Refused(err, a.o.Log.Fatal):
			a.o.Logger.Error("cannot store the follow-up events of a delivery; skipped", "effect", a.item.EffectID, "err", err)
			follow = nil
			continue
		case errors.Is(err, eventstore.ErrClosed) || eventstore.Refused(err, a.o.Log.Fatal):
			return false, err
		}
		pause := retries.After(n)
		a.o.Logger.Warn("cannot record delivery progress; will retry", "effect", a.item.EffectID, "err", err, "retry_in", pause)
		if wait.For(ctx, pause) != nil {
			return false, err
		}
	}
}
