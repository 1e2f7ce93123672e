//go:build linux && !arm

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Flags of sync_file_range, as the system's header defines them.
const (
	syncWaitBefore = 1
	syncWrite      = 2
	syncWaitAfter  = 4
)

// writeOut writes a part of a file to disk and waits for it. Unlike a sync it writes nothing else, and needs no commit of
// the file system's journal; so the file still has to be synced.
func writeOut(f *os.File, from, bytes int64) error {
	return rangeOrSync(f, syscall.SyncFileRange(int(f.Fd()), from, bytes, syncWaitBefore|syncWrite|syncWaitAfter))
}

// rangeOrSync syncs the whole file if the file system cannot write a part. Any other error is final: it is reported once,
// and a sync after it would succeed without the lost pages.
func rangeOrSync(f *os.File, err error) error {
	for _, missing := range []error{syscall.ENOSYS, syscall.EINVAL, syscall.ESPIPE, syscall.EOPNOTSUPP} {
		if errors.Is(err, missing) {
			return f.Sync()
		}
	}
	if err != nil {
		return fmt.Errorf("write a part of the file to disk: %w", err)
	}
	return nil
}
