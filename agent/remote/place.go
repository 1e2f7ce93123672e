package remote

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/modelcall"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// Place is a run's place at a worker. It does one step at a time.
type Place struct {
	workers *Workers
	lease   *lease
}

// Worker is the worker's name.
func (p *Place) Worker() string { return p.lease.worker.Name }

// Bind returns a context that ends, with a *LostError, when the worker is lost. stop frees it.
func (p *Place) Bind(ctx context.Context) (bound context.Context, stop func()) {
	bound, cancel := context.WithCancelCause(ctx)
	free := make(chan struct{})
	go func() {
		select {
		case <-p.lease.gone:
			cancel(p.lease.lost)
		case <-free:
		}
	}()
	return bound, func() { close(free); cancel(nil) }
}

// Release ends the worker's part in the run.
func (p *Place) Release() {
	w := p.workers
	w.mu.Lock()
	defer w.mu.Unlock()
	if !p.lease.over {
		p.lease.worker.finished++
		w.end(p.lease, nil)
	}
}

type placeKey struct{}

// With returns a context whose run is done at a place.
func With(ctx context.Context, p *Place) context.Context {
	return context.WithValue(ctx, placeKey{}, p)
}

// From is the place at which the run of a context is done; nil: here.
func From(ctx context.Context) *Place {
	p, _ := ctx.Value(placeKey{}).(*Place)
	return p
}

// do has the worker do a step, and waits for its result. told says that the worker knows of the step.
func (p *Place) do(ctx context.Context, what Step, stream func(llm.Chunk)) (r *Result, told bool, err error) {
	w, l := p.workers, p.lease
	s := &step{Step: what, stream: stream, result: make(chan *Result, 1)}
	w.mu.Lock()
	if l.over {
		w.mu.Unlock()
		return nil, false, &LostError{Worker: l.worker.Name}
	}
	l.number++
	s.Number = l.number
	l.step = s
	l.wake()
	w.mu.Unlock()
	select {
	case r = <-s.result:
		p.done(s)
		return r, true, nil
	case <-l.gone:
		err = l.lost
	case <-ctx.Done():
		if err = context.Cause(ctx); !errors.As(err, new(*LostError)) {
			err = errors.Join(ctx.Err(), err)
		}
	}
	told = p.cancel(s)
	s.streaming.Lock() // nothing of it comes after this
	s.over = true
	s.streaming.Unlock()
	return nil, told, err
}

func (p *Place) done(s *step) {
	p.workers.mu.Lock()
	defer p.workers.mu.Unlock()
	if p.lease.step == s {
		p.lease.step = nil
	}
}

// cancel breaks a step off, and says whether the worker knows of it.
func (p *Place) cancel(s *step) (told bool) {
	p.workers.mu.Lock()
	defer p.workers.mu.Unlock()
	s.cancelled = true
	p.lease.wake()
	return s.delivered
}

// Call has the worker call a tool. Errors are *tool.Error, *LostError, *UnknownError, ctx's, or a text that is only logged.
func (p *Place) Call(ctx context.Context, c tool.Caller, callID, name string, args json.RawMessage) (tool.Output, error) {
	r, _, err := p.do(ctx, Step{Tool: &ToolStep{Caller: c, Name: name, Arguments: args, CallID: callID}}, func(llm.Chunk) {})
	switch {
	case err != nil:
		return tool.Output{}, err
	case r.Output != nil:
		return *r.Output, nil
	case r.Refused != nil:
		return tool.Output{}, r.Refused
	case r.Unknown != nil:
		return tool.Output{}, &UnknownError{*r.Unknown}
	}
	return tool.Output{}, r.broken()
}

// UnknownError is that a call may or may not have had its effect.
type UnknownError struct{ Unknown }

func (e *UnknownError) Error() string { return e.Text }

func (r *Result) broken() error {
	if r.Broken == "" {
		return errors.New("the worker has reported nothing")
	}
	return errors.New("on the worker: " + llm.Clean(r.Broken))
}

// Talk asks models at the place for the steps of a run: see modelcall.Talk.
type Talk struct {
	place *Place
	brief *modelcall.Brief // until it is sent
	kept  []llm.Message    // the last step's
}

// Talk returns a Talk.
func (p *Place) Talk(b modelcall.Brief) *Talk { return &Talk{place: p, brief: &b} }

// Ask is modelcall.Talk.Ask.
func (t *Talk) Ask(ctx context.Context, s *modelcall.Step, stream func(llm.Chunk)) (*llm.Answer, *prompt.Report, error) {
	m := &ModelStep{Brief: t.brief, Step: *s}
	if len(t.kept) <= len(s.Steps) { // steps are only added
		m.Kept = len(t.kept)
		m.Steps = s.Steps[m.Kept:]
	}
	if m.Brief != nil {
		m.SessionKey = m.Brief.Session.String()
	}
	r, told, err := t.place.do(ctx, Step{Model: m}, stream)
	if told {
		t.brief, t.kept = nil, slices.Clip(s.Steps)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case r.Answer != nil:
		return r.Answer, r.Report, nil
	case r.LLM != nil:
		return nil, r.Report, r.LLM
	case r.Catalogue != nil:
		return nil, r.Report, r.Catalogue
	case r.Prompt != nil:
		return nil, r.Report, r.Prompt
	}
	return nil, r.Report, r.broken()
}
