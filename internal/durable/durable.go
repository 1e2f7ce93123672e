// Package durable brings to disk what a file's own sync does not: its name.
package durable

import (
	"errors"
	"os"
	"runtime"
)

// SyncDir brings the names in a directory to disk: those of files that were made, renamed and removed there. Windows has no such call.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
