package ndjson

import (
	"os"
	"path/filepath"
)

// tracked is a log file that was read in part, or will be read.
type tracked struct {
	mark    Mark
	now     entry    // from the last check
	file    *os.File // open as long as it is the live log
	first   []byte   // its beginning at the last check, as long as nothing of it is stored; only for the live log
	scanned int64    // there is no line feed between the mark and here
}

func (t *tracked) id() identity { return identity{t.mark.Device, t.mark.Inode} }

// wasLive reports whether it had the name of the live log at the last check.
func (t *tracked) wasLive() bool { return filepath.Base(t.mark.Path) == LiveLog }

// found records the result of a check. If that is another file, a copy, the open one is closed.
func (t *tracked) found(e entry) {
	if t.id() != e.id {
		t.release()
	}
	if t.id() != e.id || e.size < t.scanned {
		t.scanned = 0
	}
	t.now = e
	t.mark.Path, t.mark.Device, t.mark.Inode = e.path, e.id.device, e.id.inode
}

// touched reports whether any of it is stored.
func (t *tracked) touched() bool { return t.mark.Offset > 0 || t.mark.Cut > 0 }

// behind is the number of bytes not stored, without a rejected unfinished line.
func (t *tracked) behind() int64 { return max(t.now.size-t.mark.Offset-t.mark.Cut, 0) }

// use makes file the open one.
func (t *tracked) use(file *os.File) {
	t.release()
	t.file = file
}

// release closes the open file.
func (t *tracked) release() {
	if t.file != nil {
		t.file.Close()
		t.file = nil
	}
}
