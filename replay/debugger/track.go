package debugger

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/journal"
	"github.com/pronto-lab/openclawd/replay/asof"
)

// turn is the most steps taken in one transaction.
const turn = 100

// track is tables with a journal of the steps after floor.
type track struct {
	state *asof.State
	floor int64
}

func (t *track) at() int64 { return t.state.Fold.Seq() }

// shows reports whether the journal covers an event, so that its changes can be shown.
func (t *track) shows(seq int64) bool { return seq > t.floor || t.floor == 0 }

// stepsPerFolded is about how many events can be folded into new tables in the time of one step.
const stepsPerFolded = 40

// near reports whether stepping is no more expensive than building new tables.
func (t *track) near(seq, keep int64) bool {
	far := seq - t.at()
	return far <= keep || far <= seq/stepsPerFolded
}

// forward steps forward to seq.
func (t *track) forward(ctx context.Context, log *sqlite.DB, seq int64, tell func(done, total int64)) error {
	for t.at() < seq {
		if err := ctx.Err(); err != nil {
			return err
		}
		events, err := log.Read(ctx, t.at(), int(min(turn, seq-t.at())))
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return ErrEnd
		}
		if err := t.apply(context.WithoutCancel(ctx), events); err != nil {
			return err
		}
		if tell != nil {
			tell(t.at(), seq)
		}
	}
	return nil
}

// apply journals the steps of consecutive events, all or none.
func (t *track) apply(ctx context.Context, events []eventstore.Event) error {
	at := t.at()
	err := t.state.Move(ctx, events[len(events)-1].Seq)
	if err == nil {
		err = t.state.Update(ctx, func(tx eventstore.Tx) error {
			for i := range events {
				e := &events[i]
				if err := journal.Begin(tx, e.Seq); err != nil {
					return err
				}
				if err := t.state.Fold.Step(tx, e); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err == nil {
		return nil
	}
	return errors.Join(err, t.state.Update(ctx, t.state.Fold.Resume), t.state.Move(ctx, at))
}

// rewind undoes steps until seq is the newest that is left.
func (t *track) rewind(ctx context.Context, seq int64) error {
	for t.at() > seq {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := max(seq, t.at()-turn)
		whole := context.WithoutCancel(ctx)
		err := t.state.Update(whole, func(tx eventstore.Tx) error {
			for s := t.at(); s > to; s-- {
				if err := journal.Undo(tx, s); err != nil {
					return err
				}
			}
			return t.state.Fold.Resume(tx)
		})
		if err != nil {
			return err
		}
		if err := t.state.Move(whole, to); err != nil {
			return err
		}
	}
	return nil
}

// forget bounds the journal: it drops the oldest steps, in portions.
func (t *track) forget(ctx context.Context, keep int64) error {
	if t.at()-t.floor < keep+turn {
		return nil
	}
	floor := t.at() - keep
	err := t.state.Update(ctx, func(tx eventstore.Tx) error { return journal.Forget(tx, floor) })
	if err == nil {
		t.floor = floor
	}
	return err
}

// progress of something in the background.
type progress struct{ done, total atomic.Int64 }

func (p *progress) set(done, total int64) {
	p.done.Store(done)
	p.total.Store(total)
}

// wait waits for the track being built, and reports progress from time to time.
func (b *prebuild) wait(ctx context.Context, tell func(done, total int64)) error {
	const often = 100 * time.Millisecond
	ticker := time.NewTicker(often)
	defer ticker.Stop()
	for {
		select {
		case <-b.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			if tell != nil {
				tell(b.tell.done.Load(), b.tell.total.Load())
			}
		}
	}
}
