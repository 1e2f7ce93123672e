package openai

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/sashabaranov/go-openai"
)

// body encodes a request. The types of go-openai encode each message and each tool twice, which takes most of the time
// of a call in a long session.
func (p *Provider) body(q *openai.ChatCompletionRequest) ([]byte, error) {
	var b bytes.Buffer
	encode := json.NewEncoder(&b).Encode // each adds a line break
	if err := encode(settings{ChatCompletionRequest: q, Stream: true}); err != nil {
		return nil, err
	}
	b.Truncate(b.Len() - len("}\n"))
	b.WriteString(`,"messages":[`)
	for i := range q.Messages {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := encode(sentMessageOf(&q.Messages[i])); err != nil {
			return nil, err
		}
	}
	b.WriteByte(']')
	for i := range q.Tools {
		text, err := p.tools.encoded(q.Tools[i].Function)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			b.WriteString(`,"tools":[`)
		} else {
			b.WriteByte(',')
		}
		b.Write(text)
	}
	if len(q.Tools) > 0 {
		b.WriteByte(']')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// settings is a request without its messages and tools.
type settings struct {
	*openai.ChatCompletionRequest
	Stream   bool      `json:"stream"`
	Messages *struct{} `json:"messages,omitempty"`
	Tools    *struct{} `json:"tools,omitempty"`
}

// sentMessage is a message as it is sent.
type sentMessage struct {
	Role       string            `json:"role"`
	Content    any               `json:"content,omitempty"` // a text, or parts
	ToolCalls  []openai.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string            `json:"tool_call_id,omitempty"`
}

func sentMessageOf(m *openai.ChatCompletionMessage) *sentMessage {
	s := &sentMessage{Role: m.Role, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID}
	if len(m.MultiContent) > 0 {
		s.Content = m.MultiContent
	} else if m.Content != "" {
		s.Content = m.Content
	}
	return s
}

// toolTexts keeps tools as they are sent: all runs offer nearly the same ones.
type toolTexts struct {
	mu   sync.Mutex
	kept map[toolKey][]byte
}

type toolKey struct{ name, description, schema string }

// maxTools bounds the kept tools; beyond that all are dropped.
const maxTools = 1_000

func (t *toolTexts) encoded(f *openai.FunctionDefinition) ([]byte, error) {
	schema, _ := f.Parameters.(json.RawMessage)
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := t.kept[toolKey{f.Name, f.Description, string(schema)}]; text != nil {
		return text, nil
	}
	text, err := json.Marshal(openai.Tool{Type: openai.ToolTypeFunction, Function: f})
	if err != nil {
		return nil, err
	}
	if t.kept == nil || len(t.kept) >= maxTools {
		t.kept = map[toolKey][]byte{}
	}
	t.kept[toolKey{f.Name, f.Description, string(schema)}] = text
	return text, nil
}
