package tools

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/agent/remote"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// maxLeft bounds the calls of one tool that are left behind; with that many it is not called again.
const maxLeft = 16

const maxLogged = 8 << 10

// outcome is the result of a call. The zero outcome is broken: the call ended without a result.
type outcome struct {
	out   tool.Output
	err   error
	cause string // why it broke, for the log
	stack string
}

const (
	going int32 = iota
	ended
	leftBehind
)

// call calls a tool and waits for its answer, or until ctx has ended and the grace period is over.
func (r *Registry) call(ctx context.Context, e *entry, call *Call) (tool.Output, error) {
	if e.left.Load() >= maxLeft {
		return tool.Output{}, r.broken(ctx, e, call, &outcome{cause: "earlier calls of it have not ended"})
	}
	var state atomic.Int32
	done := make(chan *outcome, 1)
	r.stats.running.Add(1)
	go r.do(ctx, e, call, func(o *outcome) {
		r.stats.running.Add(-1)
		if !state.CompareAndSwap(going, ended) {
			e.left.Add(-1)
			r.stats.left.Add(-1)
			_, _ = r.answer(ctx, e, call, o) // logs a broken call
		}
		done <- o
	})
	select {
	case o := <-done:
		return r.answer(ctx, e, call, o)
	case <-ctx.Done():
	}
	grace := time.NewTimer(r.opts.Grace)
	defer grace.Stop()
	select {
	case o := <-done:
		return r.answer(ctx, e, call, o)
	case <-grace.C:
	}
	e.left.Add(1)
	r.stats.left.Add(1)
	if state.CompareAndSwap(going, leftBehind) {
		return tool.Output{}, ctx.Err()
	}
	e.left.Add(-1)
	r.stats.left.Add(-1)
	return r.answer(ctx, e, call, <-done)
}

// do calls a tool, if the guard allows it, and passes the outcome to tell, even if either panics or ends its goroutine.
func (r *Registry) do(ctx context.Context, e *entry, call *Call, tell func(*outcome)) {
	o := &outcome{cause: "it ended without an answer"}
	defer func() {
		if v := recover(); v != nil {
			o.cause, o.stack = fmt.Sprintf("panic: %v", v), string(debug.Stack())
		}
		tell(o)
	}()
	if guard := r.opts.Guard; guard != nil {
		spec := e.spec()
		o.err = guard(ctx, call, &spec)
	}
	if o.err == nil {
		o.out, o.err = r.perform(ctx, e, call)
	}
	o.cause = ""
}

// perform calls a tool, through the journal if it has an effect outside of this program.
func (r *Registry) perform(ctx context.Context, e *entry, call *Call) (tool.Output, error) {
	do := func(ctx context.Context) (tool.Output, error) { return e.Do(ctx, call) }
	if place := remote.From(ctx); place != nil && e.OnMachine() {
		do = func(ctx context.Context) (tool.Output, error) { return elsewhere(ctx, place, e.Name, call) }
	}
	switch {
	case !e.Effect.Outside:
		return do(ctx)
	case r.opts.Journal == nil:
		return tool.Output{}, errors.New("calls with an outside effect are not recorded here")
	}
	return r.opts.Journal.Perform(ctx, call, &e.Tool, do)
}

func (r *Registry) answer(ctx context.Context, e *entry, call *Call, o *outcome) (tool.Output, error) {
	if o.cause != "" {
		return tool.Output{}, r.broken(ctx, e, call, o)
	}
	if o.err != nil {
		if waits := (*tool.WaitsError)(nil); errors.As(o.err, &waits) {
			return tool.Output{}, waits
		}
		if known := (*tool.Error)(nil); errors.As(o.err, &known) {
			own := *known
			own.Tool = e.Name
			return tool.Output{}, &own
		}
		if ended := ctx.Err(); ended != nil {
			return tool.Output{}, ended
		}
		o.cause = o.err.Error()
		return tool.Output{}, r.broken(ctx, e, call, o)
	}
	out, err := bounded(o.out)
	if err != nil {
		o.cause = err.Error()
		return tool.Output{}, r.broken(ctx, e, call, o)
	}
	return out, nil
}

// broken logs why a tool broke and returns the error for its caller.
func (r *Registry) broken(ctx context.Context, e *entry, call *Call, o *outcome) error {
	r.stats.broken.Add(1)
	attrs := []any{"tool", e.Name, "entry", string(call.Entry), "session", call.SessionKey, "run", call.RunID,
		"err", coordination.Mask(coordination.Clipped(o.cause, maxLogged))}
	if o.stack != "" {
		attrs = append(attrs, "stack", coordination.Mask(coordination.Clipped(o.stack, maxLogged)))
	}
	r.opts.Logger.ErrorContext(ctx, "a tool call broke", attrs...)
	return &tool.Error{Code: tool.CodeBroken, Tool: e.Name, Text: "tool execution failed", Hint: "the program's log says why"}
}

// Stats are counters since the registry was made.
type Stats struct {
	Calls   int64
	Unknown int64 // refused: no such tool, or not for this caller
	Invalid int64 // refused for their arguments
	Broken  int64

	Running int64 // now
	Left    int64 // of Running: those whose callers have left
}

type counters struct{ calls, unknown, invalid, broken, running, left atomic.Int64 }

// Stats returns the current counters.
func (r *Registry) Stats() Stats {
	s := &r.stats
	return Stats{s.calls.Load(), s.unknown.Load(), s.invalid.Load(), s.broken.Load(), s.running.Load(), s.left.Load()}
}
