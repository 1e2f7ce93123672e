//go:build unix

package config_test

import "syscall"

// pipe makes one, which is no file to read.
func pipe(path string) error { return syscall.Mkfifo(path, 0o600) }
