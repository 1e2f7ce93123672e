package sqlite

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// Trailing is the log as far as its read models are written. It is for what follows the log and may lag: reading it
// never makes the writer write them. Wait is that of a Paced log.
type Trailing struct {
	Decided
	pace *pace
}

// Trailing returns the log as far as its read models are written. The log must be open for writing.
func (db *DB) Trailing() Trailing { return Trailing{db.Decided(), &pace{}} }

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
	if _, err := t.writer.behind.reached.wait(ctx, seq); err != nil {
		return 0, err
	}
	if err := t.pace.keep(ctx); err != nil {
		return 0, err
	}
	return t.writer.behind.reached.get().Seq, nil
}

// Paced is the log for one that follows it in the background: the first event after a while is told at once, but in a
// busy log Wait returns at most every paceOf, with all that has come until then.
type Paced struct {
	*DB
	pace *pace
}

// Paced returns the log for one follower.
func (db *DB) Paced() Paced { return Paced{db, &pace{}} }

// Wait implements eventstore.Reader.
func (p Paced) Wait(ctx context.Context, seq int64) (int64, error) {
	if _, err := p.DB.Wait(ctx, seq); err != nil {
		return 0, err
	}
	if err := p.pace.keep(ctx); err != nil {
		return 0, err
	}
	head, err := p.Head(ctx)
	return head.Seq, err
}

// paceOf is how often a follower in the background is woken at most. Each time costs it a read and often a sync,
// however few events there are.
const paceOf = 50 * time.Millisecond

// pace keeps the returns of a function apart.
type pace struct{ last atomic.Int64 } // ns since 1970

func (p *pace) keep(ctx context.Context) error {
	if err := wait.For(ctx, min(paceOf-time.Duration(time.Now().UnixNano()-p.last.Load()), paceOf)); err != nil {
		return err
	}
	p.last.Store(time.Now().UnixNano())
	return nil
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
