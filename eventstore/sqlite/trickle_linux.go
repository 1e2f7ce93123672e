package sqlite

import (
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
	if syscall.SyncFileRange(int(f.Fd()), from, bytes, syncWaitBefore|syncWrite|syncWaitAfter) != nil {
		return f.Sync() // the file system cannot do it, or a sync fails too
	}
	return nil
}
