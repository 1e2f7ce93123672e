//lint:file-ignore SA1019 other servers than OpenAI know only the older name of the bound

package openai

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/pronto-lab/openclawd/agent/llm"
)

// Providers reject messages without content.
const (
	noOutput = "(no output)"
	noText   = "(no text)"
)

// request converts a request to OpenAI's format, without its messages, which body writes.
func (p *Provider) request(r *llm.Request) (openai.ChatCompletionRequest, error) {
	q := openai.ChatCompletionRequest{
		Model:         r.Model,
		Tools:         tools(r.Tools),
		MaxTokens:     r.MaxTokens,
		StreamOptions: &openai.StreamOptions{IncludeUsage: true},
	}
	switch r.Thinking {
	case "", "off":
	case openai.ReasoningEffortMinimal, openai.ReasoningEffortLow, openai.ReasoningEffortMedium, openai.ReasoningEffortHigh,
		openai.ReasoningEffortXHigh, openai.ReasoningEffortMax:
		q.ReasoningEffort = r.Thinking
	default:
		return q, p.fail(llm.Rejected, r.Model, "thinking must be off, minimal, low, medium, high, xhigh or max, not "+r.Thinking)
	}
	if err := p.suit(&q); err != nil {
		return q, p.fail(llm.Rejected, r.Model, err.Error())
	}
	return q, nil
}

// suit adapts a request to OpenAI's newer models. Other servers know only the older name of the token limit.
func (p *Provider) suit(q *openai.ChatCompletionRequest) error {
	validator := openai.NewReasoningValidator()
	err := validator.Validate(*q)
	if p.host == "api.openai.com" || errors.Is(err, openai.ErrReasoningModelMaxTokensDeprecated) {
		q.MaxTokens, q.MaxCompletionTokens = 0, q.MaxTokens
		err = validator.Validate(*q)
	}
	if errors.Is(err, openai.ErrReasoningToolsRequireResponses) && q.ReasoningEffort == "" {
		q.ReasoningEffort = openai.ReasoningEffortNone // thinking was not requested, and tools matter more
		err = validator.Validate(*q)
	}
	return err
}

// messages are those of a request, one after the other: histories are long.
func messages(r *llm.Request) iter.Seq[openai.ChatCompletionMessage] {
	return func(yield func(openai.ChatCompletionMessage) bool) {
		if r.System != "" && !yield(openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: r.System}) {
			return
		}
		history := llm.Paired(r.Messages)
		for i := range history {
			if !yield(message(&history[i])) {
				return
			}
		}
	}
}

func message(m *llm.Message) openai.ChatCompletionMessage {
	switch m.Role {
	case llm.Assistant:
		said := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: m.Text}
		for i := range m.ToolCalls {
			call := &m.ToolCalls[i]
			said.ToolCalls = append(said.ToolCalls, openai.ToolCall{ID: plain(call.ID, maxSentID), Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: plain(call.Name, maxSentName), Arguments: cmp.Or(string(call.Arguments), "{}")}})
		}
		return said
	case llm.ToolRole:
		text := cmp.Or(m.Text, noOutput)
		if m.IsError {
			text = "error: " + text
		}
		return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, Content: text, ToolCallID: plain(m.ToolCallID, maxSentID)}
	}
	if len(m.Images) == 0 {
		return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: cmp.Or(m.Text, noText)}
	}
	shown := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser}
	if m.Text != "" {
		shown.MultiContent = append(shown.MultiContent, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: m.Text})
	}
	for _, image := range m.Images {
		shown.MultiContent = append(shown.MultiContent, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeImageURL,
			ImageURL: &openai.ChatMessageImageURL{URL: "data:" + image.MediaType + ";base64," + base64.StdEncoding.EncodeToString(image.Data)}})
	}
	return shown
}

// OpenAI's length limits of a call, in bytes.
const (
	maxSentID   = 40
	maxSentName = 64
)

// plain normalizes a call's id or name for every endpoint. Models invent tool names and other providers use other ids,
// and a history rejected for that would be rejected forever. The mapping is injective.
func plain(s string, most int) string {
	mapped := strings.Map(func(r rune) rune {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return '_'
		}
		return r
	}, s)
	if mapped == s && s != "" && len(s) <= most {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	mark := "_" + hex.EncodeToString(sum[:6])
	return mapped[:min(len(mapped), most-len(mark))] + mark
}

func tools(all []llm.Tool) []openai.Tool {
	var offered []openai.Tool
	for i := range all {
		schema := all[i].Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		offered = append(offered, openai.Tool{Type: openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: all[i].Name, Description: all[i].Description, Parameters: schema}})
	}
	return offered
}
