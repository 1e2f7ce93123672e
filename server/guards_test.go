package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/mcp/samplemcp"
	"github.com/pronto-lab/openclawd/server/settings"
)

// guardedTools is a running program whose tools a test calls as agents do.
type guardedTools struct {
	t *testing.T
	p *reloading
}

// uses calls a tool as an agent in a run of its main session, and returns the code of the refusal; "" if it was called.
func (g *guardedTools) uses(agent string, entry tool.Entry, name string, args any) (code, text string) {
	g.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		g.t.Fatal(err)
	}
	out, err := g.p.agents.tools.Call(g.t.Context(), tool.Caller{Entry: entry, AgentID: agent, SessionKey: "agent:" + agent + ":main", By: "test"}, name, raw)
	if refused := (*tool.Error)(nil); errors.As(err, &refused) {
		return refused.Code, refused.Text
	}
	if err != nil || out.IsError {
		g.t.Fatalf("%s %s: %+v, %v", agent, name, out, err)
	}
	return "", out.Text
}

// does calls a tool that must be callable, and returns a member of its result.
func (g *guardedTools) does(agent, name string, args any, member string) string {
	g.t.Helper()
	code, text := g.uses(agent, tool.ByRun, name, args)
	var result map[string]any
	if code != "" || json.Unmarshal([]byte(text), &result) != nil {
		g.t.Fatalf("%s %s: %s %s", agent, name, code, text)
	}
	value, _ := result[member].(string)
	return value
}

