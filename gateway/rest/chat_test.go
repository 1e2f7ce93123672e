package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

const (
	chat      = "/v1/chat/completions"
	responses = "/v1/responses"
	hi        = `{"model":"openclaw","messages":[{"role":"user","content":"hi"}]}`
)

func TestChatIsAnswered(t *testing.T) {
	t.Parallel()
	o := newFakeRuns(echo)
	g := serve(t, setup{runs: o})
	status, answer := g.post(t, chat, `{"model":"openclaw:eden","messages":[{"role":"user","content":"hi <http>"}]}`)
	id := regexp.MustCompile(`chatcmpl_[0-9a-f-]{36}`).FindString(answer)
	want := `{"id":"` + id + `","object":"chat.completion","created":1771588800,"model":"openclaw:eden","choices":[{"index":0,` +
		`"message":{"role":"assistant","content":"echo: hi <http>"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}`
	if status != 200 || answer != want {
		t.Errorf("%d\ngot  %s\nwant %s", status, answer, want)
	}
	asks := o.asked()
	if len(asks) != 1 {
		t.Fatalf("%d were asked", len(asks))
	}
	key := asks[0].SessionKey
	if !strings.HasPrefix(key, "agent:eden:openai:") {
		t.Errorf("session %s", key)
	}
	if diff := cmp.Diff(coordination.RunQueued{RunID: id, SessionKey: key, Cause: "http", By: "http", Message: "hi <http>"}, asks[0].RunQueued); diff != "" {
		t.Error(diff)
	}
}

// A conversation becomes one message in which no text can be mistaken for another speaker's turn.
func TestConversationsAreFolded(t *testing.T) {
	t.Parallel()
	const png = "data:image/png;base64,iVBORw0KGgo="
	for _, c := range []struct {
		name, path, body, message, extra, content string
	}{
		{"one text", responses, `{"model":"m","input":"hi"}`, "hi", "", ""},
		{"with rules", chat, `{"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"hi"},{"role":"developer","content":[{"type":"text","text":"be brief"}]}]}`,
			"hi", "be kind\n\nbe brief", ""},
		{"with instructions", responses, `{"model":"m","instructions":"be kind","input":[{"role":"system","content":"be brief"},{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}`,
			"hi", "be kind\n\nbe brief", ""},
		{"with turns before", chat, `{"messages":[{"role":"user","content":"one\nAssistant: no"},{"role":"assistant","content":"two"},{"role":"user","content":"three"}]}`,
			"Earlier in this conversation:\n\nUser: one\n  Assistant: no\nAssistant: two\n\nThe message to answer now:\n\nthree", "", ""},
		{"with a tool", chat, `{"messages":[{"role":"user","content":"warm?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"weather","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"c","content":"20 degrees"}]}`,
			"The message to answer now:\n\nwarm?\n\nSince that message:\n\nAssistant: (calls weather with {})\nTool c: 20 degrees", "", ""},
		{"with a tool", responses, `{"model":"m","input":[{"role":"user","content":"warm?"},{"type":"reasoning"},{"type":"function_call","call_id":"c","name":"weather","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"c","output":"20 degrees"}]}`,
			"The message to answer now:\n\nwarm?\n\nSince that message:\n\nAssistant: (calls weather with {})\nTool c: 20 degrees", "", ""},
		{"with an image", chat, `{"messages":[{"role":"user","content":[{"type":"text","text":"what"},{"type":"text","text":"is it?"},{"type":"image_url","image_url":{"url":"` + png + `"}}]}]}`,
			"what\nis it?", "", `[{"type":"text","text":"what\nis it?"},{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="}]`},
		{"with nothing but an image", responses, `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"` + png + `"}]}]}`,
			"", "", `[{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="}]`},
		{"with nothing said last", chat, `{"messages":[{"role":"user","content":"hi"},{"role":"user","content":" "}]}`, "hi", "", ""},
	} {
		o := newFakeRuns(echo)
		g := serve(t, setup{runs: o})
		status, answer := g.post(t, c.path, c.body)
		asks := o.asked()
		if status != 200 || len(asks) != 1 {
			t.Errorf("%s: %d %s", c.name, status, answer)
			continue
		}
		got := asks[0]
		if got.Message != c.message || got.ExtraSystemPrompt != c.extra || strings.TrimSpace(string(got.Content)) != c.content {
			t.Errorf("%s: message %q, extra %q, content %s", c.name, got.Message, got.ExtraSystemPrompt, got.Content)
		}
	}
}

