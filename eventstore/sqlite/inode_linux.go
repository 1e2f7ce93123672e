package sqlite

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// setOpenFileLock is F_OFD_SETLK: the lock belongs to the open file, not to the process. Package syscall does not name it.
const setOpenFileLock = 37

// lockByte locks a byte of a file without waiting. The error is errLocked where another one has it.
func lockByte(file *os.File, offset int64) error {
	lock := func(command int) error {
		return syscall.FcntlFlock(file.Fd(), command, &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: offset, Len: 1})
	}
	err := lock(setOpenFileLock)
	if errors.Is(err, syscall.EINVAL) { // the file system knows none, and SQLite has taken the other kind too
		err = lock(syscall.F_SETLK)
	}
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return errLocked
	}
	return err
}
