package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sashabaranov/go-openai"

	"github.com/pronto-lab/openclawd/agent/llm"
)

// A request is sent as go-openai would encode it.
func TestRequestIsEncodedAsUsual(t *testing.T) {
	t.Parallel()
	p, err := New(Options{ID: "fake", BaseURL: "http://127.0.0.1:1/v1"})
	if err != nil {
		t.Fatal(err)
	}
	call := llm.ToolCall{ID: "c1", Name: "look", Arguments: json.RawMessage(`{"at":"<1> & \u2028"}`)}
	history := []llm.Message{
		{Role: llm.User, Text: "a <b> & \"c\"\n\u2028 안녕 \xff"},
		{Role: llm.Assistant, Text: "said", ToolCalls: []llm.ToolCall{call}},
		{Role: llm.ToolRole, ToolCallID: "c1", Text: "seen", IsError: true},
		{Role: llm.User, Text: "see", Images: []llm.Image{{MediaType: "image/png", Data: []byte("x")}}},
		{Role: llm.User, Images: []llm.Image{{MediaType: "image/png", Data: []byte("y")}}},
		{Role: llm.User},
		{Role: llm.User, Text: "plain"},
		{Role: llm.Assistant, Text: "안녕"},
		{Role: llm.User, Text: "\u2028"},
		{Role: llm.User, Text: "\xff"},
		{Role: llm.User, Text: "a\tb\x7f"},
	}
	tools := []llm.Tool{{Name: "look", Description: `looks at "it"`, Schema: json.RawMessage(`{"type": "object", "required": ["at"]}`)}, {Name: "lost"}}
	for name, r := range map[string]llm.Request{
		"everything":       {Model: `"messages":null`, System: "be brief", MaxTokens: 50, Thinking: "low", Messages: history, Tools: tools},
		"only a message":   {Model: "m", Messages: history[:1]},
		"other tools":      {Model: "m", Messages: history[:1], Tools: []llm.Tool{{Name: "look", Description: "other"}}},
		"nothing at all":   {Model: "m"},
		"the newer bounds": {Model: "o3-mini", MaxTokens: 7, Messages: history, Tools: tools[:1]},
	} {
		q, err := p.request(&r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for range 2 { // tools are kept the first time
			got, err := p.body(&q, &r)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			asUsual := q
			asUsual.Stream = true
			asUsual.Messages = slices.AppendSeq([]openai.ChatCompletionMessage{}, messages(&r))
			want, err := json.Marshal(asUsual)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(decoded(t, want), decoded(t, got)); diff != "" {
				t.Errorf("%s (-go-openai +here):\n%s", name, diff)
			}
		}
	}
}

func decoded(t *testing.T, text []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

func BenchmarkLongRequest(b *testing.B) {
	p, err := New(Options{ID: "fake", BaseURL: "http://127.0.0.1:1/v1"})
	if err != nil {
		b.Fatal(err)
	}
	r := llm.Request{Model: "m"}
	for i := range 1_000 {
		r.Messages = append(r.Messages, llm.Message{Role: llm.User, Text: fmt.Sprint(i, strings.Repeat("x", 1_000))})
	}
	q := openai.ChatCompletionRequest{Model: "m", Messages: slices.Collect(messages(&r))}
	for name, encode := range map[string]func() ([]byte, error){
		"ours":      func() ([]byte, error) { return p.body(&q, &r) },
		"go-openai": func() ([]byte, error) { return json.Marshal(q) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := encode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
