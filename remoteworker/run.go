package remoteworker

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/modelcall"
	"github.com/pronto-lab/openclawd/agent/remote"
	"github.com/pronto-lab/openclawd/coordination"
)

// performing is a run that this worker does.
type performing struct {
	*worker
	lease *remote.Lease
	talk  *modelcall.Talk
	kept  []llm.Message // the last step's

	number int // of the last step
	cancel context.CancelCauseFunc
	ended  chan struct{} // closed when it has been reported
}

// perform does the steps of a run until it is over here.
func (w *worker) perform(ctx context.Context, l *remote.Lease) {
	w.opts.Logger.Info("a run begins here", describe(l)...)
	ctx, end := context.WithCancelCause(ctx)
	p := &performing{worker: w, lease: l, cancel: func(error) {}}
	err := p.steps(ctx)
	end(errOver)
	p.cancel(errOver)
	if p.ended != nil {
		<-p.ended
	}
	w.opts.Logger.Info("a run ends here", append(describe(l), "steps", p.number, "why", err)...)
}

// steps asks for one step after the other, and for whether the one that is under way is still wanted.
func (p *performing) steps(ctx context.Context) error {
	cancelled := 0
	for {
		ask := remote.NextAsk{LeaseID: p.lease.LeaseID, Attempt: p.lease.Attempt, After: p.number, Cancelled: cancelled, WaitMs: p.leaseTime().Milliseconds()}
		var next remote.NextAnswer
		if err := p.call(ctx, remote.MethodNext, ask, &next); err != nil {
			return err
		}
		switch {
		case next.Over:
			return nil
		case next.Cancelled > 0:
			cancelled = next.Cancelled
			p.cancel(errOver)
		case next.Step != nil && next.Step.Number > p.number:
			p.cancel(errOver)
			if p.ended != nil {
				<-p.ended // one at a time
			}
			if err := p.begin(ctx, next.Step); err != nil {
				return err
			}
		}
	}
}

// begin begins a step.
func (p *performing) begin(ctx context.Context, s *remote.Step) error {
	p.number = s.Number
	if m := s.Model; m != nil {
		if err := p.prepare(m); err != nil {
			return err
		}
	}
	doing, cancel := context.WithCancelCause(ctx)
	p.cancel, p.ended = cancel, make(chan struct{})
	ended := p.ended
	go func() {
		defer close(ended)
		defer cancel(nil)
		r := &reporter{performing: p, step: s.Number, more: make(chan struct{}, 1)}
		r.run(doing, func() *remote.Result {
			if s.Model != nil {
				return p.model(doing, s.Model, r.chunk)
			}
			return p.tool(doing, s.Tool)
		})
	}()
	return nil
}

// prepare completes a step of a model with what was sent before.
func (p *performing) prepare(m *remote.ModelStep) error {
	if b := m.Brief; b != nil {
		key, err := coordination.ParseSessionKey(m.SessionKey)
		if err != nil {
			return err
		}
		b.Session = key
		p.talk = &modelcall.Talk{Brief: *b, Models: p.opts.Models, Config: p.opts.Config, Prompt: p.opts.Prompt}
	}
	if p.talk == nil || m.Kept > len(p.kept) {
		return errors.New("the server's step has no beginning")
	}
	p.kept = slices.Concat(p.kept[:m.Kept], m.Steps)
	m.Steps = p.kept
	return nil
}

// reporter reports a step: parts as they come, then the result.
type reporter struct {
	*performing
	step int
	more chan struct{}

	mu     sync.Mutex
	chunks []llm.Chunk // not taken over yet
	from   int
	result *remote.Result
}

// maxWaiting bounds the parts of one report.
const maxWaiting = 1_000

func (r *reporter) chunk(c llm.Chunk) {
	r.mu.Lock()
	r.chunks = append(r.chunks, c)
	r.mu.Unlock()
	r.wake()
}

func (r *reporter) wake() {
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// run does the step and reports it. It returns when the server has taken the result over, or ctx has ended.
func (r *reporter) run(ctx context.Context, do func() *remote.Result) {
	go func() {
		result := do()
		r.mu.Lock()
		r.result = result
		r.mu.Unlock()
		r.wake()
	}()
	for {
		select {
		case <-r.more:
		case <-ctx.Done():
			return
		}
		done, err := r.send(ctx)
		if done || err != nil {
			return
		}
	}
}

// send sends what waits. done says that nothing follows.
func (r *reporter) send(ctx context.Context) (done bool, err error) {
	r.mu.Lock()
	ask := remote.ReportAsk{LeaseID: r.lease.LeaseID, Attempt: r.lease.Attempt, Step: r.step, From: r.from, Result: r.result,
		Chunks: slices.Clone(r.chunks[:min(len(r.chunks), maxWaiting)])}
	rest := len(r.chunks) > maxWaiting
	r.mu.Unlock()
	if rest {
		ask.Result = nil
		defer r.wake()
	}
	var answer remote.ReportAnswer
	err = r.call(ctx, remote.MethodReport, ask, &answer)
	if codeOf(err) == remote.CodeTooLarge && ask.Result != nil {
		r.mu.Lock()
		r.result = &remote.Result{Broken: "the result is too large to be reported"}
		r.mu.Unlock()
		r.wake()
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := answer.Taken - r.from; n > 0 && n <= len(r.chunks) {
		r.chunks, r.from = r.chunks[n:], answer.Taken
	}
	return answer.Done || answer.Stale, nil
}
