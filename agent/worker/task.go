package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Policy limits attempts.
type Policy struct {
	MaxAttempts int           // unless the item says otherwise; 0 is 5
	Timeout     time.Duration // of one attempt; 0 is 5 minutes

	// Then returns the consequences of the end of an item, appended with it: when it is done, and each time it is
	// given up. It reads only from tx and is fast. An error, a panic, or events the log rejects are logged, and the
	// item ends without them. nil: none.
	Then func(tx eventstore.Tx, end Ended, now time.Time) ([]eventstore.StreamAppend, error)
}

// Func performs the scheduled effect. It is called again with the same effect id after a failure, and if the process
// died before the success was on disk. An error with RetryAfter() time.Duration delays the next attempt; Permanent
// prevents it. The result, a JSON object of at most 64 KiB or nil, is stored in the log and must contain no secret.
type Func func(ctx context.Context, item workqueue.Item, what *coordination.WorkScheduled) (result json.RawMessage, err error)

// Task handles a kind of work.scheduled: failures are retried with growing delays, and given up after the last
// attempt. An attempt interrupted by a restart counts.
func Task(policy Policy, do Func) Handler {
	policy.MaxAttempts = cmp.Or(policy.MaxAttempts, 5)
	policy.Timeout = cmp.Or(policy.Timeout, 5*time.Minute)
	return &task{policy: policy, do: do}
}

// Permanent marks an error as final: no further attempt is made.
func Permanent(err error) error { return &permanent{err} }

type permanent struct{ err error }

func (p *permanent) Error() string { return p.err.Error() }
func (p *permanent) Unwrap() error { return p.err }

type task struct {
	policy Policy
	do     Func
	worker *Worker
}

// of returns the task as a worker's handler.
func (t *task) of(w *Worker) *task { return &task{policy: t.policy, do: t.do, worker: w} }

func (t *task) most(item *workqueue.Item) int { return cmp.Or(item.Most, t.policy.MaxAttempts) }

// Begin implements Handler.
func (t *task) Begin(_ eventstore.Tx, item workqueue.Item, now time.Time) ([]eventstore.StreamAppend, error) {
	return item.Appends(coordination.TypeWorkLeased,
		coordination.WorkAttempt{Attempt: item.Attempt + 1, LeaseUntilMs: now.Add(t.policy.Timeout).UnixMilli()}, now)
}

// Do implements Handler.
func (t *task) Do(ctx context.Context, item workqueue.Item) error {
	what, err := t.read(ctx, item.Seq)
	var result json.RawMessage
	if err == nil {
		result, err = t.do(ctx, item, what)
	}
	cause := context.Cause(ctx)
	if err != nil && errors.Is(cause, ErrDrained) {
		return nil // it is released
	}
	if err != nil && errors.Is(cause, ErrLease) {
		err = fmt.Errorf("it took longer than %s: %w", t.policy.Timeout, err)
	}
	return t.end(ctx, &item, result, err)
}

// read returns the scheduled data.
func (t *task) read(ctx context.Context, seq int64) (*coordination.WorkScheduled, error) {
	e, err := t.worker.opts.Log.Event(ctx, seq)
	if err != nil {
		return nil, fmt.Errorf("read what was scheduled: %w", err)
	}
	if e.Redacted() {
		return nil, Permanent(errors.New("what was scheduled has been redacted"))
	}
	var what coordination.WorkScheduled
	if err := json.Unmarshal(e.Data, &what); err != nil {
		return nil, Permanent(fmt.Errorf("read what was scheduled: %w", err))
	}
	return &what, nil
}

// maxResult is the size limit of a stored result, in bytes.
const maxResult = 64 << 10

// end appends the result of an attempt, unless the item was taken away meanwhile. It retries until the log accepts it.
func (t *task) end(ctx context.Context, item *workqueue.Item, result json.RawMessage, failure error) error {
	AnnounceEnd(ctx)
	w := t.worker
	now := w.opts.Now()
	typ, data := t.outcome(item, result, failure, now)
	appends := t.ends
	if typ == coordination.TypeWorkReleased {
		appends = alone
	}
	for n := 1; ; n++ {
		more := false
		_, err := w.opts.Log.Decide(context.WithoutCancel(ctx), func(tx eventstore.Tx) (list []eventstore.StreamAppend, err error) {
			more = false // it may be called again
			is, found, err := workqueue.Load(tx, item.EffectID)
			if err != nil || !found || !is.Holds(item) {
				return nil, err
			}
			list, err = appends(tx, item, typ, data, now)
			more = len(list) > 1
			return list, err
		})
		if err == nil {
			return failure
		}
		if more && eventstore.Refused(err, w.opts.Log.Fatal) {
			w.opts.Logger.Error("cannot store the follow-up events of a work item; skipped", "effect", item.EffectID,
				"kind", item.Kind, "err", err)
			appends = alone
			continue
		}
		if errors.Is(err, eventstore.ErrClosed) || eventstore.Refused(err, w.opts.Log.Fatal) {
			return errors.Join(failure, err)
		}
		w.opts.Logger.Warn("cannot record the result of work; will retry", "effect", item.EffectID, "err", err, "retry_in", retries.After(n))
		if !wait.Unless(w.gone, retries.After(n)) {
			return errors.Join(failure, err)
		}
	}
}

// outcome is the event that results from an attempt.
func (t *task) outcome(item *workqueue.Item, result json.RawMessage, failure error, now time.Time) (typ string, data coordination.WorkAttempt) {
	data = coordination.WorkAttempt{Attempt: item.Attempt}
	if failure == nil {
		data.Result = result
		if len(result) > maxResult || result != nil && (!json.Valid(result) || coordination.EachField(result, func(string, []byte) bool { return false }) != nil) {
			data.Result, data.Error = nil, "its result was not kept: it is no JSON object, or larger than 64 KiB"
		}
		return coordination.TypeWorkCompleted, data
	}
	data.Error = work.Tidy(failure.Error())
	var last *permanent
	if errors.As(failure, &last) || item.Attempt >= t.most(item) {
		return coordination.TypeWorkDead, data
	}
	var hint interface{ RetryAfter() time.Duration }
	var after time.Duration
	if errors.As(failure, &hint) {
		after = hint.RetryAfter()
	}
	data.DueAtMs = now.Add(work.Backoff(item.Attempt, after, t.worker.opts.Jitter())).UnixMilli()
	return coordination.TypeWorkReleased, data
}

// Lost implements Handler.
func (t *task) Lost(tx eventstore.Tx, item workqueue.Item, why string, now time.Time) ([]eventstore.StreamAppend, error) {
	data := coordination.WorkAttempt{Attempt: item.Attempt, Reason: why}
	if item.Attempt >= t.most(&item) {
		data.Error = "the last attempt was broken off: " + why
		return t.ends(tx, &item, coordination.TypeWorkDead, data, now)
	}
	if why == LostLease {
		data.DueAtMs = now.Add(work.Backoff(item.Attempt, 0, t.worker.opts.Jitter())).UnixMilli()
	}
	return item.Appends(coordination.TypeWorkLeaseExpired, data, now)
}

// Refused implements Refuser.
func (t *task) Refused(tx eventstore.Tx, item workqueue.Item, why error, now time.Time) ([]eventstore.StreamAppend, error) {
	return t.ends(tx, &item, coordination.TypeWorkDead, coordination.WorkAttempt{Attempt: item.Attempt, Error: work.Tidy(why.Error())}, now)
}
