package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

const (
	// teamConfig is openclaw.json of a team that answers by a script; %d is how many runs may go on at a time.
	teamConfig = `{models: {scripted: {script: 'script.json'}}, agents: {defaults: {maxConcurrent: %d, model: 'scripted/%s'},
  list: [{id: 'main', default: true}, {id: 'eden'}, {id: 'seum'}]}}`

	teamScript = `{"rules": [
  {"when": {"contains": ["hang"]}, "answer": {"text": "I begin to think", "fault": {"hang": true, "after": 2}}},
  {"when": {"contains": ["slow"]}, "answer": {"text": "slow but sure", "delay": "1s"}},
  {"answer": {"text": "{{model}} hears {{message}}"}}]}`
)

// team is openclawd serve as a process, with agents that answer by a script.
type team struct {
	dir     string
	api     string // its URL
	gateway string // its URL
	server  *exec.Cmd
	output  *bytes.Buffer
}

func startTeam(t *testing.T, lanes int) *team {
	t.Helper()
	m := &team{dir: t.TempDir()}
	m.configure(t, lanes, "one")
	if err := os.WriteFile(filepath.Join(m.dir, "script.json"), []byte(teamScript), 0o600); err != nil {
		t.Fatal(err)
	}
	m.start(t)
	t.Cleanup(func() { m.end(os.Kill) })
	return m
}

func (m *team) configure(t *testing.T, lanes int, model string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, "openclaw.json"), fmt.Appendf(nil, teamConfig, lanes, model), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start serves, and waits until the gateway is there.
func (m *team) start(t *testing.T) {
	t.Helper()
	m.server, m.output = program(t, "serve", "--state-dir", m.dir, "--api", "127.0.0.1:0", "--gateway", "127.0.0.1:0"), &bytes.Buffer{}
	m.server.Stderr = m.output
	out, err := m.server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.server.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			m.api = url
		}
		if url, ok := strings.CutPrefix(lines.Text(), "gateway on "); ok {
			m.gateway = url
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return
		}
	}
	t.Fatalf("serve ended: %v\n%s", m.server.Wait(), m.output)
}

// end ends the server with a signal and returns its exit code, -1 for a signal that it did not survive.
func (m *team) end(signal os.Signal) int {
	if m.server == nil {
		return 0
	}
	_ = m.server.Process.Signal(signal) // it may have ended
	_ = m.server.Wait()
	code := m.server.ProcessState.ExitCode()
	m.server = nil
	return code
}

// program is this very binary as openclawd.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &exec.Cmd{Path: self, Args: append([]string{"openclawd"}, args...),
		Env: append(os.Environ(), "HOME="+t.TempDir(), "OPENCLAW_STATE_DIR=", "TASK_MONITOR_PORT=", "OPENCLAW_GATEWAY_PORT=")}
}

// spoken is what a command has said, and how it ended.
type spoken struct {
	stdout, stderr string
	code           int
}

// does runs a command on the team's state directory.
func (m *team) does(t *testing.T, args ...string) spoken {
	t.Helper()
	return m.begins(t, args...)()
}

