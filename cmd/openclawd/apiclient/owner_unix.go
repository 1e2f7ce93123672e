//go:build linux || darwin

package apiclient

import (
	"os"
	"syscall"
)

// isOurs reports whether the current user owns a file or a directory. Symbolic links are followed.
func isOurs(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(owner.Uid) == int64(os.Getuid())
}
