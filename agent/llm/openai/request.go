//lint:file-ignore SA1019 other servers than OpenAI know only the older name of the bound

package openai

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/sashabaranov/go-openai"

	"github.com/pronto-lab/openclawd/agent/llm"
)

// Providers refuse messages without content.
const (
	noOutput = "(no output)"
	noText   = "(no text)"
)

// request says it in OpenAI's words.
func (p *Provider) request(r *llm.Request) (openai.ChatCompletionRequest, error) {
	q := openai.ChatCompletionRequest{
		Model:         r.Model,
		Messages:      messages(r),
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

// suit adapts a request to what OpenAI's newer models take. Other servers know only the older name of the bound.
func (p *Provider) suit(q *openai.ChatCompletionRequest) error {
	validator := openai.NewReasoningValidator()
	err := validator.Validate(*q)
	if p.host == "api.openai.com" || errors.Is(err, openai.ErrReasoningModelMaxTokensDeprecated) {
		q.MaxTokens, q.MaxCompletionTokens = 0, q.MaxTokens
		err = validator.Validate(*q)
	}
	if errors.Is(err, openai.ErrReasoningToolsRequireResponses) && q.ReasoningEffort == "" {
		q.ReasoningEffort = openai.ReasoningEffortNone // nobody has asked for thinking, and tools are worth more
		err = validator.Validate(*q)
	}
	return err
}

func messages(r *llm.Request) []openai.ChatCompletionMessage {
	history := llm.Paired(r.Messages)
	all := make([]openai.ChatCompletionMessage, 0, len(history)+1)
	if r.System != "" {
		all = append(all, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: r.System})
	}
	for i := range history {
		all = append(all, message(&history[i]))
	}
	return all
}

func message(m *llm.Message) openai.ChatCompletionMessage {
	switch m.Role {
	case llm.Assistant:
		said := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: m.Text}
		for i := range m.ToolCalls {
			call := &m.ToolCalls[i]
			said.ToolCalls = append(said.ToolCalls, openai.ToolCall{ID: call.ID, Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: call.Name, Arguments: cmp.Or(string(call.Arguments), "{}")}})
		}
		return said
	case llm.ToolRole:
		text := cmp.Or(m.Text, noOutput)
		if m.IsError {
			text = "error: " + text
		}
		return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, Content: text, ToolCallID: m.ToolCallID}
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
