package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination/tool"
)

// drawer has two tools: look, which has an action, and list. It notes who calls.
type drawer struct {
	mu     sync.Mutex
	caller tool.Caller
	args   string
}

func (d *drawer) Offer(tool.Caller) []tool.Spec {
	return []tool.Spec{
		{Name: "look", Schema: json.RawMessage(`{"type":"object","properties":{"action":{"type":"string"}}}`)},
		{Name: "list", Schema: json.RawMessage(`{"type":"object"}`)},
	}
}

func (d *drawer) Call(_ context.Context, c tool.Caller, name string, args json.RawMessage) (tool.Output, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.caller, d.args = c, string(args)
	switch name {
	case "look", "list":
		return tool.Output{Text: "<seen> " + string(args), Details: json.RawMessage(`{"n":1}`)}, nil
	case "cannot":
		return tool.Output{Text: "there is none", IsError: true}, nil
	case "wrong":
		return tool.Output{}, &tool.Error{Code: tool.CodeInvalid, Field: "/n", Text: "n must be a number"}
	case "early":
		return tool.Output{}, &tool.Error{Code: tool.CodeTaskRequired, Text: "early needs a task", Hint: "begin one"}
	case "planless":
		return tool.Output{}, &tool.Error{Code: tool.CodePlanRequired, Text: "planless needs a plan", Hint: "submit one"}
	case "broken":
		return tool.Output{}, &tool.Error{Code: tool.CodeBroken, Text: "secret reason"}
	case "odd":
		return tool.Output{}, errors.New("secret reason")
	}
	return tool.Output{}, &tool.Error{Code: tool.CodeUnknown, Tool: name, Text: "?"}
}

func TestToolsAreInvoked(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{tools: &drawer{}, off: true})
	const bad = `{"error":{"message":`
	for _, c := range []struct {
		name, body string
		status     int
		answer     string // begins with
	}{
		{"one", `{"tool":"list","args":{"a":"<&>"}}`, 200,
			`{"ok":true,"result":{"content":[{"type":"text","text":"<seen> {\"a\":\"<&>\"}"}],"details":{"n":1}}}`},
		{"without arguments, as a dry run", `{"tool":" list ","dryRun":true}`, 200, `{"ok":true,"result":{"content":[{"type":"text","text":"<seen> {}"}]`},
		{"an action that the tool has", `{"tool":"look","action":"up"}`, 200, `{"ok":true,"result":{"content":[{"type":"text","text":"<seen> {\"action\":\"up\"}"}]`},
		{"an action that is there", `{"tool":"look","action":"up","args":{"action":"down"}}`, 200, `{"ok":true,"result":{"content":[{"type":"text","text":"<seen> {\"action\":\"down\"}"}]`},
		{"an action that the tool has not", `{"tool":"list","action":"up","args":null}`, 200, `{"ok":true,"result":{"content":[{"type":"text","text":"<seen> {}"}]`},
		{"one that cannot", `{"tool":"cannot"}`, 200, `{"ok":true,"result":{"content":[{"type":"text","text":"there is none"}],"isError":true}}`},
		{"an unknown one", `{"tool":"no_such_tool"}`, 404, `{"ok":false,"error":{"type":"not_found","message":"Tool not available: no_such_tool"}}`},
		{"wrong arguments", `{"tool":"wrong"}`, 400, `{"ok":false,"error":{"type":"tool_error","message":"n must be a number","field":"/n"}}`},
		{"one that needs a task", `{"tool":"early"}`, 403, `{"ok":false,"error":{"type":"task_required","message":"early needs a task: begin one"}}`},
		{"one that needs a plan", `{"tool":"planless"}`, 403, `{"ok":false,"error":{"type":"plan_required","message":"planless needs a plan: submit one"}}`},
		{"one that breaks", `{"tool":"broken"}`, 500, `{"ok":false,"error":{"type":"tool_error","message":"tool execution failed"}}`},
		{"one that breaks in another way", `{"tool":"odd"}`, 500, `{"ok":false,"error":{"type":"tool_error","message":"tool execution failed"}}`},
		{"one by the method's word", `{"name":"list","args":{"a":1}}`, 200, `{"ok":true,"result":{"content":[{"type":"text","text":"<seen> {\"a\":1}"}]`},
		{"one by both", `{"name":"list","tool":"list"}`, 200, `{"ok":true,"result":`},
		{"two", `{"name":"list","tool":"look"}`, 400, bad + `"body.tool and body.name are two tools`},
		{"a name that is none", `{"name":{}}`, 400, bad + `"tools.invoke requires body.tool"`},
		{"no tool", `{"args":{}}`, 400, `{"error":{"message":"tools.invoke requires body.tool","type":"invalid_request_error"}}`},
		{"a tool that is none", `{"tool":5}`, 400, `{"error":{"message":"tools.invoke requires body.tool"`},
		{"arguments that are none", `{"tool":"list","args":[]}`, 400, bad + `"` + "`args` must be an object"},
		{"a session that is none", `{"tool":"list","sessionKey":"agent:"}`, 400, bad},
		{"no JSON", `{`, 400, bad + `"the request is not valid JSON`},
		{"nothing", ``, 400, bad},
		{"no object", `[]`, 400, bad + `"the request must be a JSON object"`},
		{"null", `null`, 400, bad + `"the request must be a JSON object"`},
	} {
		status, answer := g.post(t, "/tools/invoke", c.body)
		if status != c.status || !strings.HasPrefix(answer, c.answer) {
			t.Errorf("%s: %d %s", c.name, status, answer)
		}
	}
}

