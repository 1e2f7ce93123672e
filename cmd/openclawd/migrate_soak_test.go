//go:build soak && linux

package main

import (
	"errors"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/database"
)

// largest is the largest resident set of a process that has ended, in MB.
func largest(cmd *exec.Cmd) float64 {
	return float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1024
}

// One migration of a million lines is killed fifty times, each time after it has stored some more, and goes on where it was. In the end the
// log is complete and has nothing twice, and no run has taken more than 200 MB.
func TestSoakMigrationIsKilled(t *testing.T) {
	t.Parallel()
	const lines, kills, memory = 1_000_000, 50, 200
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	from := t.TempDir()
	writeTranscripts(t, from, lines)
	m := &team{dir: t.TempDir()}
	if said := m.does(t, "migrate", "openclaw", "--from", from, "--only", "people"); said.code != exitOK {
		t.Fatalf("%+v", said)
	}
	peak := 0.0
	for kill := range kills {
		cmd, wait := m.command(t, "migrate", "openclaw", "--from", from)
		at := m.killAfter(t, cmd, random.Int64N(lines/(kills+10)))
		if said := wait(); said.code != -1 {
			t.Fatalf("kill %d: %+v", kill, said)
		}
		peak = max(peak, largest(cmd))
		t.Logf("kill %d at event %d, %.0f MB", kill+1, at, largest(cmd))
	}
	cmd, wait := m.command(t, "migrate", "openclaw", "--from", from)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if said := wait(); said.code != exitOK {
		t.Fatalf("%+v", said)
	}
	peak = max(peak, largest(cmd))
	all, different, labels := m.kept(t)
	t.Logf("%d messages after %d kills, at most %.0f MB", all, kills, peak)
	if all != lines || different != lines || labels != lines/1_000 {
		t.Errorf("%d messages, %d different, %d labels; want %d and %d", all, different, labels, lines, lines/1_000)
	}
	if said := m.does(t, "verify"); said.code != exitOK {
		t.Errorf("%+v", said)
	}
	if peak > memory {
		t.Errorf("a run took %.0f MB", peak)
	}
}

// killAfter starts a program and kills it once the log has so many more events. It returns how many there are.
func (m *team) killAfter(t *testing.T, cmd *exec.Cmd, more int64) int64 {
	t.Helper()
	log, err := database.OpenToRead(t.Context(), filepath.Join(m.dir, database.Name), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	head, err := log.Wait(t.Context(), 0)
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		head, err = log.Wait(t.Context(), head+1+more)
	}
	if err = errors.Join(err, cmd.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	return head
}
