package asof

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// Temp is a temporary directory. A file beside it is locked while a process uses it, so that the next process can
// recognize and remove what a killed one left behind.
type Temp struct {
	dir  string
	lock *flock.Flock
}

const (
	tempPrefix = "openclawd-past-"
	tempLock   = ".lock"
)

// NewTemp makes a directory in dir, "" for the system's temporary directory, and removes abandoned ones there. Error:
// *TempError.
func NewTemp(in string) (*Temp, error) {
	if in == "" {
		in = os.TempDir()
	}
	t := &Temp{dir: filepath.Join(in, tempPrefix+strings.ToLower(rand.Text()))}
	t.lock = flock.New(t.dir+tempLock, flock.SetFlag(os.O_CREATE|os.O_EXCL|os.O_RDWR), flock.SetPermissions(0o600))
	locked, err := t.lock.TryLock()
	switch {
	case err == nil && locked:
		err = os.Mkdir(t.dir, 0o700)
	case err == nil:
		err = errors.New("its lock is held by another process")
	}
	if err != nil {
		return nil, errors.Join(&TempError{in, err}, t.Close())
	}
	sweep(in)
	return t, nil
}

// sweep removes the directories whose lock is free. One without a lock may not be ours and stays; what cannot be
// removed is left to the next run.
func sweep(in string) {
	entries, err := os.ReadDir(in)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), tempPrefix) {
			continue
		}
		left := &Temp{dir: filepath.Join(in, entry.Name())}
		left.lock = flock.New(left.dir+tempLock, flock.SetFlag(os.O_RDWR))
		if locked, err := left.lock.TryLock(); err == nil && locked {
			_ = left.Close()
		}
	}
}

// Dir returns its path.
func (t *Temp) Dir() string { return t.dir }

// Close removes it with all its contents. It may be called more than once.
func (t *Temp) Close() error {
	err := errors.Join(os.RemoveAll(t.dir), t.lock.Close())
	if gone := os.Remove(t.lock.Path()); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// TempError says why no temporary directory could be made.
type TempError struct {
	Dir string
	Err error
}

func (e *TempError) Error() string {
	return fmt.Sprintf("make a temporary directory for tables in %s: %v", e.Dir, e.Err)
}
func (e *TempError) Unwrap() error { return e.Err }
func (e *TempError) Code() string  { return "no_temporary_directory" }
func (e *TempError) Hint() string {
	return "set TMPDIR to an existing, writable directory with room for the tables"
}