// A tool is called in the name of the session that is asked for, by whom the headers say.
func TestToolsKnowWhoCalls(t *testing.T) {
	t.Parallel()
	d := &drawer{}
	g := serve(t, setup{tools: d})
	g.post(t, "/tools/invoke", `{"tool":"list"}`)
	if diff := cmp.Diff(tool.Caller{Entry: tool.ByHTTP, AgentID: "main", SessionKey: "agent:main:main", By: "http"}, d.caller); diff != "" {
		t.Error(diff)
	}
	g.post(t, "/tools/invoke", `{"tool":"list","sessionKey":"agent:eden:talk"}`, "x-openclaw-message-channel", "discord", "x-openclaw-account-id", "bot",
		"x-openclaw-message-to", "C1", "x-openclaw-thread-id", "T1", "Idempotency-Key", "once")
	if diff := cmp.Diff(tool.Caller{Entry: tool.ByHTTP, AgentID: "eden", SessionKey: "agent:eden:talk", By: "http", Channel: "discord", AccountID: "bot",
		To: "C1", ThreadID: "T1", CallID: "once"}, d.caller); diff != "" {
		t.Error(diff)
	}
}

func TestToolsWithoutABox(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{})
	if status, answer := g.post(t, "/tools/invoke", `{"tool":"list"}`); status != 404 || !strings.Contains(answer, "Tool not available: list") {
		t.Errorf("%d %s", status, answer)
	}
}

// No more than the limit is read of a request, with or without a declared length.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{tools: &drawer{}, runs: newFakeRuns(echo)})
	fits := func(size int) string { return strings.Repeat(" ", size-len(`{"tool":"list"}`)) + `{"tool":"list"}` }
	for _, c := range []struct {
		path string
		size int
		want int
	}{{"/tools/invoke", 2 << 20, 200}, {"/tools/invoke", 2<<20 + 1, 413}, {"/v1/chat/completions", 1 << 20, 400}, {"/v1/chat/completions", 1<<20 + 1, 413},
		{"/v1/responses", 1<<20 + 1, 413}} {
		if status, answer := g.post(t, c.path, fits(c.size)); status != c.want || status == 413 && !strings.Contains(answer, `"type":"invalid_request_error"`) {
			t.Errorf("%s of %d: %d %.200s", c.path, c.size, status, answer)
		}
	}
}
