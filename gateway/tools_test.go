package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/gateway"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// drawer has the tool look for everybody, and grab, which is only in its catalogue. It tells who has called.
type drawer struct{ calls chan tool.Caller }

func newDrawer() *drawer { return &drawer{calls: make(chan tool.Caller, 100)} }

func (d *drawer) Offer(tool.Caller) []tool.Spec { return d.Catalogue(tool.Caller{})[1:] }

func (d *drawer) Catalogue(tool.Caller) []tool.Spec {
	return []tool.Spec{
		{Name: "grab", Group: "tasks", Label: "Grab", Description: "takes", Schema: json.RawMessage(`{"type":"object"}`)},
		{Name: "look", Group: "sessions", Description: "sees all", Schema: json.RawMessage(`{"type":"object"}`)},
	}
}

func (d *drawer) Call(_ context.Context, c tool.Caller, name string, args json.RawMessage) (tool.Output, error) {
	d.calls <- c
	switch name {
	case "look":
		return tool.Output{Text: "seen " + string(args), Details: json.RawMessage(`{"n":1}`)}, nil
	case "cannot":
		return tool.Output{Text: "there is none", IsError: true}, nil
	case "wrong":
		return tool.Output{}, &tool.Error{Code: tool.CodeInvalid, Tool: name, Field: "/n", Text: "n must be a number", Hint: "give one"}
	case "early":
		return tool.Output{}, &tool.Error{Code: tool.CodeTaskRequired, Tool: name, Text: "early needs a task", Hint: "begin one"}
	case "planless":
		return tool.Output{}, &tool.Error{Code: tool.CodePlanRequired, Tool: name, Text: "planless needs a plan", Hint: "submit one"}
	case "broken":
		return tool.Output{}, &tool.Error{Code: tool.CodeBroken, Tool: name, Text: "secret reason"}
	case "gone":
		return tool.Output{}, errors.New("secret reason")
	}
	return tool.Output{}, &tool.Error{Code: tool.CodeUnknown, Tool: name, Text: "?"}
}

// hand gives the gateway of a fixture tools.
func (b *bundle) hand(box tool.Box) {
	b.server = gateway.New(gateway.Options{
		Log: b.db, Configuration: b.configuration, Logs: b.logs, Access: wire.Access{Mode: "token", Token: fixtureToken},
		Now: func() time.Time { return time.UnixMilli(b.now.Load()) }, NewID: uuid.NewString, Logger: slog.New(slog.DiscardHandler),
		Version: "test", StateDir: filepath.Dir(b.database), Database: b.database, StartedAt: began, Runs: b.runs, Tools: box,
	})
}

func TestToolsAreCatalogued(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.hand(newDrawer())
	for _, c := range []struct{ method, params, wanted string }{
		{"tools.catalog", `{}`, `{"agentId":"main","profiles":[{"id":"full","label":"Full"}],"groups":[` +
			`{"id":"tasks","label":"Tasks","source":"core","tools":[{"id":"grab","label":"Grab","description":"takes","source":"core","defaultProfiles":["full"]}]},` +
			`{"id":"sessions","label":"Sessions","source":"core","tools":[{"id":"look","label":"look","description":"sees all","source":"core","defaultProfiles":["full"]}]}]}`},
		{"tools.effective", `{"sessionKey":"agent:eden:talk"}`, `{"agentId":"eden","profile":"full","groups":[{"id":"core","label":"Built-in tools","source":"core",` +
			`"tools":[{"id":"look","label":"look","description":"sees all","rawDescription":"sees all","source":"core","inputSchema":{"type":"object"}}]}]}`},
	} {
		if got := string(b.answer(t, c.method, c.params)); got != c.wanted {
			t.Errorf("%s %s\ngot  %s\nwant %s", c.method, c.params, got, c.wanted)
		}
	}
	for method, params := range map[string]string{"tools.catalog": `{"agentId":"stranger"}`, "tools.effective": `{"sessionKey":"agent:stranger:main"}`} {
		if got := b.refused(t, method, params); !strings.Contains(got.Message, `unknown agent id "stranger"`) {
			t.Errorf("%s: %s", method, got.Message)
		}
	}
}

