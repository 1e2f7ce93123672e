//go:build linux || darwin

package backup

import (
	"os"
	"syscall"
)

// Free returns how many bytes the user may still write on the volume of path; known is false where the system does not
// say.
func Free(path string) (bytes int64, known bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}

// Writable reports whether this process may write to a file, or create files in a directory; known is false where
// the system does not say. Nothing is opened or written.
func Writable(path string) (ok, known bool) {
	const write = 2 // W_OK
	return syscall.Access(path, write) == nil, true
}

// ownerOf returns the user that a file belongs to; known is false where the system does not say.
func ownerOf(path string) (uid int, known bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false, err
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return 0, false, nil
	}
	return int(stat.Uid), true, nil
}
