//go:build linux || darwin

package main

import (
	"fmt"
	"syscall"
)

// mayOpen fails early if processes of ours cannot open as many files as a benchmark needs. The runtime has raised
// the soft limit as far as possible.
func mayOpen(files uint64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if limit.Cur < files {
		return fmt.Errorf("a process may open %d files, the benchmark needs %d: ulimit -n %d", limit.Cur, files, files)
	}
	return nil
}
