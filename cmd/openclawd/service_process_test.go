package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/internal/systemd"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// manager is a service manager: a real socket, to which the program sends as it does to systemd.
type manager struct {
	t    *testing.T
	path string
	conn *net.UnixConn
}

func newManager(t *testing.T) *manager {
	t.Helper()
	dir, err := os.MkdirTemp("", "sd") // the paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	m := &manager{t: t, path: filepath.Join(dir, "notify")}
	if m.conn, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path, Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.conn.Close() })
	return m
}

// environment is that of a service which is to be heard of every so often.
func (m *manager) environment(watchdog time.Duration) []string {
	return []string{"NOTIFY_SOCKET=" + m.path, fmt.Sprintf("WATCHDOG_USEC=%d", watchdog.Microseconds())}
}

// next gives the next message.
func (m *manager) next() string {
	m.t.Helper()
	if err := m.conn.SetReadDeadline(time.Now().Add(testscale.Patience)); err != nil {
		m.t.Fatal(err)
	}
	text := make([]byte, 4096)
	n, err := m.conn.Read(text)
	if err != nil {
		m.t.Fatalf("the program says nothing more: %v", err)
	}
	return string(text[:n])
}

// until gives the first message that begins so.
func (m *manager) until(begin string) string {
	m.t.Helper()
	for {
		if said := m.next(); strings.HasPrefix(said, begin) {
			return said
		}
	}
}

// A service of Type=notify is told by the real program, over a real socket, when it answers, that it is well, that it reads its
// configuration again, and that it ends, all within the times of its unit. A slow machine may take longer: what it computes is measured
// in processor time, and what it waits for is compared with how long it took to start.
func TestServiceTellsItsManager(t *testing.T) {
	t.Parallel()
	m, dir := newManager(t), t.TempDir()
	server := program(t, "serve", "--state-dir", dir, "--api", "127.0.0.1:0", "--gateway", "127.0.0.1:0")
	server.Env = append(server.Env, m.environment(200*time.Millisecond)...)
	output := &bytes.Buffer{}
	server.Stderr = output
	began := time.Now()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	if first := m.next(); first != "STATUS=opening the log" {
		t.Errorf("it begins with %q, want what it does", first)
	}
	ready := m.until("READY=1")
	slower := max(1, time.Since(began).Seconds()) // an idle machine starts it in less than a second
	within := func(began time.Time, longest time.Duration, what string) {
		t.Helper()
		if took := time.Since(began); took.Seconds() > slower*longest.Seconds() {
			t.Errorf("it took %s %s, want at most %s on an idle machine, which is %.1f times faster", took, what, longest, slower)
		}
	}
	api := regexp.MustCompile(`\nSTATUS=ok: API on (127\.0\.0\.1:\d+), gateway on 127\.0\.0\.1:\d+, \d+ events?$`).FindStringSubmatch(ready)
	if api == nil {
		t.Fatalf("ready with %q, want where it answers", ready)
	}
	answer, err := http.Get("http://" + api[1] + "/readyz")
	if err != nil {
		t.Fatalf("it says that it is ready, and does not answer: %v", err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("it says that it is ready, and GET /readyz answers %s", answer.Status)
	}
	pinged := time.Now()
	for range 2 {
		if said := m.until("WATCHDOG=1"); said != "WATCHDOG=1" {
			t.Errorf("it answers its watchdog %q, want WATCHDOG=1", said)
		}
	}
	within(pinged, 10*time.Second, "to answer a watchdog of 200 ms twice")
	if err := server.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if said := m.until("RELOADING=1"); !regexp.MustCompile(`^RELOADING=1\nMONOTONIC_USEC=[1-9]\d*$`).MatchString(said) {
		t.Errorf("it reloads with %q, want the time on the monotonic clock", said)
	}
	if said := m.until("READY=1"); said != "READY=1" {
		t.Errorf("it has reloaded with %q, want READY=1", said)
	}
	told := time.Now()
	hung := time.AfterFunc(testscale.Patience, func() { _ = server.Process.Kill() })
	defer hung.Stop()
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	m.until("STOPPING=1")
	if err := server.Wait(); err != nil {
		t.Errorf("it ends with %v, want exit code 0\n%s", err, output)
	}
	within(told, systemd.StopSec*time.Second, "to end")
	if busy := server.ProcessState.UserTime() + server.ProcessState.SystemTime(); busy > systemd.RestartSec*time.Second {
		t.Errorf("it computed for %s, longer than the %d s after which it is started again", busy, systemd.RestartSec)
	}
}

// Who is not let in is never ready, and ends with a code by which the manager tells what to try again.
func TestServiceThatCannotServeIsNeverReady(t *testing.T) {
	t.Parallel()
	m, dir := newManager(t), t.TempDir()
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitUsage, []string{"serve", "--nothing"}},
		{exitConfig, []string{"serve", "--state-dir", dir, "--api", "0.0.0.0:0"}},
		{exitFailed, []string{"serve", "--state-dir", dir, "--db", notADatabase(t), "--api", "127.0.0.1:0"}},
	} {
		cmd := program(t, c.args...)
		cmd.Env = append(cmd.Env, m.environment(time.Second)...)
		_ = cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != c.code {
			t.Errorf("%v: exit code %d, want %d", c.args, got, c.code)
		}
	}
	end, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: m.path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	if _, err := end.Write([]byte("END")); err != nil {
		t.Fatal(err)
	}
	for said := m.next(); said != "END"; said = m.next() {
		if strings.Contains(said, "READY=1") {
			t.Errorf("told %q, want that it is never ready", said)
		}
	}
}

func notADatabase(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "some.db")
	if err := os.WriteFile(path, bytes.Repeat([]byte("no database\n"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
