package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	sqlite3 "modernc.org/sqlite"
	sqlite3lib "modernc.org/sqlite/lib"

	"github.com/pronto-lab/openclawd/eventstore"
)

// translate converts the driver's errors to the types promised by package eventstore.
func (db *DB) translate(doing string, err error) error {
	if err == nil {
		return nil
	}
	if db.closed.Load() {
		return eventstore.ErrClosed
	}
	var coded eventstore.Coded
	if errors.As(err, &coded) {
		return err
	}
	switch primaryCode(err) {
	case sqlite3lib.SQLITE_FULL:
		return &eventstore.DiskFullError{Path: db.path, Err: err}
	case sqlite3lib.SQLITE_IOERR:
		const page = 4096
		if why := limited(db.path, page); why != nil && extendedCode(err) == sqlite3lib.SQLITE_IOERR_WRITE {
			return &eventstore.DiskFullError{Path: db.path, Err: fmt.Errorf("%w: %w", why, err)}
		}
		return db.lostOr(&eventstore.IOError{Path: db.path, Err: err})
	case sqlite3lib.SQLITE_BUSY:
		return &eventstore.BusyError{Held: true, RetryAfter: heldRetry}
	case sqlite3lib.SQLITE_CONSTRAINT:
		if foreign := db.afterHead(); foreign != nil {
			return foreign
		}
	case sqlite3lib.SQLITE_CORRUPT:
		return db.damaged("the database is damaged: "+err.Error(), err,
			"stop openclawd, keep a copy of the file, its -wal and -shm, and restore the newest backup (openclawd export can still read the intact part)")
	case sqlite3lib.SQLITE_NOTADB:
		return db.damaged("this is not a SQLite database", err, "name another file with --db, or restore a backup in its place")
	}
	return fmt.Errorf("%s %s: %w", doing, filepath.Base(db.path), err) // may be shown to clients
}

// heldRetry is the retry delay suggested to a caller that found the file locked by another process: the store has
// already waited.
const heldRetry = time.Second

// damaged returns a corruption error, unless the cause is that the file was lost or its device fails.
func (db *DB) damaged(detail string, err error, hint string) error {
	if why := db.fails(); why != nil {
		return &eventstore.IOError{Path: db.path, Err: why}
	}
	return db.lostOr(&eventstore.CorruptError{Path: db.path, Detail: detail, Err: err, HintText: hint})
}

// lostOr returns err, unless its cause is that the file was lost.
func (db *DB) lostOr(err error) error {
	if lost, is := errors.AsType[*eventstore.LostError](db.custody.check()); is {
		return lost
	}
	return err
}

// fatal reports whether err concerns the whole file, not the statement: such an error must fail the batch, not suspend
// a projection.
func fatal(err error) bool {
	if errors.As(err, new(*eventstore.LostError)) || errors.As(err, new(*eventstore.IOError)) {
		return true
	}
	switch primaryCode(err) {
	case sqlite3lib.SQLITE_FULL, sqlite3lib.SQLITE_IOERR, sqlite3lib.SQLITE_CORRUPT, sqlite3lib.SQLITE_NOMEM, sqlite3lib.SQLITE_NOTADB,
		sqlite3lib.SQLITE_READONLY, sqlite3lib.SQLITE_CANTOPEN, sqlite3lib.SQLITE_BUSY, sqlite3lib.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// Fatal reports whether an error in a transaction concerns the whole file (full, damaged, unreadable) and not just a
// statement.
func (*DB) Fatal(err error) bool { return fatal(err) }

func primaryCode(err error) int { return extendedCode(err) & 0xff }

func extendedCode(err error) int {
	var e *sqlite3.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}
