package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// snapshot begins a read transaction in which the read models are at the head of the log. If they are behind, it waits
// until the writer has written them. If they cannot be written, the snapshot has them as they are. The caller closes the
// connection after the transaction.
func (db *DB) snapshot(ctx context.Context) (*sql.Conn, *sql.Tx, eventstore.Mark, error) {
	conn, tx, mark, behind, err := db.begin(ctx)
	for err == nil && behind {
		_, _ = tx.Rollback(), conn.Close() // the writer may need a connection to read what it has to write
		p := db.writer.join()
		if p == nil {
			conn, tx, mark, _, err = db.begin(ctx)
			break
		}
		select {
		case <-p.ready:
			conn, tx, mark, behind, err = db.begin(ctx)
			behind = behind && p.err == nil
		case <-ctx.Done():
			err = ctx.Err()
		}
		db.writer.leave(p)
	}
	return conn, tx, mark, err
}

// begin begins a read transaction, and reports whether its read models are behind.
func (db *DB) begin(ctx context.Context) (conn *sql.Conn, tx *sql.Tx, mark eventstore.Mark, behind bool, err error) {
	if conn, err = db.read.Conn(ctx); err != nil {
		return nil, nil, mark, false, err
	}
	switch {
	case db.beside:
		tx, err = db.snapshotBeside(ctx, conn)
	case db.writer == nil:
		tx, err = conn.BeginTx(ctx, readOnly)
	default:
		tx, mark, behind, err = db.beginMarked(ctx, conn)
	}
	if err != nil {
		_ = conn.Close()
	}
	return conn, tx, mark, behind, err
}

func (db *DB) beginMarked(ctx context.Context, conn *sql.Conn) (tx *sql.Tx, mark eventstore.Mark, behind bool, err error) {
	if tx, err = conn.BeginTx(ctx, readOnly); err != nil {
		return nil, mark, false, err
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

// How often, with which pauses, a reader beside the writer's process looks for a snapshot in which nothing is behind.
const (
	besideLooks = 50
	besidePause = 2 * time.Millisecond
)

const selectBehind = `SELECT h.head, EXISTS (SELECT 1 FROM projections WHERE kind = 'read-model' AND state = 'live' AND seq < h.head)
 FROM (SELECT coalesce(max(seq), 0) AS head FROM events) h`

// snapshotBeside is snapshot without the writer, which is another process: it waits a moment for that to write the read
// models. If that process was killed, it waits once.
func (db *DB) snapshotBeside(ctx context.Context, conn *sql.Conn) (*sql.Tx, error) {
	for n := 1; ; n++ {
		tx, err := conn.BeginTx(ctx, readOnly)
		if err != nil {
			return nil, err
		}
		var head int64
		var behind bool
		if err := tx.QueryRowContext(ctx, selectBehind).Scan(&head, &behind); err != nil || !behind || head == db.left.Load() {
			return tx, nil // what is wrong with the file is for the caller to find
		}
		if n == besideLooks {
			db.left.Store(head)
			return tx, nil
		}
		if err := tx.Rollback(); err != nil {
			return nil, err
		}
		if err := wait.For(ctx, besidePause); err != nil {
			return nil, err
		}
	}
}
