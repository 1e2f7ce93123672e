//go:build unix

package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// What happens to the files of a log that is open is noticed before anything is acknowledged that would be gone, and what the process still has
// open can be saved.
//
// Promise: lost-files
func TestLostDatabaseTakesNoAppend(t *testing.T) {
	t.Parallel()
	const settled, stored = 40, 60
	for name, c := range map[string]struct {
		happens func(t *testing.T, path string)
		says    string
		saved   bool // a backup of what is open has everything
	}{
		"removed":                  {removing(""), "log.db was removed", true},
		"renamed":                  {func(t *testing.T, path string) { rename(t, path, path+".old") }, "log.db was removed or renamed", true},
		"replaced":                 {func(t *testing.T, path string) { rename(t, fillNew(t, 20), path) }, "log.db was replaced by another file", true},
		"without its WAL":          {removing("-wal"), "log.db-wal was removed", true},
		"with another WAL":         {func(t *testing.T, path string) { removing("-wal")(t, path); overwriteWith(t, path+"-wal", nil) }, "log.db-wal was replaced", true},
		"without shared memory":    {removing("-shm"), "log.db-shm was removed", true},
		"cut off":                  {cutting("", 0), "log.db was overwritten or truncated", false},
		"cut off in the middle":    {cutting("", 8192), "log.db was overwritten or truncated", false},
		"its WAL is cut off":       {cutting("-wal", 0), "log.db was overwritten or truncated", false},
		"its WAL loses the newest": {cutting("-wal", 4152), "log.db was overwritten or truncated", false},
		"overwritten by an older copy": {func(t *testing.T, path string) {
			old, err := os.ReadFile(fillNew(t, 20))
			if err != nil {
				t.Fatal(err)
			}
			overwriteWith(t, path, old)
		}, "log.db was overwritten or truncated", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := openNew(t)
			for i := range stored { // something is in each of the files
				mustAppend(t, db, send(i))
				if i == settled {
					alter(t, db.Path(), "PRAGMA wal_checkpoint(TRUNCATE)")
				}
			}
			c.happens(t, db.Path())
			err := db.Intact()
			for i := range 3 {
				if _, refused := db.Append(t.Context(), send(stored+i)); refused == nil {
					t.Fatalf("append %d was acknowledged", i)
				} else {
					err = refused
				}
			}
			lost := wantAs[*eventstore.LostError](t, err)
			if lost.Code() != "database_lost" || lost.Hint() == "" || !strings.Contains(lost.Error(), c.says) {
				t.Errorf("refused with %v, want %q", lost, c.says)
			}
			wantAs[*eventstore.LostError](t, db.Intact())
			wantAs[*eventstore.LostError](t, db.Gauges().Failing)
			saved := filepath.Join(t.TempDir(), "saved.db")
			switch err := db.Backup(t.Context(), saved); {
			case !c.saved && err == nil: // who makes a backup proves it
				copied := open(t, sqlite.Options{Path: saved, ReadOnly: true})
				if proof, err := copied.Verify(t.Context(), false, nil); err == nil && proof.Events == stored {
					t.Error("a backup was made of what is not there")
				}
			case c.saved && err != nil:
				t.Fatalf("save what is open: %v", err)
			case c.saved:
				verify(t, open(t, sqlite.Options{Path: saved, ReadOnly: true}), stored)
			}
		})
	}
}

func removing(end string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		if err := os.Remove(path + end); err != nil {
			t.Fatal(err)
		}
	}
}

func cutting(end string, to int64) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		if err := os.Truncate(path+end, to); err != nil {
			t.Fatal(err)
		}
	}
}

// overwriteWith writes over a file as cp does. The handle stays open: closing it could drop the locks of this process.
func overwriteWith(t *testing.T, path string, text []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
}

// A file that was moved away and back is accepted again.
func TestDatabaseThatIsBackTakesAppends(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	mustAppend(t, db, send(0))
	rename(t, db.Path(), db.Path()+".old")
	_, err := db.Append(t.Context(), send(1))
	wantAs[*eventstore.LostError](t, err)
	rename(t, db.Path()+".old", db.Path())
	mustAppend(t, db, send(2))
	if err := db.Intact(); err != nil {
		t.Error(err)
	}
	verify(t, db, 2)
}

