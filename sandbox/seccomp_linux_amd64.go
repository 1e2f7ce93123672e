package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

var forbiddenHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_USELIB, unix.SYS_MODIFY_LDT, unix.SYS_CREATE_MODULE}

// modesHere are calls that set modes of files, with the argument that has the mode.
var modesHere = map[uint32]uint32{unix.SYS_CHMOD: 1}

// attributesHere are those that only this architecture has.
var attributesHere = []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
