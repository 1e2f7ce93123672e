package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"

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
			return vacuumInto(ctx, target, func(unfinished string) error {
				_, err := db.writer.tx.Exec("VACUUM INTO ?", unfinished)
				return err
			})
		}})
	}
	// With the read models at the head of the log, as far as appends allow.
	if err := db.View(ctx, func(*sql.Tx) error { return nil }); err != nil {
		return err
	}
	// Not a reader connection: query_only forbids writing the copy too. SQLite syncs no copy, which would be in one go.
	pool, err := sql.Open("sqlite", fileURL(db.path, url.Values{"mode": {"ro"}, "_busy_timeout": {"5000"}, "_defensive": {"1"}, "_synchronous": {"OFF"}}))
	if err == nil {
		err = errors.Join(vacuumInto(ctx, target, copyOf(ctx, pool)), pool.Close())
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
func vacuumInto(ctx context.Context, target string, write func(target string) error) error {
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
	trickling, abandon := context.WithCancel(ctx)
	defer abandon()
	trickled := trickle(trickling, copied)
	if err = write(unfinished); err == nil {
		err = errors.Join(trickled(), copied.Sync())
	} else {
		abandon()
		_ = trickled()
	}
	if err = errors.Join(err, copied.Close()); err != nil {
		return errors.Join(err, os.Remove(unfinished))
	}
	return os.Rename(unfinished, target)
}
