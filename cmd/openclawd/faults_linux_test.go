package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// exitNoFilter says that the system does not let a process take system calls away from itself.
const exitNoFilter = 99

// onFailingDevice runs the program, which is its own file under another name, so that whatever it reads at the offset that is its first argument
// or behind it is answered with EIO.
func onFailingDevice() {
	offset, err := strconv.ParseUint(os.Args[1], 10, 32)
	if err == nil {
		runtime.LockOSThread() // the filter is this thread's until it becomes the program
		err = failReads(uint32(offset))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "install a filter:", err)
		os.Exit(exitNoFilter)
	}
	self, err := os.Executable()
	if err == nil {
		err = syscall.Exec(self, append([]string{"openclawd"}, os.Args[2:]...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// failReads has the kernel answer pread64 at an offset or behind it with EIO, in this thread and in what it becomes.
func failReads(offset uint32) error {
	const (
		noNewPrivileges, setFilter, filterMode = 38, 22, 2 // of prctl
		load, atLeast, equal, answer           = 0x20, 0x35, 0x15, 0x06
		allow, refuse                          = 0x7fff0000, 0x00050000
		number, fourthArgument                 = 0, 16 + 3*8 // in what the filter is shown
	)
	filter := []syscall.SockFilter{
		{Code: load, K: number},
		{Code: equal, Jf: 3, K: syscall.SYS_PREAD64},
		{Code: load, K: fourthArgument},
		{Code: atLeast, Jf: 1, K: offset},
		{Code: answer, K: refuse | uint32(syscall.EIO)},
		{Code: answer, K: allow},
	}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, noNewPrivileges, 1, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	program := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setFilter, filterMode, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return nil
}
