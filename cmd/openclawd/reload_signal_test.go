package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
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
		ended <- run(ctx, &process{args: []string{"serve", "--state-dir", dir, "--api", "127.0.0.1:0"}, stdout: out, stderr: log,
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
		for late := time.After(time.Minute); ; {
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
	until("configuration is read again, as asked")
	stop()
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d", code)
	}
}
