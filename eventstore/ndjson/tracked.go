package ndjson

import (
	"os"
	"path/filepath"
)

// tracked is a log file of which something was read, or will be.
type tracked struct {
	mark    Mark
	now     entry    // as the last look found it
	file    *os.File // open as long as it is the live log
	first   []byte   // how it began at the last look, as long as nothing of it is stored; of the live log only
	scanned int64    // there is no line feed between the mark and here
}

func (t *tracked) id() identity { return identity{t.mark.Device, t.mark.Inode} }

// wasLive reports whether it had the name of the live log when it was last seen.
func (t *tracked) wasLive() bool { return filepath.Base(t.mark.Path) == LiveLog }

// found notes what a look found. If that is another file, a copy, the open one is given back.
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

// touched reports whether something of it is stored.
func (t *tracked) touched() bool { return t.mark.Offset > 0 || t.mark.Cut > 0 }

// behind is how many bytes are not stored. An unfinished line that was rejected is none of them.
func (t *tracked) behind() int64 { return max(t.now.size-t.mark.Offset-t.mark.Cut, 0) }

// use makes file the open one.
func (t *tracked) use(file *os.File) {
	t.release()
	t.file = file
}

// release gives back the open file.
func (t *tracked) release() {
	if t.file != nil {
		t.file.Close()
		t.file = nil
	}
}
