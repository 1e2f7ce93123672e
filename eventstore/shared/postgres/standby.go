package postgres

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pronto-lab/openclawd/eventstore/shared"
)

// What a commit with a synchronous standby promises: it returns when the standby has it. But a commit whose client gives
// up waiting, or which an operator cancels, becomes visible on the primary without that. So a record that is found there
// proves nothing, and one that was stored with a warning neither.

// warnings are those of connections.
type warnings struct{ of sync.Map }

func (w *warnings) note(conn *pgconn.PgConn, n *pgconn.Notice) {
	if n.SeverityUnlocalized == "WARNING" {
		w.of.Store(conn, true)
	}
}

// take reports whether a connection was warned since it was asked last.
func (w *warnings) take(conn *pgconn.PgConn) bool {
	_, warned := w.of.LoadAndDelete(conn)
	return warned
}

// errWarned is the answer to a record that was stored with a warning.
var errWarned = errors.New("the record was stored with a warning of the database server")

// barrier returns once everything that is visible is as durable as what is acknowledged: a commit waits for the standby
// to have all of the WAL before it.
func (l *Log) barrier(ctx context.Context) error {
	conn, err := l.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	l.warnings.take(conn.Conn().PgConn())
	if _, err := conn.Exec(ctx, "SELECT pg_logical_emit_message(true, 'openclawd', '')"); err != nil {
		return err
	}
	if l.warnings.take(conn.Conn().PgConn()) {
		return errWarned
	}
	return nil
}

// Read implements shared.Transport, for one try. What it returns is acknowledged, for Deliver.
func (l transport) Read(ctx context.Context, after int64, limit int) ([]shared.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*l.opts.Attempt)
	defer cancel()
	found, err := l.Log.Read(ctx, after, limit)
	if err == nil && len(found) > 0 {
		err = l.barrier(ctx)
	}
	return found, err
}
