package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pronto-lab/openclawd/agent/llm"
)

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// Whatever comes, there is either an answer that is what was streamed, or an error; and it does not matter how it is cut.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		text2(doneFrame), text("a") + usageFrame, ": c\n\n" + doneFrame, "data: {\ndata: }\n\n", `{"choices":[{"message":{"content":"x"}}]}`, `[{"error":{"code":429}}]`,
		frame(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"a\":"}}]}`, "") + frame(`{"tool_calls":[{"function":{"arguments":"1}"}}]}`, "tool_calls") + doneFrame,
		`data: {"error":"no"}`, "<html>", "data: [DONE]", "event: error\r\ndata: {\"object\":\"error\"}\r\n\r\n",
	} {
		f.Add([]byte(seed), 200)
		f.Add([]byte(seed), 429)
	}
	f.Fuzz(func(t *testing.T, stream []byte, status int) {
		ask := func(body io.Reader) (*llm.Answer, string, error) {
			p, err := New(Options{ID: "fake", BaseURL: "http://h", Key: testKey, FrameBytes: 4 << 10, StreamBytes: 16 << 10, TextBytes: 1 << 10, ArgumentsBytes: 1 << 10, ToolCalls: 4,
				Transport: transport(func(*http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: status, Body: io.NopCloser(body), Header: http.Header{"Retry-After": {string(stream[:min(len(stream), 20)])}}}, nil
				})})
			if err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			a, err := p.Complete(context.Background(), hello(), func(c llm.Chunk) { said.WriteString(c.Text) })
			return a, said.String(), err
		}
		a, said, err := ask(bytes.NewReader(stream))
		again, saidAgain, errAgain := ask(iotest.OneByteReader(bytes.NewReader(stream)))
		if said != saidAgain || (err == nil) != (errAgain == nil) {
			t.Fatalf("the cut matters: %q, %v and %q, %v", said, err, saidAgain, errAgain)
		}
		if err != nil {
			var e *llm.Error
			if !errors.As(err, &e) || e.Class == "" || a != nil || e.RetryAfter < 0 || e.RetryAfter > maxRetryAfter {
				t.Fatalf("got %v and %#v", a, err)
			}
			return
		}
		if a.Text != said || again.Text != said {
			t.Fatalf("answers %q, streamed %q", a.Text, said)
		}
		ids := map[string]bool{}
		for _, c := range a.ToolCalls {
			var object map[string]any
			if json.Unmarshal(c.Arguments, &object) != nil || object == nil || c.ID == "" || c.Name == "" || ids[c.ID] {
				t.Fatalf("a call %+v", c)
			}
			ids[c.ID] = true
		}
	})
}
