package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections/work"
)

// Do is that of worker.Handler: it answers, and returns when the end of the run is on disk. Once the lease is over it writes nothing more:
// Lost does.
func (r *Runner) Do(ctx context.Context, item work.Item) (err error) {
	runID := runIDOf(item)
	defer func() {
		if err != nil { // whoever ends it now, or has, though nobody was told
			r.expect(runID)
		}
	}()
	a := r.running(runID)
	if a == nil {
		return fmt.Errorf("run %s has not begun here", runID)
	}
	inTime, free := a.timed(ctx)
	defer free()
	started := a.result
	a.tell(run.Update{Kind: run.Started, Result: &started})
	o := r.perform(inTime, a)
	if cause := context.Cause(ctx); errors.Is(cause, worker.ErrLease) {
		return cause
	}
	return r.finish(ctx, a, o)
}

// timed is a context that ends when the time of the run is over, or when it is halted, which may have been before its worker came to it.
// The time began with run.started.
func (a *active) timed(ctx context.Context) (timed context.Context, free func()) {
	timed, cancel := context.WithCancelCause(ctx)
	free = func() { cancel(nil) }
	a.mu.Lock()
	a.cancel = cancel
	if a.halted != nil {
		cancel(a.halted)
	}
	a.mu.Unlock()
	if a.timeout > 0 {
		spent := max(a.runner.o.Now().UnixMilli()-a.result.StartedAt, 0) // a clock may have been set back
		var stop context.CancelFunc
		timed, stop = context.WithTimeoutCause(timed, a.timeout-millis(spent), errTimedOut)
		free = func() { stop(); cancel(nil) }
	}
	return timed, free
}

// perform answers. Whatever panics ends this run and nothing else.
func (r *Runner) perform(ctx context.Context, a *active) (o outcome) {
	t := turn{runner: r, active: a}
	defer func() {
		if p := recover(); p != nil {
			o = r.panicked(a, p, debug.Stack(), t.spent())
		}
	}()
	o = t.answer(ctx)
	return o
}

// panicked is the end of a run in which something broke. What it was stands in the log alone.
func (r *Runner) panicked(a *active, p any, stack []byte, spent coordination.RunOver) outcome {
	r.o.Logger.Error("a run panicked", "run", a.result.RunID, "panic", p, "stack", string(stack))
	o := outcome{to: run.Failed, over: spent, last: a.partial("error")}
	o.over.Text, o.over.ErrorClass, o.over.Error = a.said(), classInternal, "something broke inside; the log says what"
	return o
}
