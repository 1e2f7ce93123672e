package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/server/settings"
)

// talkingConfig has agents who answer by talkingScript, to programs that speak OpenAI's API too.
const talkingConfig = `{
  gateway: { auth: { mode: "token", token: "secret" }, http: { endpoints: { chatCompletions: { enabled: true }, responses: { enabled: true } } } },
  agents: { list: [ { id: "main", default: true }, { id: "eden", name: "Eden" } ] },
  models: { scripted: { script: "script.json" } },
}
`

// talkingScript has a model that asks who is there, one that hangs in the middle, one that fails, and one that says again what it hears.
const talkingScript = `{"rules": [
  {"when": {"after": "tool"}, "answer": {"text": "there are: {{result}}"}},
  {"when": {"contains": ["who"]}, "answer": {"text": "I look", "toolCalls": [{"name": "agents_list"}]}},
  {"when": {"contains": ["hang"]}, "answer": {"text": "half of it and the rest", "chunk": 12, "fault": {"hang": true, "after": 1}}},
  {"when": {"contains": ["fail"]}, "answer": {"fault": {"class": "rejected", "status": 400, "message": "fake model failure"}}},
  {"when": {"after": "any"}, "answer": {"text": "echo: {{message}}"}}
]}`

// startTalking serves agents, and says where the gateway is.
func startTalking(t *testing.T) (r *reloading, url string) {
	t.Helper()
	r = startReloading(t, map[string]string{settings.FileName: talkingConfig, "script.json": talkingScript}, withGateway)
	return r, "http://" + r.gatewayAddress().String()
}

// asks posts to the gateway, and returns when the answer begins. Headers are pairs.
func asks(ctx context.Context, t testing.TB, url, body string, headers ...string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	request.Header.Set("Authorization", "Bearer secret")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return http.DefaultClient.Do(request)
}

// told posts to the gateway and reads the whole answer.
func told(t testing.TB, url, body string, headers ...string) (int, string) {
	t.Helper()
	answer, err := asks(t.Context(), t, url, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

type completion struct {
	ID      string
	Choices []struct {
		Message, Delta struct{ Content string }
		Finish         *string `json:"finish_reason"`
	}
	Usage struct {
		Total int `json:"total_tokens"`
	}
}

func completionOf(t testing.TB, text string) (c completion) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &c); err != nil || len(c.Choices) != 1 {
		t.Fatalf("%v in %s", err, text)
	}
	return c
}

// An agent asked over HTTP answers in a lasting session, and its tool calls are made.
func TestAgentsAnswerOverHTTP(t *testing.T) {
	t.Parallel()
	r, url := startTalking(t)
	status, text := told(t, url+"/v1/chat/completions", `{"model":"openclaw:eden","user":"bob","messages":[{"role":"user","content":"hi http"}]}`)
	if c := completionOf(t, text); status != 200 || c.Choices[0].Message.Content != "echo: hi http" || c.Usage.Total == 0 {
		t.Errorf("%d %s", status, text)
	}
	status, text = told(t, url+"/v1/responses", `{"model":"openclaw:eden","input":"who is there?"}`)
	if status != 200 || !strings.Contains(text, "there are: ") || !strings.Contains(text, "Eden") {
		t.Errorf("%d %s", status, text)
	}
	status, text = told(t, url+"/v1/chat/completions", `{"messages":[{"role":"user","content":"please fail"}]}`)
	if c := completionOf(t, text); status != 200 || !strings.Contains(c.Choices[0].Message.Content, "fake model failure") {
		t.Errorf("%d %s", status, text)
	}
	status, text = told(t, url+"/v1/chat/completions", `{"tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":"hi"}]}`)
	if status != 400 || !strings.Contains(text, "unsupported_parameter") {
		t.Errorf("tools of a client: %d %s", status, text)
	}
	listed, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	listed.Close = true
	listed.Header.Set("Authorization", "Bearer secret")
	answer, err := http.DefaultClient.Do(listed)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var models struct{ Data []struct{ ID string } }
	if err := json.NewDecoder(answer.Body).Decode(&models); err != nil || fmt.Sprint(models.Data) != "[{openclaw} {openclaw/default} {openclaw/main} {openclaw/eden}]" {
		t.Errorf("models: %d %v, %v", answer.StatusCode, models.Data, err)
	}
	conn := connect(t, gatewayURL(r.gatewayAddress()))
	h := calls[history](t, conn, "chat.history", map[string]string{"sessionKey": "agent:eden:openai-user:bob"})
	if got := fmt.Sprint(h.texts()); got != "[hi http echo: hi http]" {
		t.Errorf("the transcript is %s", got)
	}
	status, text = told(t, url+"/tools/invoke", `{"tool":"agents_list"}`)
	if status != 200 || !strings.HasPrefix(text, `{"ok":true,"result":{"content":[{"type":"text"`) {
		t.Errorf("%d %s", status, text)
	}
	invoked := calls[struct {
		OK       bool
		ToolName string
	}](t, conn, "tools.invoke", map[string]any{"name": "agents_list"})
	if !invoked.OK || invoked.ToolName != "agents_list" {
		t.Errorf("%+v", invoked)
	}
}

