//go:build linux && !race

package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/internal/testscale"
)

// An import takes the memory that docs/performance.md states, however long the log. A test's program is larger than openclawd, so that only
// what the process has made itself is measured; the race detector would add its own.
func TestImportKeepsToItsMemory(t *testing.T) {
	t.Parallel()
	const mostMB = 118
	log := filepath.Join(t.TempDir(), "log.ndjson")
	writeLongLog(t, log, testscale.Of(4_000, 100_000))
	cmd := program(t, "import", "--db", filepath.Join(t.TempDir(), "team.db"), log)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	peak := 0.0
	for running := true; running; {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		case <-look.C:
			if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)); err == nil { // else it has just ended
				peak = max(peak, ownMemory(t, string(status)))
			}
		}
	}
	t.Logf("%.0f MB", peak)
	if peak == 0 || peak > mostMB {
		t.Errorf("the import had %.0f MB, want at most %d", peak, mostMB)
	}
}

// ownMemory is what a process has made itself, in MB; 0 if it has ended.
func ownMemory(t *testing.T, status string) float64 {
	t.Helper()
	_, rest, found := strings.Cut(status, "\nRssAnon:")
	if !found {
		return 0
	}
	kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb / 1024
}

// writeLongLog writes so many events of 700 bytes, twelve to a work session.
func writeLongLog(t *testing.T, path string, events int) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(file)
	text := strings.Repeat("the build is green again and the review may begin ", 10)
	for i := range events {
		session := i / 12
		_, _ = fmt.Fprintf(out, `{"type":"a2a.response","agentId":"eden","ts":%d,"data":{"fromAgent":"eden","toAgent":"seum","workSessionId":"ws_%d",`+
			`"conversationId":"c_%d","taskId":"task_%d","eventRole":"conversation.main","message":"%d %s"}}`+"\n",
			1_770_000_000_000+int64(i)*2_000, session, session*4+i%4, session, i, text) // errors stay until Flush
	}
	if err := errors.Join(out.Flush(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// GOMEMLIMIT is an operator's own choice. Without it the limit goes with the import.
func TestImportLimitsItsMemory(t *testing.T) {
	before := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(before)
	undo := limitMemory(importMemory)
	if got := debug.SetMemoryLimit(-1); got != importMemory {
		t.Errorf("the limit is %d, want %d", got, importMemory)
	}
	if undo(); debug.SetMemoryLimit(-1) != math.MaxInt64 {
		t.Error("the limit is still there after the import")
	}
	const chosen = 1 << 40
	debug.SetMemoryLimit(chosen)
	defer debug.SetMemoryLimit(before)
	limitMemory(importMemory)()
	if got := debug.SetMemoryLimit(-1); got != chosen {
		t.Errorf("the limit is %d, want the operator's", got)
	}
}
