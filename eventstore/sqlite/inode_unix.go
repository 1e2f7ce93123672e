//go:build unix && !linux

package sqlite

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lockByte locks a byte of a file without waiting. The error is errLocked if another process has it. The lock belongs
// to the process: it stays while SQLite has the file open, because SQLite closes no handle of it before the last.
func lockByte(file *os.File, offset int64) error {
	err := syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: offset, Len: 1})
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return errLocked
	}
	return err
}

// unlockByte does nothing: closing the file releases a lock of the process, which its children do not inherit.
func unlockByte(*os.File, int64) error { return nil }
