//go:build clients

package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/server/settings"
)

// npmScript has an agent use tools of unmodified servers.
const npmScript = `{"rules": [
	{"when": {"after": "tool"}, "answer": {"text": "result: {{result}}"}},
	{"when": {"contains": ["sum"]}, "answer": {"text": "I add.", "toolCalls": [{"name": "everything__get-sum", "arguments": {"a":2,"b":3}}]}},
	{"when": {"contains": ["echo"]}, "answer": {"text": "I say it.", "toolCalls": [{"name": "everything__echo", "arguments": {"message":"안녕"}}]}},
	{"when": {"contains": ["write"]}, "answer": {"text": "I write.", "toolCalls": [{"name": "files__write_file", "arguments": {"path":"%[1]s/a.txt","content":"written by an agent"}}]}},
	{"when": {"contains": ["outside"]}, "answer": {"text": "I try.", "toolCalls": [{"name": "files__read_text_file", "arguments": {"path":"/etc/hostname"}}]}}]}`

// Unmodified servers from npm are used by an agent: see make clients.
func TestNPMServers(t *testing.T) {
	modules, dir, files := os.Getenv("MODULES"), t.TempDir(), t.TempDir()
	program := func(name string) string {
		return filepath.Join(modules, "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
	}
	node := filepath.Join(modules, "node_modules", ".bin", "node")
	conf := fmt.Sprintf(`{gateway: {auth: {mode: 'token', token: 'secret'}}, agents: {entries: {eden: {default: true}}}, models: {scripted: {script: 'npm.json'}},
		mcp: {servers: {everything: {command: %q, args: [%q, 'stdio']}, files: {command: %[1]q, args: [%[3]q, %[4]q]}}}}`,
		node, program("server-everything"), program("server-filesystem"), files)
	for name, text := range map[string]string{settings.FileName: conf, "npm.json": fmt.Sprintf(npmScript, files)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := startReloading(t, nil, func(o *Options) {
		o.StateDir, o.DB, o.Gateway = dir, filepath.Join(dir, database.Name), "127.0.0.1:0"
	})
	c := connect(t, gatewayURL(p.gatewayAddress()))
	for message, want := range map[string]string{"sum": "5", "echo": "안녕", "write": "Successfully wrote", "outside": "Access denied"} {
		if _, err := c.Call(t.Context(), "agent", map[string]any{"message": message, "sessionKey": "agent:eden:" + message, "idempotencyKey": message}); err != nil {
			t.Fatal(err)
		}
		waitForWork(t, p.Program)
		result, found, err := p.agents.runner.Get(t.Context(), message)
		if err != nil || !found || result.Over == nil || !strings.Contains(result.Over.Text, want) {
			t.Errorf("%s: %+v, %v, want %q", message, result.Over, err, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(files, "a.txt")); err != nil || string(text) != "written by an agent" {
		t.Errorf("%q, %v", text, err)
	}
	j := judgeEffects(t, p.Program)
	if len(j.outcome) == 0 || j.unknown > 0 {
		t.Errorf("%+v", j)
	}
	for _, s := range p.agents.mcp.States() {
		t.Logf("%s: %s %s, protocol %s, %d tools, problems %q %s", s.Name, s.State, s.Server, s.Protocol, len(s.Tools), s.Problems, s.Error)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}
