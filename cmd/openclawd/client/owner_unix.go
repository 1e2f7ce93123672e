//go:build linux || darwin

package client

import (
	"os"
	"syscall"
)

// isOurs reports whether the user that asks owns a file or a directory. A symbolic link is its target.
func isOurs(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(owner.Uid) == int64(os.Getuid())
}