// Under load the file is taken away while appends are being stored: what was acknowledged before is in what is saved, and nothing is after.
//
// Promise: lost-files
func TestDatabaseIsLostUnderLoad(t *testing.T) {
	t.Parallel()
	for name, happens := range map[string]func(*testing.T, string){"removed": removing(""), "its WAL is removed": removing("-wal"), "cut off": cutting("", 0), "its WAL is cut off": cutting("-wal", 0)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := openNew(t)
			var (
				mu    sync.Mutex
				acks  = map[eventstore.ID]bool{}
				first = make(chan struct{})
				once  sync.Once
				all   sync.WaitGroup
			)
			for range 4 {
				all.Go(func() {
					for i := range 100_000 {
						stored, err := db.Append(context.WithoutCancel(t.Context()), send(i))
						if err != nil {
							wantAs[*eventstore.LostError](t, err)
							return
						}
						mu.Lock()
						acks[stored.Events[0].ID] = true
						if len(acks) > 60 {
							once.Do(func() { close(first) })
						}
						mu.Unlock()
					}
					t.Error("everything was acknowledged")
				})
			}
			<-first
			mu.Lock() // no acknowledgement is counted meanwhile
			happens(t, db.Path())
			before := len(acks)
			mu.Unlock()
			all.Wait()
			// Those that had been acknowledged before, but were not counted yet: one for each appender.
			if after := len(acks) - before; after > 4 {
				t.Errorf("%d appends were acknowledged after that", after)
			}
			if strings.Contains(name, "cut") {
				return
			}
			saved := filepath.Join(t.TempDir(), "saved.db")
			if err := db.Backup(t.Context(), saved); err != nil {
				t.Fatal(err)
			}
			copied := open(t, sqlite.Options{Path: saved, ReadOnly: true})
			for id := range acks {
				if _, err := copied.EventByID(t.Context(), id); err != nil {
					t.Fatalf("%s was acknowledged: %v", id, err)
				}
			}
		})
	}
}

// Closing a log whose file was replaced writes nothing into what lies there now, and removes nothing.
func TestClosingALostDatabaseTouchesNothing(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Now: atEpoch})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		mustAppend(t, db, send(i))
	}
	mine := map[string][]byte{"": []byte("mine"), "-wal": []byte("my own"), "-shm": []byte("and mine")}
	for end, text := range mine {
		removing(end)(t, db.Path())
		overwriteWith(t, db.Path()+end, text)
	}
	closeLog(t, db)
	for end, text := range mine {
		if got, err := os.ReadFile(db.Path() + end); err != nil || string(got) != string(text) {
			t.Errorf("%s is %q, %v", end, got, err)
		}
	}
}

// Where nothing but the WAL was removed, ending the server saves what was in it.
func TestClosingSavesARemovedWAL(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Now: atEpoch})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		mustAppend(t, db, send(i))
	}
	removing("-wal")(t, db.Path())
	_, err = db.Append(t.Context(), send(5))
	wantAs[*eventstore.LostError](t, err)
	closeLog(t, db)
	verify(t, open(t, sqlite.Options{Path: db.Path()}), 5)
}

// Another program may move what is in the WAL to the file, and cut the WAL: nothing is lost by that.
func TestCheckpointsOfOthersLoseNothing(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	for i := range 40 {
		mustAppend(t, db, send(i))
		if i%4 == 0 {
			alter(t, db.Path(), "PRAGMA wal_checkpoint(TRUNCATE)")
		}
	}
	if err := db.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, db, send(40))
	verify(t, db, 41)
}

// A file has one writer, under whatever name it is opened and whatever has become of the files beside it.
//
// Promise: one-writer
func TestSecondWriterIsRefusedByTheFileItself(t *testing.T) {
	t.Parallel()
	path := fillNew(t, 3)
	holdOpen(t, path)
	removing(".lock")(t, path)
	_, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	wantAs[*eventstore.LockedError](t, err)

	link := filepath.Join(filepath.Dir(path), "copy.db")
	if err := os.Link(path, link); err != nil {
		t.Fatal(err)
	}
	_, err = sqlite.Open(t.Context(), sqlite.Options{Path: link})
	if !errors.As(err, new(*eventstore.LockedError)) {
		t.Errorf("a hard link: %v", err)
	}
}

