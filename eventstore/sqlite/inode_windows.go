package sqlite

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

// Flags of LockFileEx, and its error for a locked byte. Package syscall does not define them.
const (
	failImmediately = 1
	exclusiveLock   = 2
	lockViolation   = syscall.Errno(33)
)

// lockByte locks a byte of a file without waiting. The error is errLocked if it is locked already.
func lockByte(file *os.File, offset int64) error {
	place := syscall.Overlapped{Offset: uint32(offset), OffsetHigh: uint32(offset >> 32)}
	done, _, err := lockFileEx.Call(file.Fd(), failImmediately|exclusiveLock, 0, 1, 0, uintptr(unsafe.Pointer(&place)))
	switch {
	case done != 0:
		return nil
	case errors.Is(err, lockViolation):
		return errLocked
	}
	return err
}

// linksOf returns the number of names of an open file.
func linksOf(file *os.File) (uint64, error) {
	var info syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(file.Fd()), &info); err != nil {
		return 0, err
	}
	return uint64(info.NumberOfLinks), nil
}

// unlockByte does nothing: closing the file releases its locks.
func unlockByte(*os.File, int64) error { return nil }
