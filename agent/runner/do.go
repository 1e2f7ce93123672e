package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/pronto-lab/openclawd/agent/remote"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Do implements worker.Handler: it answers, and returns when the end of the run is on disk. After the lease expires it
// writes nothing more: Lost does.
func (r *Runner) Do(ctx context.Context, item workqueue.Item) (err error) {
	runID := runIDOf(item)
	defer func() {
		if err != nil { // another goroutine ends it, or has without notice
			r.expectEnd(runID)
		}
	}()
	a := r.running(runID)
	if a == nil {
		return fmt.Errorf("run %s was not started here", runID)
	}
	inTime, free := a.timed(ctx)
	defer free()
	started := a.result
	if a.resumed {
		a.notify(run.Update{Kind: run.Resumed, Result: &started})
	} else {
		a.notify(run.Update{Kind: run.Started, Result: &started})
	}
	o := r.performWhere(inTime, a)
	if cause := context.Cause(ctx); errors.Is(cause, worker.ErrLease) {
		return cause
	}
	if o.waits != nil {
		return r.park(ctx, a, o)
	}
	return r.finish(ctx, a, o)
}

// timed returns a context that ends at the run's timeout, or when the run is stopped, possibly before its worker
// started it. The time counts from run.started.
func (a *activeRun) timed(ctx context.Context) (timed context.Context, free func()) {
	timed, cancel := context.WithCancelCause(ctx)
	free = func() { cancel(nil) }
	a.mu.Lock()
	a.cancel = cancel
	if a.stopRequest != nil {
		cancel(a.stopRequest)
	}
	a.mu.Unlock()
	if a.timeout > 0 {
		spent := max(a.runner.now().UnixMilli()-a.result.StartedAt, 0) // the clock may have been set back
		var stop context.CancelFunc
		timed, stop = context.WithTimeoutCause(timed, a.timeout-millis(spent), errTimedOut)
		free = func() { stop(); cancel(nil) }
	}
	return timed, free
}

// perform answers. A panic ends only this run.
func (r *Runner) perform(ctx context.Context, a *activeRun, place *remote.Place) (o outcome) {
	t := turn{runner: r, activeRun: a, place: place}
	defer func() {
		if p := recover(); p != nil {
			o = r.panicked(a, p, debug.Stack(), t.spent())
		}
	}()
	o = t.answer(ctx)
	return o
}

// panicked is the end of a run after a panic. The details are only in the log file.
func (r *Runner) panicked(a *activeRun, p any, stack []byte, spent coordination.RunOver) outcome {
	r.logger.Error("a run panicked", "run", a.result.RunID, "panic", p, "stack", string(stack))
	o := outcome{to: run.Failed, over: spent, last: a.partial("error")}
	o.over.Text, o.over.ErrorClass, o.over.Error = a.currentText(), classInternal, "something broke inside; the log says what"
	return o
}
