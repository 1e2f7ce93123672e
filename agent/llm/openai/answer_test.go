package openai

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/llm"
)

func TestAnswerIsStreamedInOrderAndReturnedWhole(t *testing.T) {
	t.Parallel()
	p := serve(t, Options{}, sends(": hi\n\n"+frame(`{"role":"assistant","content":""}`, "")+frame(`{"reasoning_content":"hm"}`, "")+
		text("안녕 ")+text("there\n")+frame(`{"tool_calls":[{"index":0,"id":"c_a","type":"function","function":{"name":"look","arguments":""}}]}`, "")+
		frame(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"at\":"}}]}`, "")+frame(`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`, "")+
		frame(`{}`, "tool_calls")+usageFrame+doneFrame))
	var said []string
	got, err := p.Complete(t.Context(), hello(), heard(&said))
	if err != nil {
		t.Fatal(err)
	}
	want := &llm.Answer{Text: "안녕 there\n", StopReason: llm.ToolUse, Provider: "fake", Model: "echo-1-0613",
		ToolCalls: []llm.ToolCall{{ID: "c_a", Name: "look", Arguments: json.RawMessage(`{"at":1}`)}},
		Usage:     llm.Usage{Input: 100, Output: 20, Total: 120, Cached: 64}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"thinks hm", "안녕 there\n", "call c_a look"}, said); diff != "" {
		t.Error(diff)
	}
}

// What has come is passed on before more is awaited, though the next part never comes without that; parts that come
// together are passed on together.
func TestPartsArePassedOnAsTheyCome(t *testing.T) {
	t.Parallel()
	passed := make(chan string, 9)
	p := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		for i, want := range []string{"a", "bc", "thinks d"} {
			_, _ = io.WriteString(w, []string{text("a"), text("b") + text("c"), frame(`{"reasoning_content":"d"}`, "")}[i])
			_ = http.NewResponseController(w).Flush()
			if got := <-passed; got != want {
				t.Errorf("passed on %q, want %q", got, want)
			}
		}
		_, _ = io.WriteString(w, text("e")+frame("{}", "stop")+doneFrame)
	})
	answer, err := p.Complete(t.Context(), hello(), func(c llm.Chunk) {
		if c.Thinking != "" {
			passed <- "thinks " + c.Thinking
			return
		}
		passed <- c.Text
	})
	if err != nil || answer.Text != "abce" || <-passed != "e" {
		t.Errorf("%+v, %v", answer, err)
	}
}

func TestRequestSaysEverything(t *testing.T) {
	t.Parallel()
	var sent map[string]any
	var header http.Header
	var path string
	p := serve(t, Options{UserAgent: "openclawd/1"}, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(text, &sent)
		header, path = r.Header.Clone(), r.URL.Path
		sends(text2(doneFrame))(w, r)
	})
	call := llm.ToolCall{ID: "c1", Name: "look", Arguments: json.RawMessage(`{"at":1}`)}
	_, err := p.Complete(t.Context(), &llm.Request{
		Model: "m", System: "be brief", MaxTokens: 50, Thinking: "low", IdempotencyKey: "run-1:2",
		Messages: []llm.Message{
			{Role: llm.User, Text: "see", Images: []llm.Image{{MediaType: "image/png", Data: []byte("x")}}},
			{Role: llm.Assistant, ToolCalls: []llm.ToolCall{call, {ID: "c2", Name: "lost", Arguments: json.RawMessage(`{}`)}}},
			{Role: llm.ToolRole, ToolCallID: "c1", Text: "", IsError: false},
			{Role: llm.Assistant},
			{Role: llm.User},
		},
		Tools: []llm.Tool{{Name: "look", Description: "looks", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "lost"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(`{"model":"m","max_tokens":50,"stream":true,"stream_options":{"include_usage":true},"reasoning_effort":"low","messages":[
		{"role":"system","content":"be brief"},
		{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}}]},
		{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"at\":1}"}},
			{"id":"c2","type":"function","function":{"name":"lost","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"(no output)"},
		{"role":"tool","tool_call_id":"c2","content":"error: `+llm.NoResult+`"},
		{"role":"user","content":"(no text)"}],
		"tools":[{"type":"function","function":{"name":"look","description":"looks","parameters":{"type":"object"}}},
			{"type":"function","function":{"name":"lost","parameters":{"type":"object","properties":{}}}}]}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + testKey, "Idempotency-Key": "run-1:2", "User-Agent": "openclawd/1"} {
		if header.Get(name) != value {
			t.Errorf("%s is %q, want %q", name, header.Get(name), value)
		}
	}
	if path != "/v1/chat/completions" {
		t.Errorf("asked at %s", path)
	}
}

