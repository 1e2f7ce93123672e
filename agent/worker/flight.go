package worker

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// flight is an item in progress.
type flight struct {
	item   workqueue.Item
	ctx    context.Context
	cancel context.CancelCauseFunc
	nudge  chan<- struct{} // of the worker
	ending atomic.Bool     // Do has announced the end of the item

	// Used by Run only:
	deadline time.Time // tick: end of the lease, or once cut, of the patience with Do; zero: never
	isCut    bool      // its context has ended because its lease expired
	isLost   bool      // taken away: Do has not returned
	failures int       // of attempts to take it away
	known    int       // number of claims in progress that count on its end
}

// send starts a flight.
func (r *running) send(item workqueue.Item, now moment) {
	f := &flight{item: item, nudge: r.nudge}
	f.ctx, f.cancel = context.WithCancelCause(context.WithValue(r.base, flightKey{}, f))
	if item.LeaseUntil > 0 {
		f.deadline = now.at(time.UnixMilli(item.LeaseUntil))
	}
	r.flying[item.EffectID] = f
	r.claims.Add(1)
	go r.fly(f)
}

// fly runs an item, and makes sure that it does not stay leased.
func (w *Worker) fly(f *flight) {
	defer func() {
		f.cancel(nil)
		select {
		case w.landed <- f:
		case <-w.gone:
		}
	}()
	err := w.do(f)
	why := LostLease
	if errors.Is(context.Cause(f.ctx), ErrDrained) {
		why = LostRestart
	}
	lost, losing := w.settle(f, why)
	switch {
	case losing != nil:
		w.failed.Add(1)
		w.opts.Logger.Error("cannot release work; it is released at the next start", "effect", f.item.EffectID, "kind", f.item.Kind, "err", losing)
	case err != nil || lost:
		w.failed.Add(1)
		w.opts.Logger.Warn("work failed", "effect", f.item.EffectID, "kind", f.item.Kind, "attempt", f.item.Attempt, "requeued", lost, "err", err)
	default:
		w.done.Add(1)
	}
}

func (w *Worker) do(f *flight) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.opts.Logger.Error("a handler panicked", "effect", f.item.EffectID, "kind", f.item.Kind, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return w.handlers[f.item.Kind].Do(f.ctx, f.item)
}

// settle takes an item from a Do that returned without ending it. It retries until the log accepts, or Run has
// returned.
func (w *Worker) settle(f *flight, why string) (lost bool, err error) {
	ctx := context.WithoutCancel(f.ctx)
	for n := 1; ; n++ {
		var is workqueue.Item
		err = w.opts.Log.View(ctx, func(tx *sql.Tx) (err error) {
			is, _, err = workqueue.ByID(ctx, tx, f.item.EffectID)
			return err
		})
		if err == nil && !is.Holds(&f.item) {
			return false, nil
		}
		if err == nil {
			lost = true
			err = w.lose(ctx, f.item, why)
		}
		if err == nil || errors.Is(err, eventstore.ErrClosed) || eventstore.Refused(err, w.opts.Log.Fatal) {
			return lost, err
		}
		if !wait.Unless(w.gone, retries.After(n)) {
			return lost, err
		}
	}
}

// lose takes an item from its attempt, unless it is over. If its handler does not take it back it is given up.
func (w *Worker) lose(ctx context.Context, item workqueue.Item, why string) error {
	now := w.opts.Now()
	var unfit error
	_, err := w.opts.Log.Decide(ctx, func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
		unfit = nil // it may be called again
		is, found, err := workqueue.Load(tx, item.EffectID)
		if err != nil || !found || !is.Holds(&item) {
			return nil, err
		}
		appends, unfit = w.lost(tx, is, why, now)
		return appends, unfit
	})
	if unfit != nil && !w.opts.Log.Fatal(unfit) || err != nil && eventstore.Refused(err, w.opts.Log.Fatal) {
		if unfit == nil {
			unfit = err
		}
		w.opts.Logger.Error("cannot release work whose lease was lost; giving it up", "effect", item.EffectID, "kind", item.Kind, "err", unfit)
		return w.deadLetter(ctx, item, fmt.Errorf("it could not be given back: %w", unfit), now)
	}
	return err
}

// lost lets the handler end or release a leased item, and checks that it does.
func (w *Worker) lost(tx eventstore.Tx, item workqueue.Item, why string, now time.Time) (appends []eventstore.StreamAppend, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.opts.Logger.Error("panic in a handler of work whose lease was lost", "effect", item.EffectID, "kind", item.Kind, "panic", p, "stack", string(debug.Stack()))
			appends, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	appends, err = w.handlers[item.Kind].Lost(tx, item, why, now)
	if err != nil {
		return nil, err
	}
	switch outcome(&item, appends).Step {
	case work.Remove, work.Park, work.Return:
		return appends, nil
	}
	return nil, errors.New("its handler neither ended it nor gave it back")
}

// recover ends or releases everything leased by the previous process. It retries until the log accepts, or ctx ends.
func (r *running) recover(ctx context.Context) error {
	for n := 1; ; n++ {
		err := r.recoverAll(ctx)
		if err == nil || errors.Is(err, eventstore.ErrClosed) || ctx.Err() != nil {
			return err
		}
		r.opts.Logger.Warn("cannot release work of the previous process; will retry", "err", err, "retry_in", retries.After(n))
		if wait.For(ctx, retries.After(n)) != nil {
			return ctx.Err()
		}
	}
}

func (r *running) recoverAll(ctx context.Context) error {
	var items []workqueue.Item
	err := r.opts.Log.View(ctx, func(tx *sql.Tx) (err error) {
		items, err = workqueue.List(ctx, tx, workqueue.Query{State: workqueue.Leased})
		return err
	})
	if err != nil {
		return err
	}
	for _, item := range items {
		if r.handlers[item.Kind] == nil {
			r.warnUnknownKind(item.Kind)
			continue
		}
		if err := r.lose(ctx, item, LostRestart); err != nil {
			return err
		}
		r.opts.Logger.Info("work interrupted by the end of the previous process", "effect", item.EffectID, "kind", item.Kind)
	}
	return nil
}

// cut ends the contexts of flights whose lease has expired, and takes away what Do does not end in time.
func (r *running) cut(now time.Time) {
	for _, f := range r.flying {
		switch {
		case f.deadline.IsZero() || now.Before(f.deadline):
		case !f.isCut:
			f.isCut, f.deadline = true, now.Add(r.opts.Grace)
			f.cancel(ErrLease)
		default:
			if err := r.lose(r.base, f.item, LostLease); err != nil {
				f.failures++
				f.deadline = now.Add(retries.After(f.failures))
				r.opts.Logger.Warn("cannot take away work whose lease has expired; will retry", "effect", f.item.EffectID, "err", err)
				continue
			}
			f.isLost = true
			r.stuck.Add(1)
			r.forget(f)
			r.opts.Logger.Error("work still running after its lease has expired", "effect", f.item.EffectID, "kind", f.item.Kind)
		}
	}
}

// land handles the end of a flight.
func (r *running) land(f *flight) {
	if f.isLost {
		r.stuck.Add(-1)
		return
	}
	r.forget(f)
}

// landAll handles all flights that have ended, so that one claim fills all freed places.
func (r *running) landAll() {
	for {
		select {
		case f := <-r.landed:
			r.land(f)
		default:
			return
		}
	}
}

func (r *running) forget(f *flight) {
	if r.flying[f.item.EffectID] == f {
		delete(r.flying, f.item.EffectID)
	}
}
