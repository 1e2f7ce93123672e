package workspace

import (
	"io/fs"
	"syscall"
)

func (id *identity) fill(info fs.FileInfo) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		id.device, id.inode = uint64(s.Dev), s.Ino
		sec, nsec := s.Ctim.Unix()
		id.changed = sec*1e9 + nsec
	}
}
