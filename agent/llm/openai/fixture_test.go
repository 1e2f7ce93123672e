package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/agent/llm"
)

const testKey = "sk-test-0123456789abcdefghij"

// serve is a provider at a server of its own.
func serve(t testing.TB, o Options, handle http.HandlerFunc) *Provider {
	t.Helper()
	server := httptest.NewServer(handle)
	transport := NewTransport()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.CloseClientConnections()
		server.Close()
	})
	o.ID, o.BaseURL, o.Transport = "fake", server.URL+"/v1/", transport
	if o.Key == "" {
		o.Key = testKey
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sends answers with a stream, as it is.
func sends(stream string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
	}
}

func frame(delta, finish string) string {
	if finish == "" {
		finish = "null"
	} else {
		finish = `"` + finish + `"`
	}
	return `data: {"id":"c1","object":"chat.completion.chunk","model":"echo-1-0613","choices":[{"index":0,"delta":` + delta +
		`,"finish_reason":` + finish + "}]}\n\n"
}

func text(s string) string {
	quoted, _ := json.Marshal(s)
	return frame(`{"content":`+string(quoted)+`}`, "")
}

const (
	usageFrame = `data: {"id":"c1","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":64}}}` + "\n\n"
	doneFrame  = "data: [DONE]\n\n"
)

func hello() *llm.Request {
	return &llm.Request{Model: "echo-1", Messages: []llm.Message{{Role: llm.User, Text: "hello"}}}
}

// heard writes chunks down.
func heard(to *[]string) func(llm.Chunk) {
	return func(c llm.Chunk) {
		switch {
		case c.ToolCall != nil:
			*to = append(*to, "call "+c.ToolCall.ID+" "+c.ToolCall.Name)
		case c.Thinking != "":
			*to = append(*to, "thinks "+c.Thinking)
		default:
			*to = append(*to, c.Text)
		}
	}
}

// classOf checks that an error is a whole *llm.Error of this provider.
func classOf(t testing.TB, err error) llm.Class {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %T %v, want an *llm.Error", err, err)
	}
	if e.Provider != "fake" || e.Model != "echo-1" {
		t.Errorf("%v: is of %s/%s", err, e.Provider, e.Model)
	}
	if strings.Contains(fmt.Sprintf("%v %+v %s", err, *e, e.Hint()), testKey) {
		t.Errorf("%v: shows the key", err)
	}
	if strings.ContainsAny(e.Error(), "\r\n\x00") || len([]rune(e.Message)) > 401 {
		t.Errorf("%q: is not one short line", e.Error())
	}
	return e.Class
}