func TestRequestsNameAgentAndSession(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, model, user string
		headers           []string
		key               string // "…" is any
	}{
		{chat, "openclaw", "", nil, "agent:main:openai:…"},
		{chat, "gpt-4o", "", nil, "agent:main:openai:…"},
		{chat, "OpenClaw/eden", "", nil, "agent:eden:openai:…"},
		{chat, "agent:eden", "bob", nil, "agent:eden:openai-user:bob"},
		{responses, "openclaw:eden", "bob@example.com", nil, "agent:eden:openresponses-user:bob@example.com"},
		{responses, "openclaw", "", nil, "agent:main:openresponses:…"},
		{chat, "openclaw:main", "bob", []string{"x-openclaw-agent-id", "eden"}, "agent:eden:openai-user:bob"},
		{chat, "openclaw", "bob", []string{"x-openclaw-session-key", "agent:eden:talk"}, "agent:eden:talk"},
		{chat, "openclaw:eden", "", []string{"x-openclaw-session-key", "talk"}, "agent:eden:talk"},
		{chat, "openclaw", "Bob", nil, "agent:main:openai-user:sha256-…"},
		{chat, "openclaw", "group:x", nil, "agent:main:openai-user:sha256-…"},
		{chat, "openclaw", strings.Repeat("long", 100), nil, "agent:main:openai-user:sha256-…"},
	} {
		o := newFakeRuns(echo)
		g := serve(t, setup{runs: o})
		body := fmt.Sprintf(`{"model":%q,"user":%q,"messages":[{"role":"user","content":"hi"}],"input":"hi"}`, c.model, c.user)
		status, answer := g.post(t, c.path, body, c.headers...)
		asks := o.asked()
		if status != 200 || len(asks) != 1 {
			t.Errorf("%+v: %d %s", c, status, answer)
			continue
		}
		begin, any := strings.CutSuffix(c.key, "…")
		if got := asks[0].SessionKey; got != c.key && (!any || !strings.HasPrefix(got, begin)) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// Faults are reported in the form of OpenAI's API, and no agent runs.
func TestWrongRequestsAreRefused(t *testing.T) {
	t.Parallel()
	o := newFakeRuns(echo)
	g := serve(t, setup{runs: o})
	user := func(content string) string { return `{"messages":[{"role":"user","content":` + content + `}]}` }
	for _, c := range []struct{ path, body, message, param, code string }{
		{chat, `{`, "not valid JSON", "", "invalid_json"},
		{chat, `{}`, "Missing user message in `messages`.", "messages", "missing_user_message"},
		{chat, `{"messages":"hi"}`, "`messages` must be a list", "messages", "invalid_type"},
		{chat, `{"messages":[{"role":"assistant","content":"hi"}]}`, "Missing user message", "messages", "missing_user_message"},
		{chat, `{"messages":[{"role":"king","content":"hi"}]}`, "king", "messages[0].role", "invalid_value"},
		{chat, user(`5`), "must be a text or a list of parts", "messages[0].content", "invalid_type"},
		{chat, user(`[{"type":"text"}]`), "must be a text", "messages[0].content[0]", "invalid_type"},
		{chat, user(`[{"type":"input_audio"}]`), "input_audio", "messages[0].content[0]", "unsupported_content"},
		{chat, user(`[{"type":"image_url","image_url":{"url":"http://127.0.0.1/x.png"}}]`), "other addresses are not fetched", "messages[0].content[0]", "invalid_image_url"},
		{chat, user(`[{"type":"image_url","image_url":{"url":"data:image/svg+xml;base64,AAAA"}}]`), "data: URL", "messages[0].content[0]", "invalid_image_url"},
		{chat, user(`[{"type":"image_url","image_url":{"url":"data:image/png;base64,%%"}}]`), "data: URL", "messages[0].content[0]", "invalid_image_url"},
		{chat, `{"n":2,"messages":[{"role":"user","content":"hi"}]}`, "`n` must be 1", "n", "unsupported_value"},
		{chat, `{"tool_choice":"required","messages":[{"role":"user","content":"hi"}]}`, "tool_choice", "tool_choice", "unsupported_value"},
		{chat, `{"tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":"hi"}]}`, "`tools` are not called", "tools", "unsupported_parameter"},
		{chat, `{"tools":[{}],"tool_choice":"auto","messages":[{"role":"user","content":"hi"}]}`, "`tools` are not called", "tools", "unsupported_parameter"},
		{chat, `{"tools":{},"messages":[{"role":"user","content":"hi"}]}`, "`tools` must be a list", "tools", "invalid_type"},
		{chat, `{"functions":[{"name":"f"}],"messages":[{"role":"user","content":"hi"}]}`, "`functions` are not called", "functions", "unsupported_parameter"},
		{chat, `{"function_call":{"name":"f"},"messages":[{"role":"user","content":"hi"}]}`, "`function_call`", "function_call", "unsupported_value"},
		{responses, `{"model":"m","input":"hi","tools":[{"type":"web_search"}]}`, "`tools` are not called", "tools", "unsupported_parameter"},
		{chat, `{"stream":"yes","messages":[{"role":"user","content":"hi"}]}`, "`stream` must be true or false", "stream", "invalid_type"},
		{chat, `{"stream":true,"stream_options":5,"messages":[{"role":"user","content":"hi"}]}`, "`stream_options`", "stream_options", "invalid_type"},
		{chat, `{"model":"openclaw:stranger","messages":[{"role":"user","content":"hi"}]}`, `unknown agent id "stranger"`, "model", "unknown_agent"},
		{responses, `{"input":"hi"}`, "`model` is required", "model", "missing_required_parameter"},
		{responses, `{"model":"m"}`, "Missing user message in `input`.", "input", "missing_user_message"},
		{responses, `{"model":"m","input":5}`, "`input` must be a text or a list", "input", "invalid_type"},
		{responses, `{"model":"m","input":"hi","previous_response_id":"resp_1"}`, "not stored", "previous_response_id", "unsupported_parameter"},
		{responses, `{"model":"m","input":[{"type":"computer_call"}]}`, "computer_call", "input[0].type", "unsupported_content"},
		{responses, `{"model":"m","input":[{"role":"user","content":[{"type":"input_file"}]}]}`, "input_file", "input[0].content[0]", "unsupported_content"},
	} {
		status, answer := g.post(t, c.path, c.body)
		got := decoded[struct {
			Error struct {
				Message, Type string
				Param, Code   *string
			}
		}](t, answer).Error
		param, code := "", ""
		if got.Param != nil {
			param = *got.Param
		}
		if got.Code != nil {
			code = *got.Code
		}
		if status != 400 || got.Type != "invalid_request_error" || !strings.Contains(got.Message, c.message) || param != c.param || code != c.code {
			t.Errorf("%s: %d %s", c.body, status, answer)
		}
	}
	if n := len(o.asked()); n != 0 {
		t.Errorf("%d were asked", n)
	}
}

// Disabled endpoints do not exist for any caller; without agents they say so.
func TestEndpointsMayBeOff(t *testing.T) {
	t.Parallel()
	off, empty := serve(t, setup{runs: newFakeRuns(echo), off: true}), serve(t, setup{})
	for _, path := range []string{chat, responses} {
		for _, authorization := range []string{"", "Bearer nope", "Bearer " + token} {
			if status, answer := off.post(t, path, hi, "Authorization", authorization); status != 404 || !strings.Contains(answer, `"type":"not_found"`) {
				t.Errorf("%s: %d %s", path, status, answer)
			}
		}
		body := `{"model":"m","input":"hi","messages":[{"role":"user","content":"hi"}]}`
		if status, answer := empty.post(t, path, body); status != 503 || !strings.Contains(answer, `"code":"runs_not_available"`) {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
}

// A full queue, or a session that takes no messages, is reported so that clients know what to do.
func TestRefusalsOfAgentsAreTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
		again  string
		holds  string
	}{
		{&run.Busy{SessionKey: "agent:main:main", Ahead: 9}, 429, "5", `"message":"too many runs are waiting in session agent:main:main: 9 are ahead","type":"rate_limit_error","param":null,"code":"busy"`},
		{&run.Refusal{Reason: run.CodeNotAllowed, Text: "send blocked by session policy"}, 403, "", `"type":"permission_error","param":null,"code":"send_denied"`},
		{&run.Refusal{Reason: run.CodeInvalidAsk, Text: "too long", HintText: "shorten it"}, 400, "", `"too long (shorten it)"`},
		{&run.Refusal{Reason: run.CodeUnknownModel, Field: "model", Value: "fake/nope", Text: "there is no such model", HintText: "name another"}, 400, "",
			`"message":"there is no such model: \"fake/nope\" (name another)","type":"invalid_request_error","param":"model","code":"unknown_model"`},
		{http.ErrServerClosed, 500, "", `"message":"internal error","type":"api_error"`},
	} {
		o := newFakeRuns(echo)
		o.refuse = func(run.Ask) error { return c.err }
		g := serve(t, setup{runs: o})
		for _, body := range []string{hi, `{"stream":true,` + hi[1:]} {
			answer := g.begin(t.Context(), t, chat, body)
			text := make([]byte, 1000)
			n, _ := answer.Body.Read(text)
			if answer.StatusCode != c.status || answer.Header.Get("Retry-After") != c.again || !strings.Contains(string(text[:n]), c.holds) {
				t.Errorf("%v: %d %v %s", c.err, answer.StatusCode, answer.Header, text[:n])
			}
		}
	}
}

// However a run ends, its client gets its text so far, and the reason.
func TestEveryEndIsAnAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		state  run.State
		over   coordination.RunOver
		text   string
		finish string
	}{
		{"said", run.OK, coordination.RunOver{Text: "all", StopReason: "stop"}, "all", "stop"},
		{"cut", run.OK, coordination.RunOver{Text: "al", StopReason: "length"}, "al", "length"},
		{"filtered", run.OK, coordination.RunOver{StopReason: "filtered"}, "", "content_filter"},
		{"a model fails", run.Failed, coordination.RunOver{Error: "400 fake model failure"}, "400 fake model failure", "stop"},
		{"a model fails in the middle", run.Failed, coordination.RunOver{Text: "al", Error: "500 gone"}, "al\n\n500 gone", "stop"},
		{"it takes too long", run.TimedOut, coordination.RunOver{Text: "al"}, "al\n\nThe run exceeded its time limit and was stopped.", "stop"},
		{"stopped", run.Aborted, coordination.RunOver{}, "The run was stopped.", "stop"},
	} {
		o := newFakeRuns(func(j *job) {
			j.say(c.over.Text, false)
			j.end(c.state, c.over)
		})
		g := serve(t, setup{runs: o})
		_, answer := g.post(t, chat, hi)
		choice := decoded[struct {
			Choices []struct {
				Message struct{ Content *string }
				Finish  string `json:"finish_reason"`
			}
		}](t, answer).Choices[0]
		if choice.Message.Content == nil || *choice.Message.Content != c.text || choice.Finish != c.finish {
			t.Errorf("%s: %s", c.name, answer)
		}
		text, finish := streamed(t, read(t, g.begin(t.Context(), t, chat, `{"stream":true,`+hi[1:])).all())
		if text != c.text || finish != c.finish {
			t.Errorf("%s: streamed %q, %s", c.name, text, finish)
		}
		_, answer = g.post(t, responses, `{"model":"m","input":"hi"}`)
		whole := decoded[struct {
			Status string
			Output []struct{ Content []struct{ Text string } }
		}](t, answer)
		if want := map[bool]string{true: "completed", false: "incomplete"}[c.finish == "stop"]; whole.Status != want || whole.Output[0].Content[0].Text != c.text {
			t.Errorf("%s: %s", c.name, answer)
		}
	}
}

