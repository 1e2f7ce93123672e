package mcp_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/mcp/mcptest"
)

const envVictim = "OPENCLAWD_TEST_MCP_VICTIM"

// What the program of a server has started ends with openclawd, also when that is killed.
func TestNoGrandchildOutlivesAKill(t *testing.T) {
	t.Parallel()
	victim := exec.Command(os.Args[0], "-test.run=^TestMCPVictim$")
	victim.Env = append(os.Environ(), envVictim+"=1")
	in, err := victim.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	pid := ""
	for lines := bufio.NewScanner(out); pid == "" && lines.Scan(); {
		_, pid, _ = strings.Cut(lines.Text(), "grandchild ")
	}
	if err := victim.Process.Kill(); err != nil || pid == "" {
		t.Fatalf("no grandchild was started: %v", err)
	}
	_ = victim.Wait() // it was killed
	late, again := time.After(testscale.Patience), time.NewTicker(5*time.Millisecond)
	defer again.Stop()
	for {
		if text, err := os.ReadFile("/proc/" + pid + "/stat"); err != nil || strings.Contains(string(text), ") Z ") {
			return
		}
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("process %s outlives the program", pid)
		}
	}
}

// TestMCPVictim has a server start a process, and waits to be killed.
func TestMCPVictim(t *testing.T) {
	if os.Getenv(envVictim) == "" {
		return // TestNoGrandchildOutlivesAKill runs it
	}
	h := setup(t, func(h *fixture) string { return `s: ` + h.server(mcptest.Good, ``) })
	started, err := h.call("s__spawn", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("grandchild " + started.Text)
	_, _ = os.Stdin.Read(make([]byte, 1))
}
