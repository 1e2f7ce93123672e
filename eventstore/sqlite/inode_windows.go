package sqlite

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

// What LockFileEx is told, and what it says of a byte that another one has. Package syscall does not name them.
const (
	failImmediately = 1
	exclusiveLock   = 2
	lockViolation   = syscall.Errno(33)
)

// lockByte locks a byte of a file without waiting. The error is errLocked where another one has it.
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

// linksOf is how many names an open file has.
func linksOf(file *os.File) (uint64, error) {
	var info syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(file.Fd()), &info); err != nil {
		return 0, err
	}
	return uint64(info.NumberOfLinks), nil
}
