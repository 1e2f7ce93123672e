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
	"github.com/pronto-lab/openclawd/internal/wait"
)

// How long Compact tries to empty the WAL, and how long it lets others work between two attempts.
const (
	emptyTime  = 2 * time.Minute
	emptyPause = 100 * time.Millisecond
)

// Compact rewrites the file, so that its free space contains nothing that was blanked, replaced or dropped, and
// empties the WAL. Appends wait meanwhile, about as long as copying the file takes; reads continue. It needs
// CompactRoom. Interrupting it leaves the file unchanged. Errors: *HeldError, *eventstore.DiskFullError.
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

// emptyWAL moves the whole WAL into the file and truncates it. A reader that holds an old snapshot prevents it.
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
		if err := wait.For(ctx, emptyPause); err != nil {
			return err
		}
	}
}

// CompactRoom is the number of bytes that Compact needs beside the file, for the WAL, and again in TemporaryDir.
func (db *DB) CompactRoom() int64 {
	const margin = 16 << 20
	return size(db.path) + size(db.path+"-wal") + margin
}

// TemporaryDir is the directory of SQLite's temporary files.
func TemporaryDir(getenv func(string) string) string {
	for _, dir := range []string{getenv("SQLITE_TMPDIR"), getenv("TMPDIR"), "/var/tmp", "/usr/tmp", "/tmp"} {
		if info, err := os.Stat(dir); dir != "" && err == nil && info.IsDir() {
			return dir
		}
	}
	return os.TempDir()
}

// HeldError says that the WAL could not be emptied because a reader holds an old snapshot.
type HeldError struct{ Path string }

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s: the write-ahead log cannot be emptied: a reader holds an old snapshot", e.Path)
}
func (e *HeldError) Code() string { return "wal_held" }
func (e *HeldError) Hint() string {
	return "stop long-running readers of the file, such as another program or a backup; compaction will be retried"
}

var _ eventstore.Coded = (*HeldError)(nil)
