package sqlite

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/eventstore"
)

// snapshot begins a read transaction in which the read models are at the head of the log. If they are behind, it waits
// until the writer has written them: for the running batch at most, not for those that are queued. If they cannot be
// written, the snapshot has them as they are.
func (db *DB) snapshot(ctx context.Context, conn *sql.Conn) (*sql.Tx, eventstore.Mark, error) {
	tx, mark, behind, err := db.begin(ctx, conn)
	for err == nil && behind {
		_ = tx.Rollback()
		p := db.writer.join()
		if p == nil {
			tx, mark, _, err = db.begin(ctx, conn)
			break
		}
		select {
		case <-p.ready:
			tx, mark, behind, err = db.begin(ctx, conn)
			behind = behind && p.err == nil
		case <-ctx.Done():
			err = ctx.Err()
		}
		db.writer.leave(p)
	}
	return tx, mark, err
}

// begin begins a read transaction, and reports whether its read models are behind.
func (db *DB) begin(ctx context.Context, conn *sql.Conn) (tx *sql.Tx, mark eventstore.Mark, behind bool, err error) {
	if tx, err = conn.BeginTx(ctx, readOnly); err != nil || db.writer == nil {
		return tx, mark, false, err
	}
	// Both are read before the snapshot exists: it is at least as new.
	mark = db.Mark()
	shown := db.writer.behind.shown.Load()
	if !db.writer.behind.read.Load() {
		db.writer.behind.read.Store(true)
	}
	var head int64
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM events").Scan(&head); err != nil {
		_ = tx.Rollback()
		return nil, mark, false, err
	}
	return tx, mark.Until(db.Mark()), head > shown, nil
}
