// Package modelcall asks models for the steps of a run: it builds the prompt that a model's window has room for, and completes it.
package modelcall

import (
	"cmp"
	"context"
	"errors"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// Brief is what all steps of a run have in common.
type Brief struct {
	Agent    string
	Session  coordination.SessionKey `json:"-"`
	History  []llm.Message           // up to the run's message
	Tools    []tool.Spec
	Extra    string // addition to the system prompt
	Thinking string
}

// Step is a step of a run.
type Step struct {
	Ref     string        // of the model
	Share   float64       // of its window that may be used
	Steps   []llm.Message // what the run has said and learned so far
	Key     string        // idempotency key: the same for all attempts at the step
	Attempt int           // of the step, from 1
}

// Talk asks for the steps of one run, one after the other. Prompts are built once per model and share.
type Talk struct {
	Brief
	Models *catalogue.Catalogue
	Config *config.Config
	Prompt *prompt.Builder

	ref   string
	share float64
	built *built // for ref and share
}

type built struct {
	model  *catalogue.Model
	prompt prompt.Prompt
}

// answerPart is the part of a window reserved for the answer if the model's limit is unknown.
const answerPart = 8

// Ask asks for the next step. report describes the prompt; nil if there is none. Errors are those of the catalogue, of prompts and of
// providers, or ctx's. See WasAsked.
func (t *Talk) Ask(ctx context.Context, s *Step, stream func(llm.Chunk)) (answer *llm.Answer, report *prompt.Report, err error) {
	if t.built == nil || t.ref != s.Ref || t.share != s.Share {
		if t.built, err = t.build(ctx, s); err != nil {
			return nil, nil, err
		}
		t.ref, t.share = s.Ref, s.Share
	}
	p := &t.built.prompt
	messages := p.Messages
	if len(s.Steps) > 0 {
		messages = prompt.Fit(append(messages[:len(messages):len(messages)], s.Steps...), p.Room).Messages
	}
	answer, err = t.built.model.Complete(ctx, &llm.Request{System: p.System, Messages: messages, Tools: p.Tools, Thinking: t.Thinking, Agent: t.Agent,
		IdempotencyKey: s.Key, Attempt: s.Attempt}, stream)
	return answer, &p.Report, err
}

func (t *Talk) build(ctx context.Context, s *Step) (*built, error) {
	model, err := t.Models.Open(s.Ref)
	if err != nil {
		return nil, err
	}
	window := min(t.Config.ContextTokens(t.Agent, s.Ref), model.ContextWindow)
	p, err := t.Prompt.Build(ctx, prompt.Ask{
		Agent: t.Agent, Config: t.Config, Session: t.Session, History: t.History, Tools: t.Tools, Extra: t.Extra,
		Window: window, Answer: cmp.Or(model.MaxTokens, window/answerPart), Share: s.Share,
	})
	if err != nil {
		return nil, err
	}
	return &built{model, p}, nil
}

// WasAsked reports whether a model was asked, though Ask has failed.
func WasAsked(err error) bool {
	var open *catalogue.Error
	var full *prompt.Error
	return !errors.As(err, &open) && !errors.As(err, &full)
}
