package sqlite

import (
	"io"
	"os"
	"syscall"
	"testing"
)

// ofdSetLock is F_OFD_SETLK of fcntl(2), which package syscall lacks.
const ofdSetLock = 37

// checkpointByte is the byte of the -shm file that SQLite locks during a checkpoint, see "Locks" in its WAL format.
const checkpointByte = 121

// While another process moves pages it is not known how many are left, so the writer is not asked for the rest: all of
// a long WAL, perhaps.
func TestWriterDoesNotMoveWhatAnotherProcessMoves(t *testing.T) {
	t.Parallel()
	db, large := largeLog(t)
	large(512 << 10)
	shm, err := os.OpenFile(db.path+"-shm", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer shm.Close()
	lock := func(kind int16) {
		t.Helper()
		// A lock of the open file, not of the process: it excludes this process's connections as another process would.
		err := syscall.FcntlFlock(shm.Fd(), ofdSetLock, &syscall.Flock_t{Type: kind, Whence: io.SeekStart, Start: checkpointByte, Len: 1})
		if err != nil {
			t.Fatal(err)
		}
	}
	lock(syscall.F_WRLCK)
	db.checks.round()
	if db.checks.nearly.Load() {
		t.Error("the writer is to move pages during a checkpoint of another process")
	}
	lock(syscall.F_UNLCK)
	db.checks.round()
	if !db.checks.nearly.Load() {
		t.Error("the rest is not left to the writer after it")
	}
}
