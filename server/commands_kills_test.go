//go:build linux

package server

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/server/settings"
)

// commandRounds is how often the server is killed while its agents run commands and write files.
var commandRounds = testscale.Of[uint64](5, 50)

const commandScript = `{"rules": [
	{"when": {"after": "tool"}, "answer": {"text": "result: {{result}}"}},
	{"when": {"contains": ["run"]}, "answer": {"text": "I run it.", "toolCalls": [{"name": "exec", "arguments": {"command":"echo '{{message}}' >> effects.txt; sleep 987654 & sleep 0.02; kill $!"}}]}},
	{"when": {"contains": ["write"]}, "answer": {"text": "I write it.", "toolCalls": [{"name": "write", "arguments": {"path":"files/{{message}}.txt","content":"begin {{message}} end"}}]}}]}`

// Agents run commands and write files while the program is killed, again and again. No command runs twice, none outlives the program, every
// file is whole, and every intent has one outcome.
//
// Promise: outside-effects
func TestKillsAroundCommandsAndWrites(t *testing.T) {
	t.Parallel()
	rounds, base := crashSetting(t, storetest.EnvCrashRounds, commandRounds), crashSetting(t, storetest.EnvCrashSeedBase, rand.Uint64())
	t.Logf("%d rounds; repeat with %s=%d", rounds, storetest.EnvCrashSeedBase, base)
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	conf := fmt.Sprintf(`{gateway: {auth: {mode: 'token', token: 'secret'}}, agents: {defaults: {maxConcurrent: 8}, entries: {main: {default: true, workspace: %q}}},
		models: {scripted: {script: 'commands.json'}}, tools: {exec: {sandbox: 'off'}}}`, home)
	for name, text := range map[string]string{settings.FileName: conf, "commands.json": commandScript} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asked := 0
	for round := range rounds {
		r := rand.New(rand.NewPCG(base+round, 7))
		v := startVictim(t, dir)
		c := connect(t, v.url)
		for range 6 {
			asked++
			message := fmt.Sprintf("%s %d", []string{"run", "write"}[r.IntN(2)], asked)
			if _, err := c.Call(t.Context(), "agent", map[string]any{"message": message, "agentId": "main", "sessionKey": fmt.Sprintf("agent:main:s%d", r.IntN(4)),
				"idempotencyKey": fmt.Sprint("run-", asked)}); err != nil {
				t.Fatal(err)
			}
		}
		kill := time.NewTimer(time.Duration(r.Int64N(int64(400 * time.Millisecond))))
		<-kill.C
		v.kill()
		_ = c.Close()
	}
	p := startReloading(t, nil, func(o *Options) {
		o.StateDir, o.DB, o.Gateway = dir, filepath.Join(dir, database.Name), "127.0.0.1:0"
	})
	waitForWork(t, p.Program)
	j := judgeEffects(t, p.Program)
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	judgeCommands(t, home)
	t.Logf("%d requests: %d outcomes are unknown; %d runs were continued", asked, j.unknown, j.resumed)
	if t.Failed() {
		t.Fatalf("seed %d", base)
	}
}

// judgeCommands checks what commands and writes have left in a workspace, and that no command is left.
func judgeCommands(t *testing.T, home string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(home, "effects.txt"))
	if err != nil {
		t.Error(err)
	}
	times := map[string]int{}
	for line := range strings.Lines(string(text)) {
		if times[line]++; times[line] > 1 {
			t.Errorf("%q ran more than once", line)
		}
	}
	files, err := filepath.Glob(filepath.Join(home, "files", "write*.txt"))
	if err != nil || len(files) == 0 {
		t.Errorf("no file was written: %v", err)
	}
	for _, name := range files {
		want := "begin " + strings.TrimSuffix(filepath.Base(name), ".txt") + " end"
		if text, err := os.ReadFile(name); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	left, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range left {
		if text, err := os.ReadFile(name); err == nil && strings.HasPrefix(string(text), "sleep\x00987654") {
			t.Errorf("%s outlives the program", name)
		}
	}
}

// Clients of the gateway are told why a tool refused a call, not that it failed inside.
func TestClientsSeeWhyAToolRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := `{gateway: {auth: {mode: 'token', token: 'secret'}}, agents: {entries: {main: {default: true}}}}`
	if err := os.WriteFile(filepath.Join(dir, settings.FileName), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	v := startVictim(t, dir)
	c := connect(t, v.url)
	answer, err := c.Call(t.Context(), "tools.invoke", map[string]any{"name": "read", "args": map[string]any{"path": "../openclaw.json"}, "sessionKey": "agent:main:main"})
	if err != nil || !strings.Contains(string(answer), tool.CodeOutside) && !strings.Contains(string(answer), tool.CodeNoFile) {
		t.Errorf("%s, %v", answer, err)
	}
	_ = c.Close()
	v.kill()
}
