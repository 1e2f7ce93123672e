//go:build unix && !linux

package sqlite

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lockByte locks a byte of a file without waiting. The error is errLocked where another process has it. The lock is the process's: it stays
// while SQLite has the file open, which closes no handle of it before the last.
func lockByte(file *os.File, offset int64) error {
	err := syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: offset, Len: 1})
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return errLocked
	}
	return err
}
