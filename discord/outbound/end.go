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
	queue "github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/work"
)

// following is what is appended beside the delivery's own events.
type following func(tx eventstore.Tx) ([]eventstore.StreamAppend, error)

// result is what work.completed says of a delivery.
type result struct {
	State      delivery.State `json:"state"`
	ThreadID   string         `json:"threadId,omitempty"`
	MessageIDs []string       `json:"messageIds,omitempty"`
}

// tell writes down the last failure. mine says whether the attempt still has the delivery.
func (a *attempt) tell(ctx context.Context) (mine bool, err error) {
	events, err := a.failureEvents(a.o.Now())
	if err != nil || len(events) == 0 {
		return err == nil, err
	}
	return a.append(ctx, events)
}

// failureEvents are the event of the last failure, if it is not in the log yet.
func (a *attempt) failureEvents(now time.Time) ([]eventstore.NewEvent, error) {
	if a.failure == nil {
		return nil, nil
	}
	e, err := newEvent(coordination.TypeDiscordSendFailed, a.delivery.AgentID, a.failure, now)
	a.failure = nil
	return []eventstore.NewEvent{e}, err
}

// release gives the delivery back, to be gone on with after a while.
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

// giveUp ends what nobody can read. Nothing follows from that.
func (a *attempt) giveUp(ctx context.Context, why string) error {
	e, err := workEvent(&a.item, coordination.TypeWorkDead, coordination.WorkAttempt{Attempt: a.item.Attempt, Error: why}, a.o.Now())
	if err != nil {
		return err
	}
	_, err = a.append(ctx, []eventstore.NewEvent{e})
	return err
}

// end writes down how the delivery has ended, with what follows from that.
func (a *attempt) end(ctx context.Context, o *delivery.Outcome) error {
	now := a.o.Now()
	if o.State != delivery.Done {
		a.o.Logger.Warn("a delivery ends without being posted", "effect", a.item.EffectID, "purpose", a.delivery.Purpose, "state", o.State, "code", o.Code,
			"why", o.Text, "mend", o.Mend)
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

// ends are the delivery's own events of an end.
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
		u.Step, u.Index, u.Error, u.ErrorCode, u.Escalate = delivery.StepPost, len(a.progress.MessageIDs), queue.Tidy(o.Text), o.Code, o.Escalate
		if a.delivery.Open != nil && !a.progress.Opened {
			u.Step = delivery.StepOpen
		} else {
			u.Nonce = a.delivery.Nonce(a.item.EffectID, a.delivery.Place(a.progress.ThreadID), u.Index)
		}
		add(newEvent(coordination.TypeDiscordDeliveryUnknown, a.delivery.AgentID, u, now))
	}
	typ, data := coordination.TypeWorkCompleted, coordination.WorkAttempt{Attempt: a.item.Attempt}
	if o.State == delivery.Failed || o.State == delivery.Unknown {
		typ, data.Error = coordination.TypeWorkDead, queue.Tidy(o.Code+": "+o.Text+"; "+o.Mend)
	} else {
		text, err := json.Marshal(result{o.State, o.ThreadID, o.MessageIDs})
		data.Result, errs = text, append(errs, err)
	}
	add(workEvent(&a.item, typ, data, now))
	return []eventstore.StreamAppend{{Stream: coordination.WorkStream(a.item.EffectID), Events: events}}, errors.Join(errs...)
}

// forgets is what was kept under the thread that is not to be used again, "" for nothing: a reuse key, or the conversation that it reports of.
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

// follows is what the purpose has follow from an end, nothing if the log has told of such an end before. An error is the log's; any other is logged,
// and nothing follows.
func (a *attempt) follows(tx eventstore.Tx, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	then := a.o.Then[a.delivery.Purpose]
	if then == nil || !a.known || a.progress.Told(o.State) {
		return nil, nil
	}
	appends, err := a.ask(then, tx, o, now)
	switch {
	case err == nil:
		return appends, nil
	case a.o.Log.Fatal(err):
		return nil, err
	}
	a.o.Logger.Error("what follows from the end of a delivery is not known, and is left out", "effect", a.item.EffectID, "purpose", a.delivery.Purpose, "err", err)
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

// Pauses after which the log is asked again, doubled each time.
const (
	firstPause   = 40 * time.Millisecond
	longestPause = 5 * time.Second
)

// appendWith appends events of the delivery, and what follows, as long as the attempt still has it. What the log does not take for now is tried
// again until the context ends; what it does not take of what follows is left out.
func (a *attempt) appendWith(ctx context.Context, events []eventstore.NewEvent, follow following) (mine bool, err error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		more := false
		_, err := a.o.Log.Decide(context.WithoutCancel(ctx), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
			mine, more = false, false // it may be called again
			is, found, err := work.Load(tx, a.item.EffectID)
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
		case more && a.refused(err):
			a.o.Logger.Error("what follows from the end of a delivery cannot be stored, and is left out", "effect", a.item.EffectID, "err", err)
			follow = nil
			continue
		case errors.Is(err, eventstore.ErrClosed) || a.refused(err):
			return false, err
		}
		a.o.Logger.Warn("how far a delivery has come cannot be written for now", "effect", a.item.EffectID, "err", err, "again_in", pause)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false, err
		}
	}
}

// refused reports whether an append failed for what was in it: to try it again would change nothing.
func (h *Handler) refused(err error) bool {
	var (
		conflict *eventstore.ConflictError
		invalid  *eventstore.InvalidError
		reuse    *eventstore.IDReuseError
		refused  *eventstore.RefusedError
	)
	return errors.As(err, &conflict) || errors.As(err, &invalid) || errors.As(err, &reuse) || errors.As(err, &refused) && !h.o.Log.Fatal(err)
}
