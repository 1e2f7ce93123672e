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

// Log is the part of the log that the index uses.
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
	File   File // closed by the caller of Open, after Run has returned
	Rules  coordination.Rules
	Logger *slog.Logger
	// Rest is called between two transactions while there is much to feed, so that other work gets its turn. Default:
	// none.
	Rest func(ctx context.Context)
}

// Index feeds a search file from a log and makes it searchable. It is safe for concurrent use.
type Index struct {
	opts Options

	mu      sync.Mutex
	status  Status
	damaged bool          // found by a reader; the feeder rebuilds the file
	again   bool          // the feeder must rebuild it although it is valid
	moved   chan struct{} // closed when status changes
	wake    chan struct{} // has room for one: the feeder has something to repair
}

// Status is the progress of the index.
type Status struct {
	Seq        int64 // events up to here are found
	Head       int64 // of the log, as last seen
	Rebuilding bool  // the file was rebuilt and has not reached the head since
	Err        error // why feeding has stopped; nil if it has not
}

// Lag is how many events the index is behind the log.
func (s Status) Lag() int64 { return max(0, s.Head-s.Seq) }

// Open returns a readable index. A file that does not match the log (written by another version, for another or a
// longer log, or damaged) is rebuilt; Run feeds it.
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
	head, err := opts.Log.Head(ctx)
	if err != nil {
		return nil, fmt.Errorf("open search file: %w", err)
	}
	x.status.Head = max(x.status.Seq, head.Seq)
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

// Status returns the progress of the index.
func (x *Index) Status() Status {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.status
}

// Wait blocks until the index has reached seq.
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

// Forget removes events from the index, such as those redacted since they were fed.
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

// Rebuild discards the file and feeds it from the first event, so that it contains nothing that the log no longer
// has. It returns when Run has discarded the old one; until the file is fed, results are incomplete.
func (x *Index) Rebuild(ctx context.Context) error {
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

// change changes the status and notifies its waiters.
func (x *Index) change(edit func(*Status)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	edit(&x.status)
	close(x.moved)
	x.moved = make(chan struct{})
}

// fit makes sure that the file belongs to the log, and returns how far it was fed.
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
		why = "the file is new"
	case at.version != version:
		why = "it was written by another version"
	case at.seq > 0:
		e, err := x.opts.Log.Event(ctx, at.seq)
		if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
			return at, err
		}
		if err != nil || !bytes.Equal(e.Hash[:], at.hash) {
			why = "it belongs to another log"
		}
	}
	if why != "" {
		return x.restart(ctx, why)
	}
	x.change(func(s *Status) { s.Seq = at.seq })
	return at, nil
}

// restart rebuilds the file from the first event.
func (x *Index) restart(ctx context.Context, why string) (position, error) {
	if err := x.opts.File.Reset(ctx, setup); err != nil {
		return position{}, fmt.Errorf("rebuild search file: %w", err)
	}
	x.opts.Logger.Info("rebuilding the search file from the first event", "why", why)
	x.mu.Lock()
	x.damaged, x.again = false, false
	x.mu.Unlock()
	x.change(func(s *Status) { s.Seq, s.Rebuilding = 0, true })
	return position{version: version}, nil
}
