package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sashabaranov/go-openai"

	"github.com/pronto-lab/openclawd/agent/llm"
)

// body encodes a request with the messages of r. The types of go-openai encode each message and each tool twice, which takes most of the time
// of a call in a long session.
func (p *Provider) body(q *openai.ChatCompletionRequest, r *llm.Request) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(sizeOf(r))
	encode := json.NewEncoder(&b).Encode // each adds a line break
	if err := encode(settings{ChatCompletionRequest: q, Stream: true}); err != nil {
		return nil, err
	}
	b.Truncate(b.Len() - len("}\n"))
	b.WriteString(`,"messages":[`)
	start := b.Len()
	for m := range messages(r) {
		if b.Len() > start {
			b.WriteByte(',')
		}
		if writePlainly(&b, &m) {
			continue
		}
		if err := encode(sentMessageOf(&m)); err != nil {
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

// sizeOf is about how many bytes a request has, unless it has pictures.
func sizeOf(r *llm.Request) int {
	const frame = 64 // of a message or tool
	n := frame*(4+len(r.Messages)+len(r.Tools)) + len(r.System)
	for i := range r.Messages {
		n += len(r.Messages[i].Text)
	}
	for i := range r.Tools {
		n += len(r.Tools[i].Description) + len(r.Tools[i].Schema)
	}
	return n
}

// writePlainly writes a message that is a text without characters to escape, as most are, and reports whether it is.
func writePlainly(b *bytes.Buffer, m *openai.ChatCompletionMessage) bool {
	if m.Content == "" || len(m.MultiContent)+len(m.ToolCalls) > 0 || m.ToolCallID != "" || !isPlain(m.Content) || !isPlain(m.Role) {
		return false
	}
	b.WriteString(`{"role":"`)
	b.WriteString(m.Role)
	b.WriteString(`","content":"`)
	b.WriteString(m.Content)
	b.WriteString(`"}`)
	return true
}

// isPlain reports whether encoding/json leaves a text as it is.
func isPlain(text string) bool {
	ascii := true
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return ascii || utf8.ValidString(text) && !strings.ContainsAny(text, "\u2028\u2029")
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
	kept map[string][]keptTool // by name
	n    int
}

type keptTool struct {
	description string
	schema      json.RawMessage
	text        []byte
}

// maxTools bounds the kept tools; beyond that all are dropped.
const maxTools = 1_000

func (t *toolTexts) encoded(f *openai.FunctionDefinition) ([]byte, error) {
	schema, _ := f.Parameters.(json.RawMessage)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.kept[f.Name] {
		if one.description == f.Description && bytes.Equal(one.schema, schema) {
			return one.text, nil
		}
	}
	text, err := json.Marshal(openai.Tool{Type: openai.ToolTypeFunction, Function: f})
	if err != nil {
		return nil, err
	}
	if t.kept == nil || t.n >= maxTools {
		t.kept, t.n = map[string][]keptTool{}, 0
	}
	t.kept[f.Name] = append(t.kept[f.Name], keptTool{f.Description, bytes.Clone(schema), text})
	t.n++
	return text, nil
}