// A tool's result or refusal is an answer; only an invalid call is refused.
func TestToolsAreInvokedOverTheWire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.hand(newDrawer())
	for _, c := range []struct{ params, wanted string }{
		{`{"name":"look","args":{"a":1},"confirm":true}`, `{"ok":true,"toolName":"look","output":{"content":[{"type":"text","text":"seen {\"a\":1}"}],"details":{"n":1}},"source":"core"}`},
		{`{"tool":"look","args":{"a":1}}`, `{"ok":true,"toolName":"look","output":{"content":[{"type":"text","text":"seen {\"a\":1}"}],"details":{"n":1}},"source":"core"}`},
		{`{"tool":"look","name":"look"}`, `{"ok":true,"toolName":"look","output":{"content":[{"type":"text","text":"seen {}"}],"details":{"n":1}},"source":"core"}`},
		{`{"name":"look"}`, `{"ok":true,"toolName":"look","output":{"content":[{"type":"text","text":"seen {}"}],"details":{"n":1}},"source":"core"}`},
		{`{"name":"cannot"}`, `{"ok":true,"toolName":"cannot","output":{"content":[{"type":"text","text":"there is none"}],"isError":true},"source":"core"}`},
		{`{"name":"nothing"}`, `{"ok":false,"toolName":"nothing","error":{"code":"not_found","message":"Tool not available: nothing"}}`},
		{`{"name":"wrong"}`, `{"ok":false,"toolName":"wrong","error":{"code":"invalid_arguments","message":"n must be a number","details":{"field":"/n","value":"","hint":"give one"}}}`},
		{`{"name":"early"}`, `{"ok":false,"toolName":"early","error":{"code":"task_required","message":"early needs a task","details":{"field":"","value":"","hint":"begin one"}}}`},
		{`{"name":"planless"}`, `{"ok":false,"toolName":"planless","error":{"code":"plan_required","message":"planless needs a plan","details":{"field":"","value":"","hint":"submit one"}}}`},
		{`{"name":"broken"}`, `{"ok":false,"toolName":"broken","error":{"code":"tool_error","message":"tool execution failed"}}`},
	} {
		if got := string(b.answer(t, "tools.invoke", c.params)); got != c.wanted {
			t.Errorf("%s\ngot  %s\nwant %s", c.params, got, c.wanted)
		}
	}
	for params, message := range map[string]string{
		`{}`:                             "invalid tools.invoke params",
		`{"name":"look","args":[]}`:      "invalid tools.invoke params",
		`{"name":"look","tool":"early"}`: "invalid tools.invoke params: at root: unexpected property 'tool'",
		`{"tool":""}`:                    "invalid tools.invoke params: at /name: must NOT have fewer than 1 characters",
		`{"name":"look","agentId":"no"}`: `invalid tools.invoke params: unknown agent id "no"`,
		`{"name":"look","agentId":"main","sessionKey":"agent:eden:talk"}`: `invalid tools.invoke params: agent "main" does not match session key agent "eden"`,
		`{"name":"look","sessionKey":"agent:"}`:                           `invalid tools.invoke params: malformed session key`,
	} {
		if got := b.refused(t, "tools.invoke", params); got.Code != protocol.CodeInvalidRequest || !strings.HasPrefix(got.Message, message) {
			t.Errorf("%s: %+v", params, got)
		}
	}
}

