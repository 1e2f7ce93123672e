package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// Open waits for locks whose holder has ended: a process that a killed holder was starting has a copy of its open files,
// and with them the locks, until it runs its program.
const (
	inheritedTime  = 2 * time.Second
	inheritedPause = 10 * time.Millisecond
)

// takeLocks takes both locks of a writer.
func (db *DB) takeLocks(ctx context.Context) error {
	if err := unlessInherited(ctx, db.takeLock); err != nil {
		return err
	}
	return unlessInherited(ctx, func() (err error) {
		db.inode, err = lockInode(db.path)
		return err
	})
}

// unlessInherited calls take again while the holder of the lock has ended, but not for long.
func unlessInherited(ctx context.Context, take func() error) error {
	for end := time.Now().Add(inheritedTime); ; {
		err := take()
		locked, is := errors.AsType[*eventstore.LockedError](err)
		if !is || !ended(locked.Owner) || time.Now().After(end) {
			return err
		}
		if err := wait.For(ctx, inheritedPause); err != nil {
			return err
		}
	}
}

// ended reports whether an owner as SetOwner writes it is a process that is no more. What is unknown may be running.
func ended(owner string) bool {
	var pid int
	if _, err := fmt.Sscanf(owner, "pid %d", &pid); err != nil || pid <= 0 {
		return false
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer process.Release()
	return errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// takeLock locks the file beside the database, which names the holder. The name may be unlocked while the database is
// not, because that file can be removed. The file stays when the lock is released: removing it would be a race.
func (db *DB) takeLock() error {
	db.lock = flock.New(db.path + ".lock")
	ok, err := db.lock.TryLock()
	if err != nil {
		return fmt.Errorf("lock %s: %w", db.path, err)
	}
	if !ok {
		return &eventstore.LockedError{Path: db.path, Owner: Owner(db.path)}
	}
	return nil
}

// SetOwner replaces Options.Owner. Only a writer may call it.
func (db *DB) SetOwner(name string) error {
	owner := fmt.Sprintf("pid %d", os.Getpid())
	if name != "" {
		owner += ", " + name
	}
	if err := os.WriteFile(db.path+".lock", []byte(owner+"\n"), 0o600); err != nil {
		return fmt.Errorf("write lock file: %w", err)
	}
	return nil
}

// Owner returns who last wrote the file at path, according to the lock file; "" if unknown. That process may have
// ended.
func Owner(path string) string {
	owner, _ := os.ReadFile(path + ".lock")
	return strings.TrimSpace(string(owner))
}
