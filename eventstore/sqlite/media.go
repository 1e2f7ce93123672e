package sqlite

import (
	"context"
	"net/url"
	"os"

	sqlite3lib "modernc.org/sqlite/lib"
)

// openToRead opens the readers of a log without a writer in this process. Readers share memory in a file beside the
// log; if that cannot be created, the log is opened as immutable, provided that no process has it open and the WAL is
// empty.
func (db *DB) openToRead(ctx context.Context) error {
	db.beside = true
	err := db.openReaders()
	if err == nil {
		err = db.checkSound(ctx, db.read)
	}
	if primaryCode(err) != sqlite3lib.SQLITE_CANTOPEN || !db.atRest() {
		return err
	}
	db.unchanging = true
	if err := db.read.Close(); err != nil {
		return err
	}
	if err := db.openReaders(); err != nil {
		return err
	}
	return db.checkSound(ctx, db.read)
}

// atRest reports whether there is no WAL or journal beside the file.
func (db *DB) atRest() bool {
	_, err := os.Lstat(db.path + "-shm")
	return err != nil && size(db.path+"-wal") == 0
}

// readURL is the file's read-only URL, with further settings of the connection.
func (db *DB) readURL(settings url.Values) string {
	if settings == nil {
		settings = url.Values{}
	}
	settings.Set("mode", "ro")
	if db.unchanging {
		settings.Set("immutable", "1")
	}
	return fileURL(db.path, settings)
}
