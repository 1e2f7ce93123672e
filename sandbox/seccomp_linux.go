//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forbidden are system calls that lead out of a sandbox or to parts of the kernel that no command needs.
var forbidden = append([]uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOUNT_SETATTR,
	unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG, unix.SYS_FSPICK, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_QUOTACTL, unix.SYS_ACCT, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_SYSLOG, unix.SYS_VHANGUP,
}, forbiddenHere...)

// attributes are system calls that change attributes of files, which Landlock does not know, by their paths or by a descriptor, which may be open for
// reading only.
var attributes = append([]uint32{unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
	unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR}, attributesHere...)

// flagRequests are the requests of ioctl that change attributes of files.
var flagRequests = []uint32{0x40086602, 0x401c5820} // FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR

// shared are system calls for memory, messages and semaphores that all processes of the machine share, unless a namespace keeps them apart.
var shared = []uint32{unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_SEMGET,
	unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK}

// uncounted are system calls for memory that belongs to no process, so that the supervisor would not count it.
var uncounted = []uint32{unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET}

// Offsets in the data that a filter sees.
const (
	atCall = 0
	atArch = 4
	atArgs = 16
)

// filterCalls installs the filter of system calls.
func (p *plan) filterCalls() error {
	f := &filter{}
	f.load(atArch)
	f.unless(unix.BPF_JEQ, auditArch, unix.SECCOMP_RET_KILL_PROCESS)
	f.load(atCall)
	f.when(unix.BPF_JGE, 0x40000000, deny(unix.EPERM)) // another numbering of the calls
	for _, call := range forbidden {
		f.when(unix.BPF_JEQ, call, deny(unix.EPERM))
	}
	f.when(unix.BPF_JEQ, unix.SYS_CLONE3, deny(unix.ENOSYS)) // its flags cannot be seen; programs then use clone
	for _, call := range uncounted {
		f.when(unix.BPF_JEQ, call, deny(unix.ENOSYS)) // programs then use memory of their own or a file
	}
	f.whenArg(unix.SYS_CLONE, 0, unix.BPF_JSET, unix.CLONE_NEWNS|unix.CLONE_NEWUSER|unix.CLONE_NEWPID|unix.CLONE_NEWNET|unix.CLONE_NEWIPC|unix.CLONE_NEWUTS|
		unix.CLONE_NEWCGROUP)
	for _, request := range []uint32{unix.TIOCSTI, unix.TIOCLINUX} { // they type into a terminal
		f.whenArg(unix.SYS_IOCTL, 1, unix.BPF_JEQ, request)
	}
	f.whenArg(unix.SYS_FCHMOD, 1, unix.BPF_JSET, unix.S_ISUID|unix.S_ISGID)
	f.whenArg(unix.SYS_FCHMODAT, 2, unix.BPF_JSET, unix.S_ISUID|unix.S_ISGID)
	f.whenArg(unix.SYS_FCHMODAT2, 2, unix.BPF_JSET, unix.S_ISUID|unix.S_ISGID)
	for call, arg := range modesHere {
		f.whenArg(call, arg, unix.BPF_JSET, unix.S_ISUID|unix.S_ISGID)
	}
	if p.Kind == Landlock && !p.Mounts {
		for _, call := range slices.Concat(attributes, shared) {
			f.when(unix.BPF_JEQ, call, deny(unix.EPERM))
		}
		for _, request := range flagRequests {
			f.whenArg(unix.SYS_IOCTL, 1, unix.BPF_JEQ, request)
		}
	}
	switch {
	case p.Kind == Landlock && !p.Network:
		f.when(unix.BPF_JEQ, unix.SYS_SOCKET, deny(unix.EACCES)) // the rules know TCP only
	case p.Kind == Landlock || p.Network:
		f.whenArg(unix.SYS_SOCKET, 0, unix.BPF_JEQ, unix.AF_UNIX) // sockets of other programs of this machine
	}
	f.whenArg(unix.SYS_SOCKET, 0, unix.BPF_JEQ, unix.AF_VSOCK) // the host of a virtual machine; no namespace keeps it apart
	f.add(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW)
	program := unix.SockFprog{Len: uint16(len(f.code)), Filter: &f.code[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}

func deny(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// filter is a program for the kernel. The number of the call is loaded between its steps.
type filter struct{ code []unix.SockFilter }

func (f *filter) add(code uint16, k uint32) {
	f.code = append(f.code, unix.SockFilter{Code: code, K: k})
}

func (f *filter) load(offset uint32) { f.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset) }

// when ends with a verdict if a comparison holds.
func (f *filter) when(compare uint16, k, verdict uint32) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, Jf: 1, K: k})
	f.add(unix.BPF_RET|unix.BPF_K, verdict)
}

func (f *filter) unless(compare uint16, k, verdict uint32) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, Jt: 1, K: k})
	f.add(unix.BPF_RET|unix.BPF_K, verdict)
}

// whenArg refuses a call if a comparison of the lower half of an argument holds.
func (f *filter) whenArg(call uint32, arg uint32, compare uint16, k uint32) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 4, K: call})
	f.load(atArgs + 8*arg)
	f.when(compare, k, deny(unix.EPERM))
	f.load(atCall)
}
