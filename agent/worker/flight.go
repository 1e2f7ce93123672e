package worker

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	queue "github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/work"
)

// flight is an item that is under way.
type flight struct {
	item   work.Item
	ctx    context.Context
	cancel context.CancelCauseFunc
	nudge  chan<- struct{} // of the worker
	ending atomic.Bool     // Do has said that it is about to end the item

	// Of Run alone:
	deadline time.Time // tick: end of the lease, or when cut of the patience with Do; zero: never
	isCut    bool      // its context has ended because its lease did
	isLost   bool      // it was taken away: Do has not come back
	failures int       // of attempts to take it away
	known    int       // how many claims that are under way count on its ending
}

// send begins a flight.
func (r *running) send(item work.Item, now moment) {
	f := &flight{item: item, nudge: r.nudge}
	f.ctx, f.cancel = context.WithCancelCause(context.WithValue(r.base, flightKey{}, f))
	if item.LeaseUntil > 0 {
		f.deadline = now.at(time.UnixMilli(item.LeaseUntil))
	}
	r.flying[item.EffectID] = f
	r.claims.Add(1)
	go r.fly(f)
}

// fly does an item, and sees to it that it does not stay leased.
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
		w.opts.Logger.Error("work could not be given back; it will be at the next start", "effect", f.item.EffectID, "kind", f.item.Kind, "err", losing)
	case err != nil || lost:
		w.failed.Add(1)
		w.opts.Logger.Warn("work was not done", "effect", f.item.EffectID, "kind", f.item.Kind, "attempt", f.item.Attempt, "given_back", lost, "err", err)
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

// settle takes an item away from a Do that has returned, if it has left it leased. It tries until the log takes that, or Run has returned.
func (w *Worker) settle(f *flight, why string) (lost bool, err error) {
	ctx := context.WithoutCancel(f.ctx)
	for n := 1; ; n++ {
		var is work.Item
		err = w.opts.Log.View(ctx, func(tx *sql.Tx) (err error) {
			is, _, err = work.ByID(ctx, tx, f.item.EffectID)
			return err
		})
		if err == nil && !is.Holds(&f.item) {
			return false, nil
		}
		if err == nil {
			lost = true
			err = w.lose(ctx, f.item, why)
		}
		if err == nil || errors.Is(err, eventstore.ErrClosed) || w.refused(err) {
			return lost, err
		}
		timer := time.NewTimer(pause(n))
		select {
		case <-timer.C:
		case <-w.gone:
			timer.Stop()
			return lost, err
		}
	}
}

// lose takes an item away from the attempt at it that has begun, unless it is over. What its handler does not take back is given up.
func (w *Worker) lose(ctx context.Context, item work.Item, why string) error {
	now := w.opts.Now()
	var unfit error
	_, err := w.opts.Log.Decide(ctx, func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
		unfit = nil // it may be called again
		is, found, err := work.Load(tx, item.EffectID)
		if err != nil || !found || !is.Holds(&item) {
			return nil, err
		}
		appends, unfit = w.lost(tx, is, why, now)
		return appends, unfit
	})
	if unfit != nil && !w.opts.Log.Fatal(unfit) || err != nil && w.refused(err) {
		if unfit == nil {
			unfit = err
		}
		w.opts.Logger.Error("lost work cannot be given back and is given up", "effect", item.EffectID, "kind", item.Kind, "err", unfit)
		return w.bury(ctx, item, fmt.Errorf("it could not be given back: %w", unfit), now)
	}
	return err
}

// lost asks the handler what becomes of an item that is leased, and checks that it is not any more.
func (w *Worker) lost(tx eventstore.Tx, item work.Item, why string, now time.Time) (appends []eventstore.StreamAppend, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.opts.Logger.Error("a handler panicked over lost work", "effect", item.EffectID, "kind", item.Kind, "panic", p, "stack", string(debug.Stack()))
			appends, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	appends, err = w.handlers[item.Kind].Lost(tx, item, why, now)
	if err != nil {
		return nil, err
	}
	switch outcome(&item, appends).Step {
	case queue.Remove, queue.Park, queue.Return:
		return appends, nil
	}
	return nil, errors.New("its handler neither ended it nor gave it back")
}

// recover ends, or gives back, all that the process before has left leased. It tries until the log takes it, or ctx ends.
func (r *running) recover(ctx context.Context) error {
	for n := 1; ; n++ {
		err := r.recoverAll(ctx)
		if err == nil || errors.Is(err, eventstore.ErrClosed) || ctx.Err() != nil {
			return err
		}
		r.opts.Logger.Warn("what was under way before cannot be given back for now", "err", err, "again_in", pause(n))
		timer := time.NewTimer(pause(n))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

func (r *running) recoverAll(ctx context.Context) error {
	var items []work.Item
	err := r.opts.Log.View(ctx, func(tx *sql.Tx) (err error) {
		items, err = work.List(ctx, tx, work.Query{State: work.Leased})
		return err
	})
	if err != nil {
		return err
	}
	for _, item := range items {
		if r.handlers[item.Kind] == nil {
			r.tellUnknown(item.Kind)
			continue
		}
		if err := r.lose(ctx, item, LostRestart); err != nil {
			return err
		}
		r.opts.Logger.Info("work was under way when the process ended", "effect", item.EffectID, "kind", item.Kind)
	}
	return nil
}

// cut ends the contexts of flights whose lease is over, and takes away what a Do does not give back in time.
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
				f.deadline = now.Add(pause(f.failures))
				r.opts.Logger.Warn("work whose time is over cannot be taken away for now", "effect", f.item.EffectID, "err", err)
				continue
			}
			f.isLost = true
			r.stuck.Add(1)
			r.forget(f)
			r.opts.Logger.Error("work does not end although its time is over", "effect", f.item.EffectID, "kind", f.item.Kind)
		}
	}
}

// land takes note that a flight is over.
func (r *running) land(f *flight) {
	if f.isLost {
		r.stuck.Add(-1)
		return
	}
	r.forget(f)
}

// landAll takes note of what else is over already, so that one claim fills all that got free.
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
