//go:build unix

package main

import (
	"io/fs"
	"syscall"
)

// inode identifies a file through changes of its name.
func inode(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}
