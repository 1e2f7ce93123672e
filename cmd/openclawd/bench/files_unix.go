//go:build linux || darwin

package bench

import (
	"fmt"
	"syscall"
)

// mayOpen reports in time that a process of ours cannot have as many files open as a benchmark takes. The runtime has raised the limit as
// far as it may be.
func mayOpen(files uint64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if limit.Cur < files {
		return fmt.Errorf("a process may have %d files open, and this takes %d: ulimit -n %d", limit.Cur, files, files)
	}
	return nil
}