// A run whose client has left is stopped: its model is not asked again, and it has its end.
func TestAClientThatLeavesStopsItsRun(t *testing.T) {
	t.Parallel()
	r, url := startTalking(t)
	ctx, leave := context.WithCancel(t.Context())
	answer, err := asks(ctx, t, url+"/v1/chat/completions", `{"stream":true,"messages":[{"role":"user","content":"hang on"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	id, said := "", ""
	for lines := bufio.NewScanner(answer.Body); said == "" && lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			c := completionOf(t, data)
			id, said = c.ID, c.Choices[0].Delta.Content
		}
	}
	leave()
	_ = answer.Body.Close()
	end := calls[struct{ Status, State string }](t, connect(t, gatewayURL(r.gatewayAddress())), "agent.wait", map[string]any{"runId": id, "timeoutMs": 60_000})
	if said != "half of it a" || end.State != "aborted" {
		t.Errorf("said %q, ended as %+v", said, end)
	}
}

// A repeated request with a key gets the one answer, also concurrently.
func TestTheSameIsAnsweredOnceOverHTTP(t *testing.T) {
	t.Parallel()
	r, url := startTalking(t)
	var all sync.WaitGroup
	answers := make([]string, 8)
	for i := range answers {
		all.Go(func() {
			_, answers[i] = told(t, url+"/v1/chat/completions", `{"user":"bob","messages":[{"role":"user","content":"once"}]}`, "Idempotency-Key", "k1")
		})
	}
	all.Wait()
	for _, text := range answers {
		if c := completionOf(t, text); c.Choices[0].Message.Content != "echo: once" || c.ID != completionOf(t, answers[0]).ID {
			t.Errorf("%s", text)
		}
	}
	h := calls[history](t, connect(t, gatewayURL(r.gatewayAddress())), "chat.history", map[string]string{"sessionKey": "agent:main:openai-user:bob"})
	if got := fmt.Sprint(h.texts()); got != "[once echo: once]" {
		t.Errorf("the transcript is %s", got)
	}
}

// Streams of many sessions at once each get their own answer.
func TestManyStreamsOverHTTP(t *testing.T) {
	t.Parallel()
	const streams = 50
	_, url := startTalking(t)
	var all sync.WaitGroup
	for n := range streams {
		all.Go(func() {
			answer, err := asks(t.Context(), t, url+"/v1/chat/completions", fmt.Sprintf(`{"stream":true,"messages":[{"role":"user","content":"stream %d"}]}`, n))
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = answer.Body.Close() }()
			said, finish, err := heardOf(answer.Body)
			if want := fmt.Sprintf("echo: stream %d", n); said != want || finish != "stop" || err != nil {
				t.Errorf("stream %d: %q, %s, %v", n, said, finish, err)
			}
		})
	}
	all.Wait()
}

// heardOf reads a stream of a chat completion up to its mark.
func heardOf(body io.Reader) (said, finish string, err error) {
	for lines := bufio.NewScanner(body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if data == "[DONE]" {
			return said, finish, nil
		}
		var c completion
		if !ok {
			continue
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			return said, finish, err
		}
		for _, choice := range c.Choices {
			said += choice.Delta.Content
			if choice.Finish != nil {
				finish = *choice.Finish
			}
		}
	}
	return said, finish, errors.New("it has no mark at its end")
}