// The enforcer, the gate of plans and the policies refuse the tools that there are: files, commands and those of MCP servers.
func TestGuardsRefuseRealTools(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	servers, err := json.Marshal(map[string]any{samplemcp.Name: samplemcp.Settings(os.Args[0])})
	if err != nil {
		t.Fatal(err)
	}
	conf := fmt.Sprintf(`{gateway: {auth: {mode: 'token', token: 'secret'}},
		agents: {entries: {ruda: {default: true, role: 'lead'}, eden: {}, seum: {tools: {deny: ['write', 'group:runtime', 'handbook__*']}}}},
		tools: {exec: {sandbox: 'off'}, taskEnforcer: {enabled: true}, planGate: {enabled: true, tools: ['write', 'exec', 'handbook__*publish*']}},
		mcp: {servers: %s}}`, servers)
	if err := os.WriteFile(filepath.Join(dir, settings.FileName), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	g := &guardedTools{t, startReloading(t, nil, func(o *Options) { o.StateDir, o.DB = dir, filepath.Join(dir, database.Name) })}
	calls := map[string]any{
		"write":           map[string]any{"path": "a.txt", "content": "x"},
		"exec":            map[string]any{"command": "echo ran"},
		samplemcp.Publish: map[string]any{"title": "t", "text": "x"},
		"read":            map[string]any{"path": "a.txt"},
		samplemcp.Search:  map[string]any{"query": "t"},
	}
	expect := func(when, agent string, entry tool.Entry, want map[string]string) {
		t.Helper()
		for name, code := range want {
			if got, text := g.uses(agent, entry, name, calls[name]); got != code {
				t.Errorf("%s: %s calls %s: %q %s, want %q", when, agent, name, got, text, code)
			}
		}
	}
	expect("without a task", "eden", tool.ByRun, map[string]string{"write": tool.CodeTaskRequired, "exec": tool.CodeTaskRequired,
		samplemcp.Publish: tool.CodeTaskRequired, samplemcp.Search: ""})
	task := g.does("eden", "task_start", map[string]any{"description": "publish"}, "taskId")
	expect("with a task", "eden", tool.ByRun, map[string]string{"write": tool.CodePlanRequired, "exec": tool.CodePlanRequired,
		samplemcp.Publish: tool.CodePlanRequired, samplemcp.Search: ""})
	if _, err := os.Stat(filepath.Join(dir, "workspace-eden", "a.txt")); !os.IsNotExist(err) {
		t.Errorf("a refused call had an effect: %v", err)
	}
	plan := g.does("eden", "plan_submit", map[string]any{"task_id": task, "title": "t", "steps": []string{"s"}, "tools_requested": []string{"write", samplemcp.Publish}}, "planId")
	expect("with a plan that waits", "eden", tool.ByRun, map[string]string{"write": tool.CodePlanRequired, samplemcp.Publish: tool.CodePlanRequired})
	g.does("ruda", "plan_approve", map[string]any{"plan_id": plan}, "planId")
	expect("with an approved plan", "eden", tool.ByRun, map[string]string{"write": "", samplemcp.Publish: "", "exec": tool.CodePlanRequired})
	expect("afterwards", "eden", tool.ByRun, map[string]string{"read": "", samplemcp.Search: ""})
	expect("by the policy", "seum", tool.ByRun, map[string]string{"write": tool.CodeUnknown, "exec": tool.CodeUnknown, samplemcp.Publish: tool.CodeUnknown,
		samplemcp.Search: tool.CodeUnknown})
	expect("over HTTP", "eden", tool.ByHTTP, map[string]string{"write": tool.CodeUnknown, "exec": tool.CodeUnknown, samplemcp.Publish: tool.CodeUnknown,
		samplemcp.Search: tool.CodeUnknown, "read": ""})
	if err := g.p.stop(); err != nil {
		t.Error(err)
	}
}

// What gives input to a command is restricted as the command is: a shell left in the background runs nothing after its task or plan.
func TestGuardsRefuseInputToCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := `{gateway: {auth: {mode: 'token', token: 'secret'}}, agents: {entries: {ruda: {default: true, role: 'lead'}, eden: {}}},
		tools: {exec: {sandbox: 'off'}, taskEnforcer: {enabled: true}, planGate: {enabled: true}}}`
	if err := os.WriteFile(filepath.Join(dir, settings.FileName), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	g := &guardedTools{t, startReloading(t, nil, func(o *Options) { o.StateDir, o.DB = dir, filepath.Join(dir, database.Name) })}
	task := g.does("eden", "task_start", map[string]any{"description": "look"}, "taskId")
	plan := g.does("eden", "plan_submit", map[string]any{"task_id": task, "title": "t", "steps": []string{"s"}, "tools_requested": []string{"exec"}}, "planId")
	g.does("ruda", "plan_approve", map[string]any{"plan_id": plan}, "planId")
	code, text := g.uses("eden", tool.ByRun, "exec", map[string]any{"command": "sh", "background": true})
	_, text, found := strings.Cut(text, "session ")
	id, _, _ := strings.Cut(text, ";")
	if code != "" || !found {
		t.Fatalf("%s %s", code, text)
	}
	input := func(action string) map[string]any {
		args := map[string]any{"action": action, "sessionId": id}
		if name := map[string]string{"write": "data", "submit": "data", "paste": "text", "send-keys": "literal"}[action]; name != "" {
			args[name] = "touch ran; "
		}
		return args
	}
	if code, text := g.uses("eden", tool.ByRun, "process", input("write")); code != "" {
		t.Errorf("with a plan: %s %s", code, text)
	}
	expect := func(when, want string) {
		t.Helper()
		for _, action := range []string{"write", "submit", "paste", "send-keys"} {
			if code, text := g.uses("eden", tool.ByRun, "process", input(action)); code != want {
				t.Errorf("%s: %s: %q %s, want %s", when, action, code, text, want)
			}
		}
		if code, text := g.uses("eden", tool.ByRun, "process", input("poll")); code != "" {
			t.Errorf("%s: poll: %s %s", when, code, text)
		}
	}
	second := g.does("eden", "task_start", map[string]any{"description": "look again"}, "taskId")
	expect("without a plan for the task", tool.CodePlanRequired)
	for _, id := range []string{second, task} {
		g.does("eden", "task_complete", map[string]any{"task_id": id, "force_complete": true}, "taskId")
	}
	expect("without a task", tool.CodeTaskRequired)
	if _, err := os.Stat(filepath.Join(dir, "workspace-eden", "ran")); !os.IsNotExist(err) {
		t.Errorf("a refused call had an effect: %v", err)
	}
	if err := g.p.stop(); err != nil {
		t.Error(err)
	}
}
