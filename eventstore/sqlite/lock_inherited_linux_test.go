package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// A process that a killed server was starting holds the server's lock a moment longer. Open waits for it, but not for a
// server that runs.
func TestLockThatTheDeadHaveLeftIsWaitedFor(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.db")
	lock, err := os.Create(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	child := exec.Command("cat") // until its input ends
	child.ExtraFiles = []*os.File{lock}
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(child.Start(), lock.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".lock", []byte(pidOfTheDead(t)+", killed\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	soon, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	if db, err := sqlite.Open(soon, sqlite.Options{Path: path}); !errors.Is(err, context.DeadlineExceeded) {
		if db != nil {
			closeLog(t, db)
		}
		t.Errorf("got %v, want to wait for the lock", err)
	}
	if err := errors.Join(input.Close(), child.Wait()); err != nil {
		t.Fatal(err)
	}
	verify(t, open(t, sqlite.Options{Path: path}), 0)
}

// pidOfTheDead is the owner of a lock file whose process has ended.
func pidOfTheDead(t *testing.T) string {
	t.Helper()
	short := exec.Command("true")
	if err := short.Run(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("pid %d", short.Process.Pid)
}
