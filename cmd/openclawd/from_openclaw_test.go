package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// guide is the page that says how to move in. Its commands are the lines that are indented by four spaces.
const guide = "../../docs/from-openclaw.md"

var guideCommand = regexp.MustCompile(`(?m)^ {4}(\S.*)$`)

// mover is a user who has OpenClaw's state directory in a home, and does what the page says.
type mover struct {
	home   string
	env    []string
	server *exec.Cmd
}

func (m *mover) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(m.home, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func (m *mover) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.home, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// does runs a line in a shell, and returns what it says.
func (m *mover) does(t *testing.T, line string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Env, cmd.Dir = m.env, m.home
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// serves starts a server, and waits for its gateway.
func (m *mover) serves(t *testing.T, line string) {
	t.Helper()
	m.server = exec.Command("sh", "-c", "exec "+line)
	m.server.Env, m.server.Dir = m.env, m.home
	var faults bytes.Buffer
	m.server.Stderr = &faults
	out, err := m.server.StdoutPipe()
	if err == nil {
		err = m.server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.ends(os.Kill) })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "gateway on ") {
			return
		}
	}
	t.Fatalf("%s: %v\n%s", line, m.server.Wait(), &faults)
}

// ends ends the server, if there is one.
func (m *mover) ends(signal os.Signal) {
	if m.server != nil {
		_ = m.server.Process.Signal(signal) // it may have ended
		_ = m.server.Wait()
		m.server = nil
	}
}

// Each command of the page does what the page says, in its order, in a home that has nothing but the state of OpenClaw. A model is told
// what was said there.
func TestGuideFromOpenClaw(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	models := a2atest.NewModel(t, func(a a2atest.Asked) a2atest.Answer { return a2atest.Say(fmt.Sprintf("of %v", a.Messages)) })
	m := &mover{home: t.TempDir()}
	m.env = append(os.Environ(), "HOME="+m.home, "OPENCLAW_STATE_DIR=", "OPENCLAW_GATEWAY_PORT=", "TASK_MONITOR_PORT=")
	m.write(t, ".openclaw/openclaw.json", fmt.Sprintf(`{
  "models": {"providers": {"test": {"baseUrl": %q, "apiKey": "k", "models": [{"id": "m"}]}}},
  "agents": {"defaults": {"model": "test/m"}, "list": [{"id": "eden", "default": true}]},
  "plugins": {"entries": {"memory": {"enabled": true}}}}`, models.URL))
	m.write(t, ".openclaw/workspace-eden/SOUL.md", "Eden is calm.")
	m.write(t, ".openclaw/agents/eden/sessions/sessions.json", `{"agent:eden:main":{"sessionId":"t1","updatedAt":1795888200000}}`)
	m.write(t, ".openclaw/agents/eden/sessions/t1.jsonl", `{"type":"session","version":3,"id":"t1","timestamp":"2026-11-28T09:59:59.000Z","cwd":"/w"}
{"type":"message","id":"a1","timestamp":"2026-11-28T10:00:00.000Z","message":{"role":"user","content":"the colour is teal","timestamp":1795860000000}}
`)
	m.write(t, ".openclaw/cron/jobs.json", `{"version":1,"jobs":[{"id":"j1","name":"ping","enabled":true,"schedule":{"kind":"every","everyMs":3600000},`+
		`"sessionTarget":"main","wakeMode":"now","payload":{"kind":"systemEvent","text":"ping"}}]}`)
	want := map[string]string{ // what a command says, by a part of it that is its own
		"--dry-run": "plan for ", "--trial": "plugins.entries (1)", "sessions show": "the colour is teal", "openclawd agent": "the colour is teal",
		"migrate back": "3 messages, 1 job",
	}
	commands := guideCommand.FindAllStringSubmatch(string(text), -1)
	if len(commands) < 12 {
		t.Fatalf("the page has %d commands", len(commands))
	}
	for _, command := range commands {
		line := command[1]
		if strings.HasPrefix(line, "openclawd serve ") {
			m.serves(t, line+" --gateway 127.0.0.1:0 --api 127.0.0.1:0")
			continue
		}
		if strings.HasPrefix(line, "openclawd migrate openclaw ") {
			m.ends(os.Interrupt)
		}
		said := m.does(t, line)
		for part, text := range want {
			if strings.Contains(line, part) {
				delete(want, part)
				if !strings.Contains(said, text) {
					t.Errorf("%s says\n%swant %q", line, said, text)
				}
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("not in the page: %q", want)
	}
	if got := m.read(t, "openclaw-again/agents/eden/sessions/t1.jsonl"); strings.Count(got, "teal") < 2 || strings.Count(got, "What did we speak about?") != 2 {
		t.Errorf("the way back has\n%s", got)
	}
	if got := m.read(t, "openclaw-again/workspace-eden/SOUL.md"); got != "Eden is calm." {
		t.Errorf("SOUL.md is %q", got)
	}
}
