package sqlite

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Trailing is the log as far as its read models are written. It is for what follows the log and may lag: reading it
// never makes the writer write them.
type Trailing struct{ Decided }

// Trailing returns the log as far as its read models are written. The log must be open for writing.
func (db *DB) Trailing() Trailing { return Trailing{db.Decided()} }

// Head returns the event up to which the read models are written, without its hash.
func (t Trailing) Head(context.Context) (eventstore.Head, error) {
	if t.closed.Load() {
		return eventstore.Head{}, eventstore.ErrClosed
	}
	return t.writer.behind.reached.get(), nil
}

// Wait blocks until the read models are written up to seq, and returns up to where they are.
func (t Trailing) Wait(ctx context.Context, seq int64) (int64, error) {
	if t.closed.Load() {
		return 0, eventstore.ErrClosed
	}
	return t.writer.behind.reached.wait(ctx, seq)
}

// Decided is the log for what reads decision tables only, such as what performs work: reading it never makes the writer
// write read models.
type Decided struct{ *DB }

// Decided returns the log for what reads decision tables only.
func (db *DB) Decided() Decided { return Decided{db} }

// View is ViewCommitted.
func (d Decided) View(ctx context.Context, read func(*sql.Tx) error) error {
	return d.ViewCommitted(ctx, read)
}
