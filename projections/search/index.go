package search

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Log is what the index needs of the log.
type Log interface {
	View(ctx context.Context, read func(*sql.Tx) error) error
	Head(ctx context.Context) (eventstore.Head, error)
	Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error)
	// Event returns one event, or eventstore.ErrNotFound.
	Event(ctx context.Context, seq int64) (eventstore.Event, error)
	// Wait blocks until the log's head is at least seq.
	Wait(ctx context.Context, seq int64) (int64, error)
}

// Options of Open. Log, File and Rules are required.
type Options struct {
	Log    Log
	File   File // closed by whoever opened it, after Run has returned
	Rules  coordination.Rules
	Logger *slog.Logger
	// Rest is called between two transactions while there is much to feed, so that others get their turn. Default: none.
	Rest func(ctx context.Context)
}

// Index feeds a search file from a log and lets it be read. It is safe for concurrent use.
type Index struct {
	opts Options

	mu      sync.Mutex
	status  Status
	damaged bool          // found by a reader; the feeder makes the file anew
	again   bool          // the feeder shall make it anew although it is sound
	moved   chan struct{} // closed when status changes
	wake    chan struct{} // has room for one: the feeder has something to mend
}

// Status is how far the index has come.
type Status struct {
	Seq        int64 // events up to here are found
	Head       int64 // of the log, as last seen
	Rebuilding bool  // the file was begun anew and has not come to the head since
	Err        error // why it does not go on; nil: it does
}

// Lag is how many events behind the log the index is.
func (s Status) Lag() int64 { return max(0, s.Head-s.Seq) }

// Open returns an index that can be read. A file that does not fit to the log (made by another version, for another log or for one that
// was longer, or damaged) is begun anew; Run feeds it.
func Open(ctx context.Context, opts Options) (*Index, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Rest == nil {
		opts.Rest = func(context.Context) {}
	}
	x := &Index{opts: opts, moved: make(chan struct{}), wake: make(chan struct{}, 1)}
	if _, err := x.fit(ctx); err != nil {
		return nil, fmt.Errorf("open search file: %w", err)
	}
	return x, nil
}

// View runs read in one read transaction of the search file.
func (x *Index) View(ctx context.Context, read func(*sql.Tx) error) error {
	err := x.opts.File.View(ctx, read)
	if damaged(err) {
		x.mu.Lock()
		x.damaged = true
		x.mu.Unlock()
		select {
		case x.wake <- struct{}{}:
		default:
		}
	}
	return err
}

// Status says how far the index has come.
func (x *Index) Status() Status {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.status
}

// Wait blocks until the index has come to seq.
func (x *Index) Wait(ctx context.Context, seq int64) error {
	for {
		x.mu.Lock()
		at, moved := x.status.Seq, x.moved
		x.mu.Unlock()
		if at >= seq {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Forget takes events out of the index: such as have been redacted since they were fed.
func (x *Index) Forget(ctx context.Context, seqs []int64) error {
	return x.opts.File.Update(ctx, func(tx *sql.Tx) error {
		for _, seq := range seqs {
			for _, statement := range []string{"DELETE FROM texts WHERE rowid = ?", "DELETE FROM docs WHERE seq = ?"} {
				if _, err := tx.ExecContext(ctx, statement, seq); err != nil {
					return fmt.Errorf("forget event %d: %w", seq, err)
				}
			}
		}
		return nil
	})
}

// BeginAnew has the file thrown away and fed from the first event again, so that nothing is left in it of what the log does not hold any more. It
// returns when the old one is gone, which Run sees to; until it is fed, less is found.
func (x *Index) BeginAnew(ctx context.Context) error {
	x.mu.Lock()
	x.again = true
	x.mu.Unlock()
	select {
	case x.wake <- struct{}{}:
	default:
	}
	for {
		x.mu.Lock()
		done, moved := !x.again, x.moved
		x.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// change changes the status and tells those who wait for it.
func (x *Index) change(edit func(*Status)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	edit(&x.status)
	close(x.moved)
	x.moved = make(chan struct{})
}

// fit makes sure that the file belongs to the log, and returns how far it has come.
func (x *Index) fit(ctx context.Context) (at position, err error) {
	ok := false
	err = x.opts.File.View(ctx, func(tx *sql.Tx) (err error) {
		at, ok, err = readPosition(ctx, tx)
		return err
	})
	why := ""
	switch {
	case damaged(err):
		why = err.Error()
	case err != nil:
		return at, err
	case !ok:
		why = "it is new"
	case at.version != version:
		why = "another version made it"
	case at.seq > 0:
		e, err := x.opts.Log.Event(ctx, at.seq)
		if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
			return at, err
		}
		if err != nil || !bytes.Equal(e.Hash[:], at.hash) {
			why = "it is of another log"
		}
	}
	if why != "" {
		return x.restart(ctx, why)
	}
	x.change(func(s *Status) { s.Seq = at.seq })
	return at, nil
}

// restart begins the file anew.
func (x *Index) restart(ctx context.Context, why string) (position, error) {
	if err := x.opts.File.Reset(ctx, setup); err != nil {
		return position{}, fmt.Errorf("begin search file anew: %w", err)
	}
	x.opts.Logger.Info("feeding the search file from the first event", "why", why)
	x.mu.Lock()
	x.damaged, x.again = false, false
	x.mu.Unlock()
	x.change(func(s *Status) { s.Seq, s.Rebuilding = 0, true })
	return position{version: version}, nil
}