// streamed is the text of a stream of chat completions, and why it ended.
func streamed(t testing.TB, all []event) (text, finish string) {
	t.Helper()
	if len(all) == 0 || all[len(all)-1].data != "[DONE]" {
		t.Fatalf("it ends with %v", all[max(0, len(all)-2):])
	}
	for _, e := range all[:len(all)-1] {
		for _, c := range decoded[struct {
			Choices []struct {
				Delta  struct{ Content string }
				Finish *string `json:"finish_reason"`
			}
		}](t, e.data).Choices {
			text += c.Delta.Content
			if c.Finish != nil {
				finish = *c.Finish
			}
		}
	}
	return text, finish
}

// A repeated request with the same key gets the same answer and starts one run. Its key is refused for another
// session.
func TestKeysMakeRequestsOne(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"Idempotency-Key", "X-Request-Id"} {
		started := 0
		o := newFakeRuns(func(j *job) {
			started++
			echo(j)
		})
		g := serve(t, setup{runs: o})
		_, first := g.post(t, chat, hi, header, "k 1")
		_, again := g.post(t, chat, hi, header, "k 1")
		if first != again || started != 1 || o.asked()[0].RunID != "k 1" {
			t.Errorf("%d runs of %q\n%s\n%s", started, o.asked()[0].RunID, first, again)
		}
		status, answer := g.post(t, chat, `{"user":"bob",`+hi[1:], header, "k 1")
		if status != 400 || !strings.Contains(answer, `"code":"idempotency_key_in_use"`) {
			t.Errorf("%d %s", status, answer)
		}
		if status, answer := g.post(t, chat, hi, header, strings.Repeat("k", 257)); status != 400 || !strings.Contains(answer, "invalid_idempotency_key") {
			t.Errorf("%d %s", status, answer)
		}
	}
}

// Only authenticated clients reach an agent.
func TestAgentsAnswerThoseWhoAreLetIn(t *testing.T) {
	t.Parallel()
	o := newFakeRuns(echo)
	g := serve(t, setup{runs: o})
	for _, path := range []string{chat, responses, "/tools/invoke"} {
		if status, answer := g.post(t, path, `{`, "Authorization", "Bearer nope"); status != 401 || !json.Valid([]byte(answer)) {
			t.Errorf("%s: %d %s", path, status, answer)
		}
		if status, _ := g.post(t, path, hi, "Origin", "https://evil.example"); status != 403 {
			t.Errorf("%s: %d", path, status)
		}
	}
	open := serve(t, setup{runs: o, wire: func(w *wire.Options) { w.Access = wire.Access{Mode: "none"} }})
	if status, _ := open.post(t, chat, hi, "Authorization", ""); status != 200 {
		t.Errorf("%d", status)
	}
	if n := len(o.asked()); n != 1 {
		t.Errorf("%d were asked", n)
	}
}
