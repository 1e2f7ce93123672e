package sqlite

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// setOpenFileLock is F_OFD_SETLK: the lock belongs to the open file, not to the process. Package syscall does not
// define it.
const setOpenFileLock = 37

// lockByte locks a byte of a file without waiting. The error is errLocked if it is locked already.
func lockByte(file *os.File, offset int64) error {
	err := setLock(file, syscall.F_WRLCK, offset)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return errLocked
	}
	return err
}

// unlockByte releases a lock. Closing the file is not enough: a process that is being started has a copy of the open
// file, and with it the lock, until it runs its program.
func unlockByte(file *os.File, offset int64) error {
	return setLock(file, syscall.F_UNLCK, offset)
}

func setLock(file *os.File, kind int16, offset int64) error {
	lock := func(command int) error {
		return syscall.FcntlFlock(file.Fd(), command, &syscall.Flock_t{Type: kind, Whence: io.SeekStart, Start: offset, Len: 1})
	}
	err := lock(setOpenFileLock)
	if errors.Is(err, syscall.EINVAL) { // the file system does not support them, and SQLite uses process locks too
		err = lock(syscall.F_SETLK)
	}
	return err
}
