//go:build linux && !race

package monitor_test

import (
	"net/http"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/internal/budget"
	"github.com/pronto-lab/openclawd/monitor"
)

// Thirty clients that read large events concurrently take no more real memory than the read budget, plus what the
// garbage collector leaves for a while. The test runs alone because it measures.
//
// Promise: memory
func TestMemoryOfParallelReadsIsBounded(t *testing.T) {
	b := setup(t, func(o *monitor.Options) { o.Reads, o.MaxWait = budget.New(64<<20), 100*time.Millisecond })
	b.fillWith(t, 3, 3<<20)
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	before := mostMemory(t)
	statuses := askAtOnce(t, b.url+"/api/events?limit=1000", 30)
	if taken := mostMemory(t) - before; taken > 256<<20 {
		t.Errorf("%d MiB were taken, may be 256", taken>>20)
	}
	if statuses[http.StatusOK] == 0 || statuses[http.StatusOK]+statuses[http.StatusServiceUnavailable] != 30 {
		t.Errorf("answers by status: %v, want 200 and 503 alone", statuses)
	}
}

// mostMemory is the most that the process has held since that was forgotten.
func mostMemory(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		t.Fatal("no VmHWM in /proc/self/status")
	}
	n, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}
