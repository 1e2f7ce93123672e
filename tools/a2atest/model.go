package a2atest

import (
	"bytes"
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

// Asked is one request to a model.
type Asked struct {
	Agent    string          // agent whose model it is
	N        int             // number of requests to this model so far, from 1
	System   string          // all system messages
	Messages []Message       // other messages, oldest first
	Offered  []string        // names of the tools offered
	Key      string          // idempotency key
	Context  context.Context // ends when the caller no longer waits for the answer
}

// Message is a message in a request to a model.
type Message struct {
	Role, Text string
	Calls      int // tool calls
	Pictures   int
}

// Last returns the last message.
func (a *Asked) Last() Message {
	if len(a.Messages) == 0 {
		return Message{}
	}
	return a.Messages[len(a.Messages)-1]
}

// Message returns the last user message, which may come from another agent.
func (a *Asked) Message() string {
	for _, m := range slices.Backward(a.Messages) {
		if m.Role == "user" {
			return m.Text
		}
	}
	return ""
}

// AfterTool reports whether the last message is a tool result.
func (a *Asked) AfterTool() bool { return a.Last().Role == "tool" }

// Answer is a model's answer; empty without text and calls.
type Answer struct {
	Text       string
	Calls      []Call
	Status     int    // HTTP status of a failure
	RetryAfter string // seconds
	Error      string // error message; default: the status text
}

// Call is a tool call.
type Call struct {
	Name string
	Args any
	ID   string // "" for a unique one
}

// Say returns an answer with text.
func Say(text string) Answer { return Answer{Text: text} }

// Use returns an answer that calls tools.
func Use(calls ...Call) Answer { return Answer{Calls: calls} }

// Send returns a call of sessions_send.
func Send(args map[string]any) Call { return Call{Name: "sessions_send", Args: args} }

// Fail returns a failure: 429 is retried, 400 is not.
func Fail(status int) Answer { return Answer{Status: status} }

// Model is a server with one model per agent.
type Model struct {
	URL string

	mu     sync.Mutex
	answer func(Asked) Answer
	asked  []Asked
	counts map[string]int
	called int
}

// NewModel serves models until the test ends; a nil answer function echoes the message.
func NewModel(t testing.TB, answer func(Asked) Answer) *Model {
	t.Helper()
	m := &Model{counts: map[string]int{}}
	m.Answer(answer)
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	m.URL = server.URL + "/v1"
	return m
}

// Answer replaces the answer function; nil echoes the message. It is called concurrently and may wait.
func (m *Model) Answer(answer func(Asked) Answer) {
	if answer == nil {
		answer = func(a Asked) Answer { return Say("echo: " + a.Message()) }
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer = answer
}

// Asked returns all requests so far.
func (m *Model) Asked() []Asked {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

// Forget drops the recorded requests, each of which holds the whole conversation before it.
func (m *Model) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = nil
}

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
	asked := q.received()
	asked.Key, asked.Context = r.Header.Get("Idempotency-Key"), r.Context()
	m.mu.Lock()
	m.counts[asked.Agent]++
	asked.N = m.counts[asked.Agent]
	m.asked = append(m.asked, asked)
	answer := m.answer
	m.mu.Unlock()
	m.write(w, answer(asked))
}

func (q *request) received() Asked {
	a := Asked{Agent: q.Model[strings.LastIndexByte(q.Model, '/')+1:]}
	for _, said := range q.Messages {
		text := textOf(said.Content)
		if said.Role == "system" || said.Role == "developer" {
			a.System += text
			continue
		}
		a.Messages = append(a.Messages, Message{Role: said.Role, Text: text, Calls: len(said.ToolCalls),
			Pictures: bytes.Count(said.Content, []byte(`"image_url":{`))})
	}
	for _, t := range q.Tools {
		a.Offered = append(a.Offered, t.Function.Name)
	}
	return a
}

// textOf returns the text of a message, given as a string or as blocks.
func textOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &blocks) // anything else has no text
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
			panic(err) // values come from a test
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil {
			return // the caller no longer waits
		}
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n") // likewise
}

func (m *Model) calls(calls []Call) (list []any) {
	for i, call := range calls {
		args, err := json.Marshal(call.Args)
		if err != nil {
			panic(err) // values come from a test
		}
		m.mu.Lock()
		m.called++
		id := cmp.Or(call.ID, fmt.Sprintf("call_%d", m.called))
		m.mu.Unlock()
		list = append(list, map[string]any{"index": i, "id": id, "type": "function", "function": map[string]any{"name": call.Name, "arguments": string(args)}})
	}
	return list
}
