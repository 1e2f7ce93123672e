package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

// How long Compact tries to empty the WAL, and how long it lets others go on between two attempts.
const (
	emptyTime  = 2 * time.Minute
	emptyPause = 100 * time.Millisecond
)

// Compact writes the file anew, so that nothing of what was blanked, replaced or dropped is left in its free space, and empties the WAL. Appends
// wait meanwhile, about as long as copying the file takes; reads go on. It needs CompactRoom. Interrupting it leaves the file as it was.
// Errors: *HeldError, *eventstore.DiskFullError.
func (db *DB) Compact(ctx context.Context) (err error) {
	if db.writer == nil {
		return errReadOnly
	}
	pool, err := sql.Open("sqlite", fileURL(db.path, url.Values{
		"_busy_timeout": {"1000"}, "_synchronous": {"FULL"}, "_defensive": {"1"},
		"_pragma": {"secure_delete(1)", "temp_store(FILE)", "wal_autocheckpoint(0)", "cache_size(-16000)"},
	}))
	if err != nil {
		return db.translate("compact", err)
	}
	pool.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, pool.Close()) }()
	err = db.writer.submit(ctx, &request{pause: func() error {
		_, err := pool.ExecContext(ctx, "VACUUM")
		return err
	}})
	if err != nil {
		return err
	}
	return db.emptyWAL(ctx, pool)
}

// emptyWAL moves everything from the WAL into the file and cuts it to nothing. A reader that holds an old snapshot keeps it from that.
func (db *DB) emptyWAL(ctx context.Context, pool *sql.DB) error {
	ctx, stop := context.WithTimeoutCause(ctx, emptyTime, &HeldError{Path: db.path})
	defer stop()
	for {
		var busy, pages, moved int64
		err := db.writer.submit(ctx, &request{pause: func() error {
			return pool.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
		}})
		if err == nil && busy == 0 {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		timer := time.NewTimer(emptyPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// CompactRoom is how many bytes Compact needs beside the file, for the WAL, and as many again in TemporaryDir.
func (db *DB) CompactRoom() int64 {
	const margin = 16 << 20
	return size(db.path) + size(db.path+"-wal") + margin
}

// TemporaryDir is where SQLite keeps what it writes for a while.
func TemporaryDir(getenv func(string) string) string {
	for _, dir := range []string{getenv("SQLITE_TMPDIR"), getenv("TMPDIR"), "/var/tmp", "/usr/tmp", "/tmp"} {
		if info, err := os.Stat(dir); dir != "" && err == nil && info.IsDir() {
			return dir
		}
	}
	return os.TempDir()
}

// HeldError says that the WAL could not be emptied: somebody reads the file as it was before.
type HeldError struct{ Path string }

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s: the write-ahead log cannot be emptied: a reader holds an old snapshot", e.Path)
}
func (e *HeldError) Code() string { return "wal_held" }
func (e *HeldError) Hint() string {
	return "end what reads the file for long, such as another program or a backup; it is tried again"
}

var _ eventstore.Coded = (*HeldError)(nil)
