package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/internal/testscale"
)

// TestSIGHUPReads sends the signal to this very process, once openclawd serve has asked for it.
func TestSIGHUPReads(t *testing.T) {
	t.Parallel()
	said, out := io.Pipe()
	logged, log := io.Pipe()
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, &process{args: []string{"serve", "--state-dir", dir, "--api", "127.0.0.1:0", "--gateway", "127.0.0.1:0"}, stdout: out, stderr: log,
			getenv: func(string) string { return "" }, now: time.Now})
		_, _ = out.Close(), log.Close()
	}()
	lines := make(chan string, 1_000)
	for _, r := range []io.Reader{said, logged} {
		go func() {
			for s := bufio.NewScanner(r); s.Scan(); {
				lines <- s.Text()
			}
		}()
	}
	until := func(text string) {
		t.Helper()
		for late := time.After(testscale.Patience); ; {
			select {
			case line := <-lines:
				if strings.Contains(line, text) {
					return
				}
			case <-late:
				t.Fatalf("nothing says %q", text)
			}
		}
	}
	until("listening on http://127.0.0.1:")
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	until("reloading configuration on request")
	stop()
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// A request under way keeps a server that is told to end for seconds, unless it is told again. Signals go on until it has ended, because
// the second one may come before the first has been heard.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Cmd{Path: self, Args: []string{"openclawd", "serve", "--state-dir", t.TempDir(), "--api", "127.0.0.1:0", "--gateway", "127.0.0.1:0"}}
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err, server.Wait())
	}
	address := strings.TrimPrefix(strings.TrimSpace(line), "listening on http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /api/workspace-file HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n", address)
	if answer, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(answer, " 100 ") {
		t.Fatalf("%q: %v", answer, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for running := true; running; {
		select {
		case <-again.C:
			_ = server.Process.Signal(syscall.SIGTERM) // it may have ended
		case <-ended:
			running = false
		}
	}
	if status, ok := server.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", server.ProcessState)
	}
}
