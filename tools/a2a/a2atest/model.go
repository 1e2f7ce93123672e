package a2atest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Asked is what a model was asked.
type Asked struct {
	Agent    string          // whose model it is
	N        int             // how often it was asked, from 1
	System   string          // all that the system says
	Messages []Message       // but for the system's, the oldest first
	Offered  []string        // tools that may be called
	Key      string          // what makes a repetition one
	Context  context.Context // ends when nobody waits for the answer any more
}

// Message is what somebody has said.
type Message struct {
	Role, Text string
	Calls      int // of tools
}

// Last is what was said last.
func (a *Asked) Last() Message {
	if len(a.Messages) == 0 {
		return Message{}
	}
	return a.Messages[len(a.Messages)-1]
}

// Message is what the user, who may be another agent, has said last.
func (a *Asked) Message() string {
	for _, m := range slices.Backward(a.Messages) {
		if m.Role == "user" {
			return m.Text
		}
	}
	return ""
}

// AfterTool reports whether the model is asked what it makes of the result of a tool.
func (a *Asked) AfterTool() bool { return a.Last().Role == "tool" }

// Answer is what a model answers. One without text and calls is empty.
type Answer struct {
	Text       string
	Calls      []Call
	Status     int    // of HTTP, where it fails
	RetryAfter string // seconds
	Error      string // what it says then; default: the status
}

// Call is a call of a tool.
type Call struct {
	Name string
	Args any
	ID   string // "" is one that no other call has
}

// Say is an answer.
func Say(text string) Answer { return Answer{Text: text} }

// Use is an answer that calls tools.
func Use(calls ...Call) Answer { return Answer{Calls: calls} }

// Send is a call of sessions_send.
func Send(args map[string]any) Call { return Call{Name: "sessions_send", Args: args} }

// Fail is an answer that is none: 429 is tried again, 400 is not.
func Fail(status int) Answer { return Answer{Status: status} }

// Model is a server of models, one for each agent.
type Model struct {
	URL string

	mu     sync.Mutex
	answer func(Asked) Answer
	asked  []Asked
	counts map[string]int
	called int
}

// NewModel serves models until the test ends; nil says again what was said.
func NewModel(t testing.TB, answer func(Asked) Answer) *Model {
	t.Helper()
	m := &Model{counts: map[string]int{}}
	m.Answer(answer)
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	m.URL = server.URL + "/v1"
	return m
}

// Answer has models answer in another way from now on; nil says again what was said. It is called by many at a time, and may wait.
func (m *Model) Answer(answer func(Asked) Answer) {
	if answer == nil {
		answer = func(a Asked) Answer { return Say("echo: " + a.Message()) }
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer = answer
}

// Asked is all that was asked so far.
func (m *Model) Asked() []Asked {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

// Forget drops what was asked so far, which grows with each question by all that was said before.
func (m *Model) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = nil
}

// request is what is read of a request.
type request struct {
	Model    string `json:"model"`
	Messages []struct {
		Role      string            `json:"role"`
		Content   json.RawMessage   `json:"content"`
		ToolCalls []json.RawMessage `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

// ServeHTTP answers POST /v1/chat/completions with a stream.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q request
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	asked := q.asked()
	asked.Key, asked.Context = r.Header.Get("Idempotency-Key"), r.Context()
	m.mu.Lock()
	m.counts[asked.Agent]++
	asked.N = m.counts[asked.Agent]
	m.asked = append(m.asked, asked)
	answer := m.answer
	m.mu.Unlock()
	m.write(w, answer(asked))
}

func (q *request) asked() Asked {
	a := Asked{Agent: q.Model[strings.LastIndexByte(q.Model, '/')+1:]}
	for _, said := range q.Messages {
		text := textOf(said.Content)
		if said.Role == "system" || said.Role == "developer" {
			a.System += text
			continue
		}
		a.Messages = append(a.Messages, Message{Role: said.Role, Text: text, Calls: len(said.ToolCalls)})
	}
	for _, t := range q.Tools {
		a.Offered = append(a.Offered, t.Function.Name)
	}
	return a
}

// textOf is the text of a message, which may stand in blocks.
func textOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &blocks) // what is neither says nothing
	for _, b := range blocks {
		text += b.Text
	}
	return text
}

func (m *Model) write(w http.ResponseWriter, a Answer) {
	if a.Status != 0 {
		if a.RetryAfter != "" {
			w.Header().Set("Retry-After", a.RetryAfter)
		}
		http.Error(w, fmt.Sprintf(`{"error":{"message":%q}}`, cmp.Or(a.Error, fmt.Sprintf("status %d", a.Status))), a.Status)
		return
	}
	delta := map[string]any{"role": "assistant", "content": a.Text}
	reason := "stop"
	if len(a.Calls) > 0 {
		reason = "tool_calls"
		delta["tool_calls"] = m.calls(a.Calls)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, chunk := range []any{
		map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta}}},
		map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": reason}}},
		map[string]any{"choices": []any{}, "usage": map[string]int{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}},
	} {
		text, err := json.Marshal(chunk)
		if err != nil {
			panic(err) // of what a test has said
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil {
			return // nobody waits for it any more
		}
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n") // likewise
}

// calls gives each call an id that no other one has.
func (m *Model) calls(calls []Call) (list []any) {
	for i, call := range calls {
		args, err := json.Marshal(call.Args)
		if err != nil {
			panic(err) // of what a test has said
		}
		m.mu.Lock()
		m.called++
		id := cmp.Or(call.ID, fmt.Sprintf("call_%d", m.called))
		m.mu.Unlock()
		list = append(list, map[string]any{"index": i, "id": id, "type": "function", "function": map[string]any{"name": call.Name, "arguments": string(args)}})
	}
	return list
}