func text2(end string) string { return text("ok") + frame("{}", "stop") + end }

func TestNewerModelsAreAskedInTheirWay(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ base, model, field string }{
		{"https://api.openai.com/v1", "gpt-4o", "max_completion_tokens"},
		{"https://proxy.example/v1", "o3-mini", "max_completion_tokens"},
		{"http://127.0.0.1:1/v1", "llama", "max_tokens"},
	} {
		p, err := New(Options{ID: "fake", BaseURL: test.base, Transport: http.DefaultTransport})
		if err != nil {
			t.Fatal(err)
		}
		q, err := p.request(&llm.Request{Model: test.model, MaxTokens: 7})
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := json.Marshal(q); !strings.Contains(string(text), `"`+test.field+`":7`) {
			t.Errorf("%s at %s: no %s in %s", test.model, test.base, test.field, text)
		}
	}
}

// What a model has called is told to any other one, whatever names and ids these take: no one refuses a session for ever.
func TestToolCallsAreSentInCommonForm(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("i", 300)
	taken := regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	seen := map[string]bool{}
	var history []llm.Message
	for _, id := range []string{"call_1", "call|1", "call.1", "fc_" + strings.Repeat("i", 60), "한", "", long, long + "j"} {
		call := llm.ToolCall{ID: id, Name: "functions." + id}
		history = append(history, llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{call}}, llm.Message{Role: llm.ToolRole, ToolCallID: id, Text: "x"})
		said := message(&history[len(history)-2]).ToolCalls[0]
		if result := message(&history[len(history)-1]); result.ToolCallID != said.ID {
			t.Errorf("%q: the call is %s, its result that of %s", id, said.ID, result.ToolCallID)
		}
		if !taken.MatchString(said.ID) || len(said.ID) > 40 || !taken.MatchString(said.Function.Name) || len(said.Function.Name) > 64 ||
			seen[said.ID] || seen[said.Function.Name] {
			t.Errorf("%q becomes %+v", id, said)
		}
		seen[said.ID], seen[said.Function.Name] = true, true
	}
	if !seen["call_1"] {
		t.Error("an id that everybody takes is changed")
	}
}

