//go:build unix

package sqlite

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// nameOf identifies a file as long as it is there, whatever it is called; "" where that cannot be told.
func nameOf(info fs.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", s.Dev, s.Ino)
	}
	return ""
}

// limited says why the process may not let a file grow to so many bytes more, or nil: a limit that was set for it is no defect of the disk.
func limited(path string, more int64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil || uint64(limit.Cur) > 1<<62 {
		return nil
	}
	for _, file := range []string{path, path + "-wal"} {
		if uint64(size(file)+more) >= uint64(limit.Cur) {
			return fmt.Errorf("this process may write files of %d bytes and no more (ulimit -f)", limit.Cur)
		}
	}
	return nil
}

// linksOf is how many names an open file has.
func linksOf(file *os.File) (uint64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return Names(info), nil
}

// Names is how many names a file has; 1 where that cannot be told.
func Names(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}
