//go:build unix

package sqlite

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// nameOf identifies a file as long as it exists, under any name; "" if unknown.
func nameOf(info fs.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", s.Dev, s.Ino)
	}
	return ""
}

// limited returns why the process may not let a file grow by so many bytes, or nil: a limit of the process is not a
// full disk.
func limited(path string, more int64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil || uint64(limit.Cur) > 1<<62 {
		return nil
	}
	for _, file := range []string{path, path + "-wal"} {
		if uint64(size(file)+more) >= uint64(limit.Cur) {
			return fmt.Errorf("this process may write files of at most %d bytes (ulimit -f)", limit.Cur)
		}
	}
	return nil
}

// linksOf returns the number of names of an open file.
func linksOf(file *os.File) (uint64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return Names(info), nil
}

// Names returns the number of names of a file; 1 if unknown.
func Names(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}