func TestRequestThatCannotBeAskedIsRejected(t *testing.T) {
	t.Parallel()
	p := serve(t, Options{}, func(http.ResponseWriter, *http.Request) { t.Error("was asked") })
	for name, change := range map[string]func(*llm.Request){
		"thinking": func(r *llm.Request) { r.Thinking = "very" },
		"schema":   func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "x", Schema: json.RawMessage(`{"type"`)}} },
	} {
		r := hello()
		change(r)
		_, err := p.Complete(t.Context(), r, nil)
		if class := classOf(t, err); class != llm.Rejected {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Complete(ctx, hello(), nil); err != context.Canceled {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestToolCallDeltasOfEachServer(t *testing.T) {
	t.Parallel()
	deltas := func(parts ...string) (all string) {
		for _, part := range parts {
			all += frame(`{"tool_calls":[`+part+`]}`, "")
		}
		return all + frame("{}", "stop") + doneFrame
	}
	for name, test := range map[string]struct {
		stream string
		want   []string
	}{
		"in turns": {deltas(`{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\""}}`, `{"index":1,"id":"b","function":{"name":"y","arguments":"{"}}`,
			`{"index":0,"function":{"arguments":":1}"}}`, `{"index":1,"function":{"arguments":"}"}}`), []string{`a x {"n":1}`, `b y {}`}},
		"both at once": {deltas(`{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"x","arguments":"{}"}}`),
			[]string{"a x {}", "b x {}"}},
		"all numbered 0": {deltas(`{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}`, `{"index":0,"id":"b","function":{"name":"y","arguments":"{}"}}`),
			[]string{"a x {}", "b y {}"}},
		"not numbered": {deltas(`{"id":"a","function":{"name":"x","arguments":"{"}}`, `{"function":{"arguments":"}"}}`, `{"id":"b","function":{"name":"y","arguments":"{}"}}`),
			[]string{"a x {}", "b y {}"}},
		"neither number nor id": {deltas(`{"function":{"name":"x","arguments":"{}"}}`, `{"function":{"name":"y","arguments":"{"}}`, `{"function":{"arguments":"}"}}`),
			[]string{"call_1_0 x {}", "call_1_1 y {}"}},
		"id and name every time": {deltas(`{"index":0,"id":"a","function":{"name":"x","arguments":"{"}}`, `{"index":0,"id":"a","function":{"name":"x","arguments":"}"}}`),
			[]string{"a x {}"}},
		"one id for two": {deltas(`{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}`, `{"index":1,"id":"a","function":{"name":"y","arguments":"{}"}}`),
			[]string{"a x {}", "call_1_1 y {}"}},
		"no arguments":      {deltas(`{"index":0,"id":"a","function":{"name":"x"}}`), []string{"a x {}"}},
		"null arguments":    {deltas(`{"index":0,"id":"a","function":{"name":"x","arguments":" null\n"}}`), []string{"a x {}"}},
		"cut off arguments": {deltas(`{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\":"}}`), []string{`a x {} instead of {"n":`}},
		"a list":            {deltas(`{"index":0,"id":"a","function":{"name":"x","arguments":"[1]"}}`), []string{`a x {} instead of [1]`}},
		"prose":             {deltas(`{"index":0,"id":"a","function":{"name":"no such tool","arguments":"please"}}`), []string{`a no such tool {} instead of please`}},
		"one document": {`{"model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[
			{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"y","arguments":"{}"}}]}}]}`, []string{"a x {}", "b y {}"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said []string
			a, err := serve(t, Options{}, sends(test.stream)).Complete(t.Context(), hello(), heard(&said))
			if err != nil {
				t.Fatal(err)
			}
			if a.StopReason != llm.ToolUse {
				t.Errorf("stops for %s", a.StopReason)
			}
			var got []string
			for i, c := range a.ToolCalls {
				one := c.ID + " " + c.Name + " " + string(c.Arguments)
				if c.Malformed != "" {
					one += " instead of " + c.Malformed
				}
				got = append(got, one)
				if len(said) <= i || said[i] != "call "+c.ID+" "+c.Name {
					t.Errorf("streamed %q for %s", said, one)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStreamsAreReadHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	whole := text("Hello ") + text("you") + frame("{}", "stop")
	for name, stream := range map[string]string{
		"as usual":            whole + usageFrame + doneFrame,
		"without [DONE]":      whole,
		"without reason":      text("Hello ") + text("you") + doneFrame,
		"without last line":   strings.TrimRight(whole, "\n"),
		"with CR and LF":      strings.ReplaceAll(whole+doneFrame, "\n", "\r\n"),
		"without empty lines": strings.ReplaceAll(whole+doneFrame, "\n\n", "\n"),
		"without spaces":      strings.ReplaceAll(whole+doneFrame, "data: ", "data:"),
		"after a mark":        "\uFEFF" + whole + doneFrame,
		"after empty lines":   "\n\n" + whole + doneFrame,
		"with other fields":   strings.ReplaceAll(whole+doneFrame, "data:", "event: message\nid: 7\nretry: 10\ndata:"),
		"with many comments":  strings.Repeat(": PROCESSING\n\n", 2_000) + whole + doneFrame,
		"over lines":          strings.ReplaceAll(whole, `,"choices"`, ",\ndata: \"choices\"") + doneFrame,
		"with null errors":    strings.ReplaceAll(whole, `,"choices"`, `,"error":null,"choices"`) + doneFrame,
		"with more after it":  whole + doneFrame + text("never") + strings.Repeat("x", 10_000),
		"other choices":       strings.ReplaceAll(text("no"), `"index":0`, `"index":1`) + whole + doneFrame,
		"a document":          `{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello you"},"finish_reason":"stop"}]}`,
		"a document in parts": ` {"choices":[{"message":{"content":[{"type":"text","text":"Hello "},{"type":"text","text":"you"}]},"finish_reason":"stop"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said []string
			a, err := serve(t, Options{}, sends(stream)).Complete(t.Context(), hello(), heard(&said))
			if err != nil {
				t.Fatal(err)
			}
			if a.Text != "Hello you" || strings.Join(said, "") != a.Text || a.StopReason != llm.Stop {
				t.Errorf("got %q (%s), streamed %q", a.Text, a.StopReason, said)
			}
		})
	}
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]llm.StopReason{"stop": llm.Stop, "length": llm.Length, "content_filter": llm.Filtered, "max_tokens": llm.Length, "eos": llm.Stop} {
		a, err := serve(t, Options{}, sends(text("x")+frame("{}", reason)+doneFrame)).Complete(t.Context(), hello(), nil)
		if err != nil || a.StopReason != want {
			t.Errorf("%s: got %v, %v, want %s", reason, a, err, want)
		}
	}
	a, err := serve(t, Options{}, sends(frame(`{"refusal":"I must not"}`, "")+frame("{}", "stop")+doneFrame)).Complete(t.Context(), hello(), nil)
	if err != nil || a.StopReason != llm.Filtered || a.Text != "I must not" {
		t.Errorf("got %v, %v", a, err)
	}
}