// A file with two names is refused: beside one of them lies no WAL.
//
// Promise: one-writer
func TestHardLinkedFileIsRefused(t *testing.T) {
	t.Parallel()
	path := fillNew(t, 3)
	link := filepath.Join(t.TempDir(), "copy.db")
	if err := os.Link(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		_, err := sqlite.Open(t.Context(), sqlite.Options{Path: name})
		linked := wantAs[*eventstore.LinkedError](t, err)
		if linked.Names != 2 || linked.Code() != "hard_linked" || linked.Hint() == "" {
			t.Errorf("refused with %+v", linked)
		}
	}
	verify(t, open(t, sqlite.Options{Path: path, ReadOnly: true}), 3)
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	db := open(t, sqlite.Options{Path: path})
	verify(t, db, 3)
	if err := os.Link(path, link); err != nil { // while it is open
		t.Fatal(err)
	}
	mustAppend(t, db, send(3))
	if names := db.Names(); names != 2 {
		t.Errorf("it has %d names", names)
	}
}

// Close waits for readers: once it has returned the file is neither open nor created again.
func TestCloseWaitsForReaders(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.db")
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, db, send(0))
	reading, goOn, closed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var readers sync.WaitGroup
	readers.Go(func() {
		err := db.View(context.WithoutCancel(t.Context()), readWhile(reading, goOn))
		if err != nil {
			t.Error(err)
		}
	})
	<-reading
	go func() { closed <- db.Close() }()
	for db.View(t.Context(), readNothing) == nil { // until it is closing
	}
	select {
	case <-closed:
		t.Error("the log is closed while it is read")
	default:
	}
	close(goOn)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	readers.Wait()
	for _, end := range []string{"-wal", "-shm"} {
		if _, err := os.Lstat(path + end); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", end, err)
		}
	}
}

func readNothing(*sql.Tx) error { return nil }

// readWhile reads, says so, and holds its snapshot until it may go on.
func readWhile(reading chan<- struct{}, goOn <-chan struct{}) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		var n int
		err := tx.QueryRow("SELECT count(*) FROM events").Scan(&n)
		close(reading)
		<-goOn
		return err
	}
}

// Another process that holds the write lock is waited for, and then reported without the file's location.
func TestWriteLockOfAnotherProcessIsBusy(t *testing.T) {
	t.Parallel()
	db := open(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Now: atEpoch, LockWait: 50 * time.Millisecond})
	mustAppend(t, db, send(0))
	other, err := sqlite.OpenPlain(db.Path(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	held, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Append(t.Context(), send(1))
	busy := wantAs[*eventstore.BusyError](t, err)
	if !busy.Held || busy.RetryAfter <= 0 || strings.Contains(busy.Error()+busy.Hint(), "log.db") {
		t.Errorf("refused with %+v: %v", busy, busy)
	}
	if err := held.Rollback(); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, db, send(1))
	verify(t, db, 2)
}

// An event of another program's, where the next one of ours belongs, is named, with the way out: the log without it.
func TestForeignEventIsNamed(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	for i := range 5 {
		mustAppend(t, db, send(i))
	}
	if err := db.CheckEnd(t.Context()); err != nil {
		t.Fatal(err)
	}
	alter(t, db.Path(), `INSERT INTO events SELECT 6, randomblob(16), stream_id, 99, type, ver, agent_id, ts, recorded_at, correlation_id, causation_id, actor,
 data, original, salt, data_hash, hash FROM events WHERE seq = 5`)
	for range 2 {
		_, err := db.Append(t.Context(), send(5))
		foreign := wantAs[*eventstore.ForeignError](t, err)
		if foreign.Seq != 6 || !strings.Contains(foreign.Hint(), "--until 5") {
			t.Errorf("refused with %v (%s)", foreign, foreign.Hint())
		}
	}
	foreign := wantAs[*eventstore.ForeignError](t, open(t, sqlite.Options{Path: db.Path(), ReadOnly: true}).CheckEnd(t.Context()))
	if foreign.Seq != 6 {
		t.Errorf("found %v", foreign)
	}
}
