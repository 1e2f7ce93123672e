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

// Backup writes a consistent, compact copy of the log to target, which must not exist. Appends continue meanwhile; the
// WAL grows by what they write, because the copy is made from one snapshot. If the file was lost (see Intact), the
// copy is made from what this process still has open; then appends, which fail, wait for it.
func (db *DB) Backup(ctx context.Context, target string) error {
	giveBack, err := db.held.hold()
	if err != nil {
		return err
	}
	defer giveBack()
	if errors.As(db.Intact(), new(*eventstore.LostError)) {
		return db.writer.submit(ctx, &request{pause: func() error {
			return vacuumInto(target, func(unfinished string) error {
				_, err := db.writer.tx.Exec("VACUUM INTO ?", unfinished)
				return err
			})
		}})
	}
	// With the read models at the head of the log, as far as appends allow.
	if err := db.View(ctx, func(*sql.Tx) error { return nil }); err != nil {
		return err
	}
	// Not a reader connection: query_only forbids writing the copy too.
	pool, err := sql.Open("sqlite", fileURL(db.path, url.Values{"mode": {"ro"}, "_busy_timeout": {"5000"}, "_defensive": {"1"}}))
	if err == nil {
		err = errors.Join(vacuumInto(target, copyOf(ctx, pool)), pool.Close())
	}
	if err != nil {
		return db.translate("back up", err)
	}
	return nil
}

// copyOf makes SQLite write a copy of a database.
func copyOf(ctx context.Context, pool *sql.DB) func(target string) error {
	return func(target string) error {
		_, err := pool.ExecContext(ctx, "VACUUM INTO ?", target)
		return err
	}
}

// vacuumInto copies the database to a file that must not exist, with a function that runs VACUUM INTO, the only safe
// way to copy a live file. The copy gets its final name when it is complete and on disk; leftovers of an earlier
// attempt are overwritten.
func vacuumInto(target string, write func(target string) error) error {
	if _, err := os.Lstat(target); err == nil {
		return fmt.Errorf("%s: %w", target, os.ErrExist)
	}
	unfinished := target + ".part"
	if err := os.Remove(unfinished + "-journal"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	copied, err := os.OpenFile(unfinished, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600) // VACUUM INTO accepts an empty file, and keeps its mode
	if err != nil {
		return err
	}
	synced := syncing(copied)
	err = write(unfinished)
	if err = errors.Join(err, synced(), copied.Sync(), copied.Close()); err != nil {
		return errors.Join(err, os.Remove(unfinished))
	}
	return os.Rename(unfinished, target)
}

// syncPause is the pause between two syncs of a copy being written.
const syncPause = 100 * time.Millisecond

// syncing syncs a file repeatedly while another goroutine writes it, until the returned function is called. A single
// sync at the end would write a gigabyte at once, and every commit would wait for it.
func syncing(f *os.File) (stop func() error) {
	ended, done := make(chan struct{}), make(chan error, 1)
	go func() {
		tick := time.NewTicker(syncPause)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				done <- nil
				return
			case <-tick.C:
			}
			if err := f.Sync(); err != nil { // the system reports it once: a later sync may succeed without the lost pages
				done <- fmt.Errorf("sync the copy: %w", err)
				return
			}
		}
	}()
	return func() error {
		close(ended)
		return <-done
	}
}
