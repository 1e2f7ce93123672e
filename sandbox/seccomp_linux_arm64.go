package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

var forbiddenHere []uint32

// modesHere are calls that set modes of files, with the argument that has the mode.
var modesHere map[uint32]uint32

// attributesHere are those that only this architecture has.
var attributesHere = []uint32{}