func TestToolsKnowWhichClientCalls(t *testing.T) {
	t.Parallel()
	b, d := setup(t), newDrawer()
	b.hand(d)
	for params, want := range map[string]tool.Caller{
		`{"name":"look","idempotencyKey":"k"}`:                  {AgentID: "main", SessionKey: "agent:main:main", CallID: "k"},
		`{"name":"look","agentId":"Eden"}`:                      {AgentID: "eden", SessionKey: "agent:eden:main"},
		`{"name":"look","sessionKey":"talk"}`:                   {AgentID: "main", SessionKey: "agent:main:talk"},
		`{"name":"look","agentId":"eden","sessionKey":"talk"}`:  {AgentID: "eden", SessionKey: "agent:eden:talk"},
		`{"name":"look","sessionKey":"agent:seum:subagent:ab"}`: {AgentID: "seum", SessionKey: "agent:seum:subagent:ab"},
	} {
		b.answer(t, "tools.invoke", params)
		want.Entry, want.By = tool.ByWire, "cli"
		if diff := cmp.Diff(want, <-d.calls); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

// A client with the scope read calls no tool.
func TestInvokingTakesTheScopeWrite(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.hand(newDrawer())
	url := b.serve(t)
	reader := dial(t, url, client.Options{Scopes: []string{"operator.read"}})
	for _, method := range []string{"tools.invoke", "tools.catalog", "tools.effective"} {
		params := map[string]string{"tools.invoke": `{"name":"look"}`, "tools.catalog": `{}`, "tools.effective": `{"sessionKey":"main"}`}[method]
		_, err := reader.Call(t.Context(), method, json.RawMessage(params))
		if (err != nil) != (method == "tools.invoke") {
			t.Errorf("%s: %v", method, err)
		}
	}
	writer := dial(t, url, client.Options{Scopes: []string{"operator.write"}})
	if _, err := writer.Call(t.Context(), "tools.invoke", json.RawMessage(`{"name":"look"}`)); err != nil {
		t.Error(err)
	}
}

// Without tools nothing is there to be invoked.
func TestThereMayBeNoToolsToInvoke(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, method := range []string{"tools.invoke", "tools.effective"} {
		if b.server.Knows(method) {
			t.Errorf("%s is known", method)
		}
	}
}

// The endpoints of the port are those that the configuration in force has; they know the gateway's agents and sessions.
func TestHTTPGoesByTheConfiguration(t *testing.T) {
	t.Parallel()
	b, d := setup(t), newDrawer()
	b.hand(d)
	url := "http" + strings.TrimPrefix(b.serve(t), "ws")
	post := func(path, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+fixtureToken)
		r.Close = true
		answer, err := http.DefaultClient.Do(r)
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
	if status, text := post("/tools/invoke", `{"tool":"look","sessionKey":"talk"}`); status != 200 || !strings.HasPrefix(text, `{"ok":true,"result":{"content":[`) {
		t.Errorf("%d %s", status, text)
	}
	if diff := cmp.Diff(tool.Caller{Entry: tool.ByHTTP, AgentID: "main", SessionKey: "agent:main:talk", By: "http"}, <-d.calls); diff != "" {
		t.Error(diff)
	}
	for _, key := range []string{"agent:stranger:main", "agent:", "agent:eden"} {
		if status, text := post("/tools/invoke", `{"tool":"look","sessionKey":"`+key+`"}`); status != 400 || !strings.Contains(text, "invalid_request_error") {
			t.Errorf("%s: %d %s", key, status, text)
		}
	}
	const chat, responses = "/v1/chat/completions", "/v1/responses"
	for on, want := range map[string]map[string]int{
		``:                                  {chat: 404, responses: 404},
		`chatCompletions: {enabled: true}`:  {chat: 503, responses: 404}, // this gateway runs no agents
		`responses: {enabled: true}`:        {chat: 404, responses: 503},
		`chatCompletions: {enabled: false}`: {chat: 404, responses: 404},
	} {
		b.configure(t, strings.Replace(fixtureConfig, "gateway: {", "gateway: {http: {endpoints: {"+on+"}}, ", 1))
		for path, status := range want {
			got, text := post(path, `{"model":"openclaw:eden","input":"hi","messages":[{"role":"user","content":"hi"}]}`)
			if got != status {
				t.Errorf("%s with %q: %d %s", path, on, got, text)
			}
		}
	}
	b.configure(t, strings.Replace(fixtureConfig, "gateway: {", "gateway: {http: {endpoints: {chatCompletions: {enabled: true}}}, ", 1))
	for _, model := range []string{"openclaw:stranger", "openclaw:No Body", "openclaw:" + strings.Repeat("x", 100)} {
		status, text := post(chat, `{"model":"`+model+`","messages":[{"role":"user","content":"hi"}]}`)
		if status != 400 || !strings.Contains(text, `"param":"model","code":"unknown_agent"`) {
			t.Errorf("%s: %d %s", model, status, text)
		}
	}
}
