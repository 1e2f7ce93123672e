package openai

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/pronto-lab/openclawd/agent/llm"
)

// answerBuilder assembles an answer from its chunks.
type answerBuilder struct {
	c      *call
	stream func(llm.Chunk)

	text    strings.Builder
	told    int    // bytes of text that were passed on
	thought []byte // thinking that was not
	refusal bool
	calls   []*partialCall
	reason  openai.FinishReason
	usage   llm.Usage
	model   string
}

// partialCall is an incomplete call.
type partialCall struct {
	index     int
	told      string // the endpoint's id
	id, name  string
	arguments strings.Builder
}

func newAnswerBuilder(c *call, stream func(llm.Chunk)) *answerBuilder {
	if stream == nil {
		stream = func(llm.Chunk) {}
	}
	g := &answerBuilder{c: c, stream: stream, model: c.model}
	c.events.waits = g.pass
	return g
}

// pass passes on what has come since the last time. Pieces that come together are passed on together: this is called
// before the endpoint is awaited.
func (g *answerBuilder) pass() {
	if len(g.thought) > 0 {
		g.stream(llm.Chunk{Thinking: string(g.thought)})
		g.thought = g.thought[:0]
	}
	if text := g.text.String()[g.told:]; text != "" {
		g.told = g.text.Len()
		g.stream(llm.Chunk{Text: text})
	}
}

func (g *answerBuilder) add(chunk *openai.ChatCompletionStreamResponse) error {
	g.model = cmp.Or(chunk.Model, g.model)
	if u := chunk.Usage; u != nil {
		g.usage = usage(u)
	}
	for i := range chunk.Choices {
		if choice := &chunk.Choices[i]; choice.Index == 0 {
			if err := g.delta(&choice.Delta); err != nil {
				return err
			}
			g.reason = cmp.Or(choice.FinishReason, g.reason)
		}
	}
	return nil
}

func (g *answerBuilder) delta(d *openai.ChatCompletionStreamChoiceDelta) error {
	if d.ReasoningContent != "" {
		if g.told < g.text.Len() {
			g.pass()
		}
		g.thought = append(g.thought, d.ReasoningContent...)
	}
	g.refusal = g.refusal || d.Refusal != ""
	for _, text := range []string{d.Content, d.Refusal} {
		if text == "" {
			continue
		}
		if limit := g.c.p.o.TextBytes; g.text.Len()+len(text) > limit {
			return g.fail(llm.TooLarge, fmt.Sprintf("the text has more than %d bytes", limit))
		}
		g.text.WriteString(text)
	}
	for i := range d.ToolCalls {
		if err := g.part(&d.ToolCalls[i]); err != nil {
			return err
		}
	}
	return nil
}

// part adds a part of a call. The first one contains the tool's name.
func (g *answerBuilder) part(part *openai.ToolCall) error {
	b := g.find(part)
	if b == nil {
		var err error
		if b, err = g.begin(part); err != nil {
			return err
		}
	}
	if limit := g.c.p.o.ArgumentsBytes; b.arguments.Len()+len(part.Function.Arguments) > limit {
		return g.fail(llm.TooLarge, fmt.Sprintf("the arguments of a call of %s have more than %d bytes", b.name, limit))
	}
	b.arguments.WriteString(part.Function.Arguments)
	return nil
}

// find returns the call a chunk belongs to, or nil if it starts one. Some servers send no index, or the same for all
// calls: then another id, or another name without id, starts a new call.
func (g *answerBuilder) find(part *openai.ToolCall) *partialCall {
	for _, b := range slices.Backward(g.calls) {
		switch {
		case part.Index != nil && *part.Index != b.index, part.Index == nil && part.ID != "" && part.ID != b.told:
			continue
		case part.Index != nil && part.Function.Name != "" && part.ID != "" && part.ID != b.told:
			return nil
		case part.Index == nil && part.Function.Name != "" && part.ID == "":
			return nil
		}
		return b
	}
	return nil
}

func (g *answerBuilder) begin(part *openai.ToolCall) (*partialCall, error) {
	name := part.Function.Name
	switch {
	case name == "":
		return nil, g.fail(llm.Malformed, "a call names no tool")
	case len(name) > maxName || len(part.ID) > maxName:
		return nil, g.fail(llm.Malformed, fmt.Sprintf("the name or the id of a call has more than %d bytes", maxName))
	case len(g.calls) == g.c.p.o.ToolCalls:
		return nil, g.fail(llm.TooLarge, fmt.Sprintf("there are more than %d calls", g.c.p.o.ToolCalls))
	}
	b := &partialCall{index: len(g.calls), told: part.ID, id: part.ID, name: name}
	if part.Index != nil {
		b.index = *part.Index
	}
	if b.id == "" || slices.ContainsFunc(g.calls, func(other *partialCall) bool { return other.id == b.id }) {
		b.id = fmt.Sprintf("call_%d_%d", g.c.turn, len(g.calls)) // unique within the session, and stable
	}
	g.calls = append(g.calls, b)
	g.pass()
	g.stream(llm.Chunk{ToolCall: &llm.ToolStart{ID: b.id, Name: b.name}})
	return b, nil
}

// answer returns the answer, if it is complete.
func (g *answerBuilder) answer() (*llm.Answer, error) {
	switch {
	case g.reason == "error":
		return nil, g.fail(llm.Unavailable, "the provider aborted the answer")
	case g.reason == "" && !g.c.events.done:
		return nil, g.fail(llm.Unavailable, "the stream ended before the answer did")
	case g.reason == "" && g.text.Len() == 0 && len(g.calls) == 0:
		return nil, g.fail(llm.Malformed, "the answer is empty")
	}
	a := &llm.Answer{Text: g.text.String(), StopReason: g.stopReason(), Usage: g.usage, Provider: g.c.p.o.ID, Model: g.model}
	for _, b := range g.calls {
		a.ToolCalls = append(a.ToolCalls, llm.NewToolCall(b.id, b.name, b.arguments.String()))
	}
	return a, nil
}

func (g *answerBuilder) stopReason() llm.StopReason {
	switch {
	case g.reason == openai.FinishReasonLength || g.reason == "max_tokens":
		return llm.Length
	case g.reason == openai.FinishReasonContentFilter || g.refusal:
		return llm.Filtered
	case len(g.calls) > 0: // whatever the reason: some servers send stop
		return llm.ToolUse
	}
	return llm.Stop
}

func (g *answerBuilder) fail(class llm.Class, message string) error {
	return g.c.p.fail(class, g.c.model, message)
}

func usage(u *openai.Usage) llm.Usage {
	told := llm.Usage{Input: u.PromptTokens, Output: u.CompletionTokens, Total: u.TotalTokens}
	if u.PromptTokensDetails != nil {
		told.Cached = u.PromptTokensDetails.CachedTokens
	}
	told.Total = cmp.Or(told.Total, told.Input+told.Output)
	return told
}
