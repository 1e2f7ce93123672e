package sqlite

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A process that is being started has copies of all open files until it runs its program, and must not hold the lock.
func TestLockIsReleasedThoughTheFileIsOpenInAChild(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := lockInode(path)
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := syscall.Dup(int(held.file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(inherited) }()
	if err := held.close(); err != nil {
		t.Fatal(err)
	}
	again, err := lockInode(path)
	if err != nil {
		t.Fatalf("after the lock was released: %v", err)
	}
	if err := again.close(); err != nil {
		t.Error(err)
	}
}
