package scripted

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// ID is the name of the provider in model references.
const ID = "scripted"

// Player is the model as which the built-in script responds to prompts to continue tasks as an agent would, for
// demonstrations. As any other model it does not, so that no task is completed without work.
const Player = "sample"

// Provider answers by a script. It may be used by many goroutines.
type Provider struct {
	script *Script
	pause  func(context.Context, time.Duration) error
}

// New makes a Provider. pause waits, and returns the context's error if that ends first; nil uses the system clock.
func New(s *Script, pause func(context.Context, time.Duration) error) *Provider {
	if pause == nil {
		pause = wait.For
	}
	return &Provider{s, pause}
}

// Complete implements llm.Provider.
func (p *Provider) Complete(ctx context.Context, r *llm.Request, stream func(llm.Chunk)) (*llm.Answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if stream == nil {
		stream = func(llm.Chunk) {}
	}
	s := situationOf(r)
	for i := range p.script.rules {
		if found, ok := p.script.rules[i].when.match(s); ok {
			return p.streamAnswer(ctx, &p.script.rules[i].answer, s, found, stream)
		}
	}
	return nil, &llm.Error{Class: llm.Rejected, Provider: ID, Model: r.Model, Message: "no rule of the script matches; add one without conditions at its end"}
}

func (p *Provider) streamAnswer(ctx context.Context, a *answer, s *situation, found groups, stream func(llm.Chunk)) (*llm.Answer, error) {
	text := s.fill(a.text, found, false)
	said := 0
	fails := func() bool { return a.fault != nil && said >= a.fault.after }
	for i, chunk := range chunks(text, a.chunk) {
		if fails() {
			break
		}
		pause := a.delay
		if i == 0 {
			pause = a.wait
		}
		if err := p.pauseFor(ctx, pause); err != nil {
			return nil, err
		}
		stream(llm.Chunk{Text: chunk})
		said++
	}
	if said == 0 {
		if err := p.pauseFor(ctx, a.wait); err != nil {
			return nil, err
		}
	}
	if a.fault != nil { // also one that is due after more chunks than there are
		return nil, p.fail(ctx, a.fault, s)
	}
	whole := &llm.Answer{Text: text, StopReason: llm.Stop, Provider: ID, Model: s.request.Model}
	for i, call := range a.toolCalls {
		id := fmt.Sprintf("call_%d_%d", len(s.request.Messages), i)
		stream(llm.Chunk{ToolCall: &llm.ToolStart{ID: id, Name: call.name}})
		whole.ToolCalls = append(whole.ToolCalls, llm.NewToolCall(id, call.name, s.fill(call.arguments, found, !call.raw)))
		whole.StopReason = llm.ToolUse
	}
	if a.stop != "" {
		whole.StopReason = a.stop
	}
	whole.Usage = s.usage(whole)
	return whole, nil
}

func (p *Provider) pauseFor(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	return p.pause(ctx, d)
}

func (p *Provider) fail(ctx context.Context, f *fault, s *situation) error {
	if f.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return &llm.Error{Class: f.class, Status: f.status, RetryAfter: f.retryAfter, Provider: ID, Model: s.request.Model,
		Message: llm.Clean(s.fill(f.message, nil, false))}
}

// chunks cuts a text into pieces of n characters, or into words with the space that follows them.
func chunks(text string, n int) (all []string) {
	from, count, spaced := 0, 0, false
	for i, r := range text {
		space := r == ' ' || r == '\n'
		if n > 0 && count == n || n == 0 && spaced && !space {
			all = append(all, text[from:i])
			from, count = i, 0
		}
		count++
		spaced = space
	}
	if from < len(text) {
		all = append(all, text[from:])
	}
	return all
}

// situation is what conditions are checked against.
type situation struct {
	request      *llm.Request
	message      string // the last one of the user
	last         *llm.Message
	turn, step   int
	tool, result string
}

