//go:build unix

package ndjson

import (
	"io/fs"
	"os"
	"syscall"
)

// identify returns what identifies a file across renames.
func identify(info fs.FileInfo) identity {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return identity{uint64(s.Dev), s.Ino}
	}
	return identity{}
}

// openLog opens a file. It neither follows a symbolic link nor blocks on a pipe.
func openLog(path string, flags int) (*os.File, error) {
	return os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, logMode)
}
