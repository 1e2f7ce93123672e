package remoteworker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/remote"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// model asks a model.
func (p *performing) model(ctx context.Context, m *remote.ModelStep, stream func(llm.Chunk)) (r *remote.Result) {
	defer p.recovered(&r)
	answer, report, err := p.talk.Ask(ctx, &m.Step, stream)
	r = &remote.Result{Answer: answer, Report: report}
	if err == nil {
		return r
	}
	r.Answer = nil
	switch {
	case errors.As(err, &r.LLM), errors.As(err, &r.Catalogue), errors.As(err, &r.Prompt):
	default:
		r.Broken = err.Error()
	}
	return r
}

// tool calls a tool. Whatever its own rules are, those of this machine apply.
func (p *performing) tool(ctx context.Context, t *remote.ToolStep) (r *remote.Result) {
	defer p.recovered(&r)
	caller := t.Caller
	caller.CallID = t.CallID
	out, err := p.opts.Tools.Call(ctx, caller, t.Name, t.Arguments)
	var unknown *tools.UnknownOutcomeError
	var refused *tool.Error
	switch {
	case err == nil:
		return &remote.Result{Output: &out}
	case errors.As(err, &unknown):
		return &remote.Result{Unknown: &remote.Unknown{Reason: unknown.Reason, Text: unknown.Err.Error()}}
	case errors.As(err, &refused):
		return &remote.Result{Refused: refused}
	}
	return &remote.Result{Broken: err.Error()}
}

func (p *performing) recovered(r **remote.Result) {
	if v := recover(); v != nil {
		p.opts.Logger.Error("a step panicked", append(describe(p.lease), "panic", v, "stack", string(debug.Stack()))...)
		*r = &remote.Result{Broken: fmt.Sprintf("panic: %v", v)}
	}
}

// Journal performs calls at once: the server has recorded their intent, and records their outcome.
type Journal struct{}

// Perform implements tools.Journal.
func (Journal) Perform(ctx context.Context, _ *tools.Call, _ *tools.Tool, do func(context.Context) (tool.Output, error)) (tool.Output, error) {
	return do(ctx)
}
