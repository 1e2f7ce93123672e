//go:build amd64 || arm64

package exectools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/projections/sandboxes"
	"github.com/pronto-lab/openclawd/sandbox"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/exectools"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	goleak.VerifyTestMain(m)
}

// bench has commands of one agent, and what they have recorded.
type bench struct {
	t           *testing.T
	state, home string
	conf        *config.Config
	commands    *exectools.Commands
	ahead       atomic.Int64 // of the clock

	mu      sync.Mutex
	probed  []coordination.SandboxProbed
	outputs []coordination.ToolOutput
}

func (b *bench) Probed(_ context.Context, _ string, p coordination.SandboxProbed) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probed = append(b.probed, p)
	return nil
}

func (b *bench) Output(_ context.Context, _ string, o coordination.ToolOutput) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outputs = append(b.outputs, o)
	return nil
}

func (b *bench) Recorded(_ context.Context, id string) (agentID string, list []coordination.ToolOutput, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.outputs {
		if o.ProcessID == id {
			list = append(list, o)
		}
	}
	return "main", list, nil
}

func newBench(t *testing.T, kind string) *bench {
	t.Helper()
	state, err := os.MkdirTemp("/var/tmp", "openclawd-test-")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, state: state, home: filepath.Join(state, "workspace"), conf: config.Default()}
	b.conf.Tools.Exec.Sandbox = kind
	b.commands = exectools.New(exectools.Options{Workspace: func(string) string { return b.home }, Protected: func() []string { return []string{filepath.Join(state, "token")} },
		StateDir: state, Getenv: func(name string) string { return map[string]string{"ALLOWED": "value", "SECRET_KEY": "secret"}[name] }, Now: func() time.Time { return time.Now().Add(time.Duration(b.ahead.Load())) }, Log: b})
	t.Cleanup(func() {
		b.commands.Close()
		if err := os.RemoveAll(state); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) call(session, name string, args any) (tool.Output, error) {
	text, err := json.Marshal(args)
	if err != nil {
		b.t.Error(err)
	}
	for _, one := range b.commands.Tools() {
		if one.Name == name {
			return one.Do(b.t.Context(), &tools.Call{Caller: tool.Caller{AgentID: "main", SessionKey: session}, Config: b.conf, Args: text})
		}
	}
	return tool.Output{}, errors.New("no such tool")
}

func codeOf(err error) string {
	var e *tool.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

type object = map[string]any

// kinds are the ways of running commands that can be used here.
func kinds(t *testing.T) (list []string) {
	t.Helper()
	b := newBench(t, config.SandboxAuto)
	if _, err := b.call("s", "exec", object{"command": "true"}); err == nil {
		list = append(list, config.SandboxAuto)
	} else if codeOf(err) != tool.CodeNoSandbox {
		t.Fatal(err)
	}
	if len(b.probed) == 0 {
		t.Error("no probe was recorded before the first command")
	}
	return append(list, config.SandboxOff)
}

func TestCommandsAnswer(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds(t) {
		b := newBench(t, kind)
		b.conf.Tools.Exec.Env = []string{"ALLOWED"}
		for _, c := range []struct {
			args object
			want string
			bad  bool
		}{
			{object{"command": "echo one; echo two >&2"}, "one\ntwo", false},
			{object{"command": "true"}, "(no output)", false},
			{object{"command": ": '" + strings.Repeat("<&>", 20_000) + "'"}, "(no output)", false},
			{object{"command": "echo no; exit 3"}, "no\n[exit status 3]", true},
			{object{"command": "echo $OWN $ALLOWED $SECRET_KEY", "env": object{"OWN": "x"}}, "x value", false},
			{object{"command": "mkdir -p d && cd d && pwd | sed s,.*/,,"}, "d", false},
			{object{"command": "pwd | sed s,.*/,,", "workdir": "d", "pty": true}, "d", false},
			{object{"command": "sleep 600", "timeout": 0.2}, "(no output)\n[the command was ended: timeout]", true},
			{object{"command": "head -c 300000 /dev/zero | tr '\\0' x | fold -w 100 | tail -c 3000 | wc -c"}, "3000", false},
		} {
			out, err := b.call("s", "exec", c.args)
			if err != nil || strings.TrimSpace(out.Text) != c.want || out.IsError != c.bad {
				t.Errorf("%s: %v: %+v, %v, want %q", kind, c.args, out, err, c.want)
			}
		}
		out, err := b.call("s", "exec", object{"command": "head -c 400000 /dev/zero | tr '\\0' x"})
		if err != nil || len(out.Text) > 50<<10 || !strings.Contains(out.Text, "bytes are left out") {
			t.Errorf("%s: %d bytes, %v", kind, len(out.Text), err)
		}
		b.mu.Lock()
		recorded, dropped := 0, int64(0)
		last := b.outputs[len(b.outputs)-1]
		for _, o := range b.outputs {
			if o.ProcessID == last.ProcessID {
				recorded, dropped = recorded+len(o.Text), dropped+o.Dropped
			}
		}
		if !last.Ended || recorded > 256<<10 || int64(recorded)+dropped != 400_000 {
			t.Errorf("%s: the log has %d bytes, %d left out, %+v", kind, recorded, dropped, last.Ended)
		}
		b.mu.Unlock()
	}
}

// A command of the configuration runs in the sandbox of an agent's own, and does not run without one.
func TestCommandsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds(t) {
		b := newBench(t, kind)
		outside := filepath.Join(b.state, "outside")
		var out, errs bytes.Buffer
		exit, ended, err := b.commands.Run(t.Context(), b.conf, "main", []string{"sh", "-c", "echo found; echo told >&2; touch here; touch '" + outside + "'; exit 7"}, &out, &errs)
		if err != nil || exit != 7 || ended != "" || out.String() != "found\n" || !strings.HasPrefix(errs.String(), "told\n") {
			t.Errorf("%s: %d %q %v, %q, %q", kind, exit, ended, err, &out, &errs)
		}
		if _, err := os.Stat(filepath.Join(b.home, "here")); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(outside); (err == nil) != (kind == config.SandboxOff) {
			t.Errorf("%s: it has reached a file outside: %v", kind, err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if _, ended, err := b.commands.Run(ctx, b.conf, "main", []string{"sleep", "600"}, &out, &errs); err != nil || ended != sandbox.EndedByTimeout {
			t.Errorf("%s: %q, %v", kind, ended, err)
		}
		stop()
	}
	b := newBench(t, "none such")
	if _, _, err := b.commands.Run(t.Context(), b.conf, "main", []string{"true"}, io.Discard, io.Discard); codeOf(err) != tool.CodeNoSandbox {
		t.Errorf("without a sandbox: %v", err)
	}
	b.commands.Close()
	if _, _, err := b.commands.Run(t.Context(), b.conf, "main", []string{"true"}, io.Discard, io.Discard); err == nil {
		t.Error("it runs although openclawd stops")
	}
}

func TestWrongCommandsSayWhy(t *testing.T) {
	t.Parallel()
	b := newBench(t, config.SandboxOff)
	for _, c := range []struct {
		args object
		code string
	}{
		{object{"command": "true", "elevated": true}, tool.CodeInvalid}, {object{"command": "true", "host": "gateway"}, tool.CodeInvalid},
		{object{"command": "true", "workdir": ".."}, tool.CodeOutside}, {object{"command": "true", "workdir": "/etc"}, tool.CodeOutside},
		{object{"command": "true", "workdir": "missing"}, tool.CodeOutside}, {object{"command": "true", "env": object{"A B": "x"}}, tool.CodeInvalid},
		{object{"command": "true", "env": object{"OPENCLAWD_SANDBOX_STAGE": "supervise"}}, tool.CodeInvalid},
		{object{"command": "true", "env": object{"A": strings.Repeat("x", 40_000)}}, tool.CodeInvalid},
		{object{"command": ": " + strings.Repeat("한", 40_000)}, tool.CodeInvalid}, {object{"command": ": " + strings.Repeat("\x01", 30_000)}, tool.CodeInvalid},
	} {
		if out, err := b.call("s", "exec", c.args); codeOf(err) != c.code {
			t.Errorf("%v: %+v, %v, want %s", c.args, out, err, c.code)
		}
	}
	b.conf.Tools.Exec.Sandbox = "none such"
	if out, err := b.call("s", "exec", object{"command": "echo ran"}); codeOf(err) != tool.CodeNoSandbox || strings.Contains(out.Text, "ran") {
		t.Errorf("without a sandbox: %+v, %v", out, err)
	}
	b.home = b.state
	if out, err := b.call("s", "exec", object{"command": "true"}); codeOf(err) != tool.CodeUnavailable {
		t.Errorf("in a workspace that holds the token: %+v, %v", out, err)
	}
}

// A sandbox that did not hold is probed again a minute later, not before.
func TestFailedProbesAreRepeated(t *testing.T) {
	t.Parallel()
	b := newBench(t, "none such")
	for i, want := range []int{1, 1, 2, 2} {
		b.ahead.Store(int64(i/2) * int64(2*time.Minute))
		if _, err := b.call("s", "exec", object{"command": "true"}); codeOf(err) != tool.CodeNoSandbox || len(b.probed) != want {
			t.Errorf("call %d: %v, %d probes, want %d", i, err, len(b.probed), want)
		}
	}
}

// Commands that have ended are kept for half an hour.
func TestEndedCommandsAreForgotten(t *testing.T) {
	t.Parallel()
	b := newBench(t, config.SandboxOff)
	out, err := b.call("s", "exec", object{"command": "true", "background": true})
	if err != nil || !session.MatchString(out.Text) {
		t.Fatalf("%+v, %v", out, err)
	}
	id := session.FindStringSubmatch(out.Text)[1]
	if out, err := b.call("s", "process", object{"action": "poll", "sessionId": id, "timeout": 60_000}); err != nil {
		t.Errorf("%+v, %v", out, err)
	}
	b.ahead.Store(int64(time.Hour))
	if out, err := b.call("other", "exec", object{"command": "true"}); err != nil {
		t.Errorf("%+v, %v", out, err)
	}
	for _, action := range []string{"kill", "write"} {
		if out, err := b.call("s", "process", object{"action": action, "sessionId": id}); codeOf(err) != tool.CodeNoProcess {
			t.Errorf("still there: %+v, %v", out, err)
		}
	}
	if out, err := b.call("s", "process", object{"action": "log", "sessionId": id}); err != nil || out.IsError || !strings.Contains(out.Text, "[exit status 0]") {
		t.Errorf("by the log: %+v, %v", out, err)
	}
	if out, err := b.call("other", "process", object{"action": "log", "sessionId": id}); codeOf(err) != tool.CodeNoProcess {
		t.Errorf("another session sees it: %+v, %v", out, err)
	}
}

var session = regexp.MustCompile(`session (\S+);`)

func TestProcessesInTheBackground(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds(t) {
		b := newBench(t, kind)
		out, err := b.call("s", "exec", object{"command": "echo ready; read line; echo got $line; sleep 600", "background": true})
		if err != nil || !session.MatchString(out.Text) {
			t.Fatalf("%s: %+v, %v", kind, out, err)
		}
		id := session.FindStringSubmatch(out.Text)[1]
		if out, err := b.call("other", "process", object{"action": "kill", "sessionId": id}); codeOf(err) != tool.CodeNoProcess {
			t.Errorf("%s: another session reaches it: %+v, %v", kind, out, err)
		}
		if out, err := b.call("s", "process", object{"action": "submit", "sessionId": id, "data": "hello"}); err != nil {
			t.Errorf("%s: %+v, %v", kind, out, err)
		}
		deadline := time.Now().Add(time.Minute)
		for text := ""; !strings.Contains(text, "got hello"); {
			out, err := b.call("s", "process", object{"action": "poll", "sessionId": id, "timeout": 50})
			if text += out.Text; err != nil || time.Now().After(deadline) {
				t.Fatalf("%s: %q, %v", kind, text, err)
			}
		}
		for _, wrong := range []object{{"action": "write", "keys": []string{"Enter"}}, {"action": "submit", "text": "x"}, {"action": "send-keys", "data": "x"},
			{"action": "send-keys", "keys": []string{"C-c"}}, {"action": "send-keys", "keys": []string{"C-d", "Enter"}}, {"action": "send-keys"},
			{"action": "send-keys", "hex": []string{"zz"}}} {
			wrong["sessionId"] = id
			if out, err := b.call("s", "process", wrong); codeOf(err) != tool.CodeInvalid {
				t.Errorf("%s: %v: %+v, %v", kind, wrong, out, err)
			}
		}
		if out, err := b.call("s", "process", object{"action": "log", "sessionId": id}); err != nil || out.Text != "ready\ngot hello" {
			t.Errorf("%s: %+v, %v", kind, out, err)
		}
		if out, err := b.call("s", "process", object{"action": "list"}); err != nil || !strings.Contains(out.Text, id+" running") {
			t.Errorf("%s: %+v, %v", kind, out, err)
		}
		if out, err := b.call("s", "process", object{"action": "kill", "sessionId": id}); err != nil || !strings.Contains(out.Text, "the command was ended: killed") {
			t.Errorf("%s: %+v, %v", kind, out, err)
		}
		if out, err := b.call("s", "process", object{"action": "remove", "sessionId": id}); err != nil {
			t.Errorf("%s: %+v, %v", kind, out, err)
		}
		if out, err := b.call("s", "process", object{"action": "list"}); err != nil || out.Text != "no commands" {
			t.Errorf("%s: %+v, %v", kind, out, err)
		}
	}
}

// Keys, bytes and text are sent in this order, and C-d ends the input.
func TestKeysAreSent(t *testing.T) {
	t.Parallel()
	b := newBench(t, config.SandboxOff)
	out, err := b.call("s", "exec", object{"command": "od -An -c", "background": true})
	if err != nil || !session.MatchString(out.Text) {
		t.Fatalf("%+v, %v", out, err)
	}
	id := session.FindStringSubmatch(out.Text)[1]
	out, err = b.call("s", "process", object{"action": "send-keys", "sessionId": id, "literal": "ab", "hex": []string{"0x43", "44"}, "keys": []string{"Tab", "enter", "C-d"}})
	if err != nil || out.Text != "wrote 6 bytes" {
		t.Errorf("%+v, %v", out, err)
	}
	out, err = b.call("s", "process", object{"action": "poll", "sessionId": id, "timeout": 60_000})
	if want := `a b C D \t \n`; err != nil || strings.Join(strings.Fields(out.Text), " ") != want {
		t.Errorf("%+v, %v, want %s", out, err, want)
	}
}

func TestCloseEndsCommands(t *testing.T) {
	t.Parallel()
	b := newBench(t, config.SandboxOff)
	if _, err := b.call("s", "exec", object{"command": "sleep 996", "background": true}); err != nil {
		t.Fatal(err)
	}
	b.commands.Close()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil && strings.HasPrefix(string(text), "sleep\x00996") {
			t.Errorf("%s outlives Close", name)
		}
	}
	if _, err := b.call("s", "exec", object{"command": "true"}); err == nil {
		t.Error("a command ran after Close")
	}
}

// What is said about the sandbox follows what is in use, also when the setting changes and changes back.
func TestProbesFollowWhatIsInUse(t *testing.T) {
	t.Parallel()
	if len(kinds(t)) == 1 {
		return // no sandbox works on this machine, and that is what other tests see
	}
	b := newBench(t, config.SandboxAuto)
	for _, c := range []struct {
		setting string
		open    bool
	}{{config.SandboxAuto, false}, {config.SandboxOff, true}, {config.SandboxOff, true}, {config.SandboxAuto, false}} {
		b.conf.Tools.Exec.Sandbox = c.setting
		if out, err := b.call("s", "exec", object{"command": "true"}); err != nil {
			t.Fatalf("%+v, %v", out, err)
		}
		var list []sandboxes.Probe
		for i := len(b.probed) - 1; i >= 0; i-- {
			list = append(list, sandboxes.Probe{AgentID: "main", SandboxProbed: b.probed[i]})
		}
		if open, found := sandboxes.Held(list); open != c.open {
			t.Errorf("%s: %s", c.setting, found)
		}
	}
}
