//go:build soak && linux

package sqlite_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Acknowledged means on disk: strace sees an fsync of the WAL between any two acknowledgements of one appender. Read
// models, which are written after every eighth, are not synced on their own.
func TestSoakAcknowledgementFollowsFsync(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatalf("the command strace is needed: %v", err)
	}
	const appends = 200
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), strace, "-f", "-qq", "-e", "trace=fsync,fdatasync,write", "-y", "-s", "40", self)
	cmd.Env = append(os.Environ(), envAcknowledge+"="+filepath.Join(dir, "log.db"), fmt.Sprintf("%s=%d", envAppends, appends))
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("strace: %v\n%s", err, trace.Bytes())
	}
	synced, syncs, acknowledged := false, 0, 0
	for line := range strings.Lines(trace.String()) {
		switch {
		case strings.Contains(line, "sync(") && strings.Contains(line, "log.db-wal"):
			synced = true
			if acknowledged > 0 {
				syncs++
			}
		case strings.Contains(line, `"`+acknowledgement):
			if !synced {
				t.Errorf("acknowledgement %d came without an fsync of the WAL before it", acknowledged+1)
			}
			synced = false
			acknowledged++
		}
	}
	if syncs >= appends*9/8 {
		t.Errorf("%d appends took %d syncs", appends, syncs)
	}
	if acknowledged != appends {
		t.Errorf("%d acknowledgements were seen of %d", acknowledged, appends)
	}
}