// begins runs one without waiting for it.
func (m *team) begins(t *testing.T, args ...string) (end func() spoken) {
	t.Helper()
	cmd, wait := m.command(t, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return wait
}

func (m *team) command(t *testing.T, args ...string) (cmd *exec.Cmd, wait func() spoken) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd = program(t, append(args, "--state-dir", m.dir)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	return cmd, func() spoken {
		err := cmd.Wait()
		if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
			t.Error(err)
		}
		return spoken{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
	}
}

// until checks a condition, and again each time the log has grown. Between two checks only this process reads the log: the server needs the
// processor.
func (m *team) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	log, err := database.OpenToRead(t.Context(), filepath.Join(m.dir, database.Name), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	ctx, stop := context.WithTimeout(t.Context(), testscale.Patience)
	defer stop()
	for {
		head, err := log.Head(ctx) // before the check, so that no event is missed
		if err != nil {
			t.Fatalf("waiting until %s: %v", what, err)
		}
		if is() {
			return
		}
		if _, err := log.Wait(ctx, head.Seq+1); err != nil {
			t.Fatalf("waiting until %s: %v", what, err)
		}
	}
}

// runsIn waits until n runs are in a state, and returns their ids, the newest first.
func (m *team) runsIn(t *testing.T, state string, n int) (ids []string) {
	t.Helper()
	m.until(t, fmt.Sprintf("%d runs are %s", n, state), func() bool {
		ids = m.runs(t, state)
		return len(ids) == n
	})
	return ids
}

// runs lists the ids of the runs that are in a state: it asks the server, which starts no process, or the command once the server has ended.
func (m *team) runs(t *testing.T, state string) (ids []string) {
	t.Helper()
	var answer struct{ Runs []struct{ RunID string } }
	if m.server != nil {
		m.get(t, "/api/runs?state="+state, &answer)
	} else if said := m.does(t, "runs", "--state", state, "--json"); json.Unmarshal([]byte(said.stdout), &answer) != nil {
		t.Fatalf("the runs that are %s: %+v", state, said)
	}
	for _, r := range answer.Runs {
		ids = append(ids, r.RunID)
	}
	return ids
}

// Two who speak in one session at the same time are each given the answer to what they have said.
func TestTwoClientsInOneSession(t *testing.T) {
	t.Parallel()
	m := startTeam(t, 4)
	var ends []func() spoken
	for i := range 4 {
		ends = append(ends, m.begins(t, "agent", fmt.Sprintf("message %d", i), "--agent", "eden"))
	}
	for i, end := range ends {
		if said := end(); said.code != exitOK || said.stdout != fmt.Sprintf("one hears message %d\n", i) {
			t.Errorf("message %d: %+v", i, said)
		}
	}
}

// A client that has waited long enough for a turn takes the message back and says who was before it; what runs is not touched.
func TestBusySessionSaysWhoIsAhead(t *testing.T) {
	t.Parallel()
	m := startTeam(t, 4)
	first := m.begins(t, "agent", "please hang", "--session", "agent:eden:main")
	m.runsIn(t, "running", 1)
	second := m.does(t, "agent", "second", "--agent", "eden", "--session", "main", "--detach", "--json")
	if !strings.Contains(second.stdout, `"sessionKey":"agent:eden:main","state":"queued","text":"","ahead":1,`) {
		t.Errorf("the second: %+v", second)
	}
	said := m.does(t, "agent", "third", "--agent", "eden", "--queue-wait", "300ms")
	if said.code != exitAgain || !strings.HasPrefix(said.stderr, "error: session agent:eden:main is busy: 2 messages ahead, waited 300ms\n") || said.stdout != "" {
		t.Errorf("busy: %+v", said)
	}
	m.runsIn(t, "aborted", 1)
	m.runsIn(t, "running", 1)
	if said := m.does(t, "runs", "stop", "--session", "agent:eden:main"); said.code != exitOK || strings.Count(said.stdout, "stopped ") != 2 {
		t.Errorf("stop: %+v", said)
	}
	if said := first(); said.code != exitFailed || said.stdout != "I begin \n" || !strings.HasPrefix(said.stderr, "error: the run was stopped by another client\n") {
		t.Errorf("the first: %+v", said)
	}
}

// Ctrl-C stops the run, not only the command.
func TestInterruptStopsTheRun(t *testing.T) {
	t.Parallel()
	m := startTeam(t, 4)
	cmd, wait := m.command(t, "agent", "please hang", "--agent", "eden")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id := m.runsIn(t, "running", 1)[0]
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if said := wait(); said.code != exitBroken || !strings.HasPrefix(said.stderr, "error: stopped: run "+id+"\n") {
		t.Errorf("it ended with %+v", said)
	}
	if got := m.runsIn(t, "aborted", 1); got[0] != id {
		t.Errorf("aborted is %s, want %s", got[0], id)
	}
}

// No one reads an answer whose pipe is closed: its run is stopped, long before it would end.
func TestClosedOutputStopsTheRun(t *testing.T) {
	t.Parallel()
	m := startTeam(t, 4)
	var notes bytes.Buffer
	cmd := program(t, "agent", "take it slow", "--agent", "eden", "--state-dir", m.dir)
	cmd.Stderr = &notes
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := said.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := said.Close(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	id := m.runsIn(t, "aborted", 1)[0]
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || !strings.HasPrefix(notes.String(), "error: cannot write the answer, run "+id+" is stopped: ") {
		t.Errorf("it ended with %d: %s", code, notes.String())
	}
}

// A server that is killed in the middle of a run says so when it is back, and answers what waited. Waiting clients hear of both.
//
// Promise: run-once
func TestKillInTheMiddleOfARun(t *testing.T) {
	t.Parallel()
	m := startTeam(t, 4)
	lost := m.begins(t, "agent", "please hang", "--agent", "eden")
	id := m.runsIn(t, "running", 1)[0]
	waits := m.begins(t, "agent", "and then", "--agent", "eden")
	m.runsIn(t, "queued", 1)
	m.end(os.Kill)
	m.start(t)
	if said := lost(); said.code != exitFailed || !strings.HasPrefix(said.stderr, "error: the run was interrupted by a restart of the server") {
		t.Errorf("who was being answered hears %+v", said)
	}
	if said := waits(); said.code != exitOK || said.stdout != "one hears and then\n" {
		t.Errorf("who was waiting hears %+v", said)
	}
	m.runsIn(t, "ok", 1)
	if said := m.does(t, "runs", "show", id); !regexp.MustCompile(`(?m)^state +aborted \(restart\)$`).MatchString(said.stdout) {
		t.Errorf("the run: %+v", said)
	}
	wait := m.does(t, "call", "agent.wait", `{"runId": "`+id+`", "timeoutMs": 0}`, "--json")
	if !strings.Contains(wait.stdout, `"state":"aborted"`) {
		t.Errorf("agent.wait: %+v", wait)
	}
}

// A server that is told to end lets what is under way end before.
func TestServerEndsAfterItsRuns(t *testing.T) {
	t.Parallel()
	m := startTeam(t, 4)
	cmd := program(t, "agent", "take it slow", "--agent", "eden", "--state-dir", m.dir)
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := said.Read(make([]byte, 1)); err != nil { // it is in the middle of it
		t.Fatal(err)
	}
	if code := m.end(syscall.SIGTERM); code != exitOK {
		t.Errorf("serve exited with %d\n%s", code, m.output)
	}
	_ = cmd.Wait() // it has heard the answer, or that the gateway is gone
	if said := m.does(t, "runs", "show", m.runsIn(t, "ok", 1)[0]); !regexp.MustCompile(`(?m)^state +ok$`).MatchString(said.stdout) || !strings.HasSuffix(said.stdout, "\nslow but sure\n") {
		t.Errorf("the run: %+v", said)
	}
}

// A configuration that changes has more lanes and other models at once, without a restart; what runs goes on.
func TestReloadChangesLanesAndModels(t *testing.T) {
	t.Parallel()
	m := startTeam(t, 1)
	m.does(t, "agent", "please hang", "--agent", "eden", "--detach")
	m.runsIn(t, "running", 1)
	m.does(t, "agent", "hello", "--agent", "seum", "--detach")
	if ids := m.runsIn(t, "queued", 1); len(ids) != 1 {
		t.Fatal("the only lane is taken, and the second run does not wait")
	}
	m.configure(t, 2, "two")
	id := m.runsIn(t, "ok", 1)[0]
	if said := m.does(t, "runs", "show", id); !strings.HasSuffix(said.stdout, "\ntwo hears hello\n") {
		t.Errorf("the run: %+v", said)
	}
	m.runsIn(t, "running", 1)
}