func situationOf(r *llm.Request) *situation {
	s := &situation{request: r, step: 1, last: &llm.Message{}}
	for i := range r.Messages {
		m := &r.Messages[i]
		switch s.last = m; m.Role {
		case llm.User:
			s.message, s.turn, s.step = strings.TrimSpace(m.Text), s.turn+1, 1
		case llm.Assistant:
			s.step++
		case llm.ToolRole:
			s.tool, s.result = m.ToolName, m.Text
		}
	}
	return s
}

// afterAny accepts any author of the last message.
const afterAny = "any"

// groups are the placeholders of the groups of matches and their values, as arguments of strings.NewReplacer.
type groups []string

func (w *when) match(s *situation) (found groups, ok bool) {
	r := s.request
	switch {
	case w.after != afterAny && w.after != string(s.last.Role),
		w.agent != "" && !strings.EqualFold(w.agent, r.Agent),
		w.model != "" && w.model != r.Model,
		w.tool != "" && (s.last.Role != llm.ToolRole || w.tool != s.tool),
		w.result != nil && (s.last.Role != llm.ToolRole || !w.result.MatchString(s.result)),
		w.turn != 0 && w.turn != s.turn,
		w.step != 0 && w.step != s.step,
		w.attempt != 0 && w.attempt != max(r.Attempt, 1),
		w.offers != "" && !slices.ContainsFunc(r.Tools, func(t llm.Tool) bool { return t.Name == w.offers }):
		return nil, false
	}
	if len(w.contains) > 0 {
		lower := strings.ToLower(s.message)
		if !slices.ContainsFunc(w.contains, func(part string) bool { return strings.Contains(lower, part) }) {
			return nil, false
		}
	}
	if w.matches == nil {
		return nil, true
	}
	values := w.matches.FindStringSubmatch(s.message)
	if values == nil {
		return nil, false
	}
	for i, name := range w.matches.SubexpNames()[1:] {
		found = append(found, placeOf(strconv.Itoa(i+1)), values[i+1])
		if name != "" {
			found = append(found, placeOf(name), values[i+1])
		}
	}
	return found, true
}

// fill replaces the placeholders of a text, or of the texts of a JSON value. It cuts off the result at maxFilled.
func (s *situation) fill(text string, found groups, inJSON bool) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	pairs := []string{
		"{{message}}", s.message, "{{agent}}", s.request.Agent, "{{model}}", s.request.Model, "{{turn}}", strconv.Itoa(s.turn),
		"{{tool}}", s.tool, "{{result}}", s.result,
	}
	pairs = append(append(pairs, picked(text, s.result)...), found...)
	if inJSON {
		for i := 1; i < len(pairs); i += 2 {
			q := quoted(pairs[i])
			pairs[i] = q[1 : len(q)-1]
		}
	}
	var filled cutOff
	_, _ = strings.NewReplacer(pairs...).WriteString(&filled, text) // fails only if cut off
	return strings.ToValidUTF8(filled.String(), "")
}

// maxFilled bounds a filled text, in bytes.
const maxFilled = 1 << 20

// cutOff keeps the first maxFilled bytes that are written to it.
type cutOff struct{ strings.Builder }

func (c *cutOff) Write(p []byte) (int, error) {
	if room := maxFilled - c.Len(); len(p) > room {
		_, _ = c.Builder.Write(p[:room])
		return room, io.ErrShortWrite
	}
	return c.Builder.Write(p)
}

func (c *cutOff) WriteString(s string) (int, error) { return c.Write([]byte(s)) }

// usage estimates what a real model would report.
func (s *situation) usage(a *llm.Answer) llm.Usage {
	said := llm.Message{Text: a.Text, ToolCalls: a.ToolCalls}
	u := llm.Usage{Input: s.request.EstimateTokens(), Output: said.EstimateTokens()}
	u.Total = u.Input + u.Output
	return u
}
