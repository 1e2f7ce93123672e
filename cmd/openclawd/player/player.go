package player

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/past"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// Options of Open. Log and Rules are required.
type Options struct {
	Log    *sqlite.DB // read; may be in use
	Dir    string     // for the scratch file; "": the system's temporary directory
	Rules  coordination.Rules
	Logger *slog.Logger

	From, To int64         // the first and the last event that happens again
	Speed    float64       // how much faster than it was recorded; 0: as fast as it goes
	MaxPause time.Duration // between two events, as it is played; 0: as long as it was
}

// RangeError says why events cannot be played.
type RangeError struct{ From, To, Head int64 }

func (e *RangeError) Error() string {
	return fmt.Sprintf("events %d to %d are no range of a log that ends at event %d", e.From, e.To, e.Head)
}
func (e *RangeError) Code() string { return "no_such_range" }
func (e *RangeError) Hint() string { return "give --from at or before --to, and both within the log" }

// Player is the log up to an event that moves on, with its tables. It is safe for concurrent use; Run is called once.
type Player struct {
	opts  Options
	state *past.State

	// Whoever reads holds moving for reading, so that tables and log always end at one event.
	moving sync.RWMutex

	own bool

	mu     sync.Mutex
	head   eventstore.Head
	now    time.Time     // when the event at head was recorded
	next   chan struct{} // closed when head changes
	config *config.Config
}

// Open makes the tables as they stood before From. tell may be nil. Errors: *RangeError, those of past.Open.
func Open(ctx context.Context, opts Options, tell func(done, total int64)) (*Player, error) {
	head, err := opts.Log.Head(ctx)
	if err != nil {
		return nil, err
	}
	if opts.From < 1 || opts.To < opts.From || opts.To > head.Seq {
		return nil, &RangeError{opts.From, opts.To, head.Seq}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Player{opts: opts, next: make(chan struct{})}
	begins, err := opts.Log.Event(ctx, opts.From)
	if err != nil {
		return nil, err
	}
	p.now = recorded(&begins)
	if opts.From > 1 {
		before, err := opts.Log.Event(ctx, opts.From-1)
		if err != nil {
			return nil, err
		}
		p.head, p.now = eventstore.Head{Seq: before.Seq, Hash: before.Hash}, recorded(&before)
	}
	if err := p.settle(ctx); err != nil {
		return nil, err
	}
	p.state, err = past.Open(ctx, past.Options{Log: opts.Log, Dir: opts.Dir, Rules: opts.Rules, Logger: opts.Logger}, opts.From-1, tell)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func recorded(e *eventstore.Event) time.Time { return time.UnixMilli(e.RecordedAt) }

// Close gives the file back. Nobody reads any more, and Run has ended.
func (p *Player) Close() error { return p.state.Close() }

// Now is when the event was recorded up to which the log reaches; before the first one, when that was.
func (p *Player) Now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// Head implements monitor.Store.
func (p *Player) Head(context.Context) (eventstore.Head, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.head, nil
}

// Wait implements monitor.Store. What lies after the range never comes: it waits for that until ctx ends.
func (p *Player) Wait(ctx context.Context, seq int64) (int64, error) {
	for {
		p.mu.Lock()
		at, next := p.head.Seq, p.next
		p.mu.Unlock()
		if at >= seq {
			return at, nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// View implements monitor.Store. What it reads is of one event. It must not be called within itself.
func (p *Player) View(ctx context.Context, read func(*sql.Tx) error) error {
	p.moving.RLock()
	defer p.moving.RUnlock()
	return p.state.View(ctx, read)
}

// EventsIn implements monitor.Store. Payloads that lie in archives come along.
func (p *Player) EventsIn(ctx context.Context, tx *sql.Tx, seqs []int64) ([]eventstore.Event, error) {
	return p.opts.Log.EventsIn(ctx, tx, seqs)
}

// Read is that of eventstore.Reader: what has not happened yet is not there.
func (p *Player) Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error) {
	head, err := p.Head(ctx)
	if err != nil || after >= head.Seq {
		return nil, err
	}
	return p.opts.Log.Read(ctx, after, int(min(int64(limit), head.Seq-max(after, 0))))
}

// Event likewise.
func (p *Player) Event(ctx context.Context, seq int64) (eventstore.Event, error) {
	head, err := p.Head(ctx)
	if err == nil && seq > head.Seq {
		err = fmt.Errorf("event %d: %w", seq, eventstore.ErrNotFound)
	}
	if err != nil {
		return eventstore.Event{}, err
	}
	return p.opts.Log.Event(ctx, seq)
}

// Append refuses: the error is an *eventstore.PastError.
func (p *Player) Append(context.Context, ...eventstore.StreamAppend) (eventstore.Result, error) {
	head, err := p.Head(context.Background())
	return eventstore.Result{}, errors.Join(err, &eventstore.PastError{Seq: head.Seq})
}

// move folds events that follow, and lets everybody see them at once.
func (p *Player) move(ctx context.Context, events []eventstore.Event) error {
	last := &events[len(events)-1]
	if err := p.fold(ctx, events); err != nil {
		return fmt.Errorf("play up to event %d: %w", last.Seq, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range events {
		if c := configured(&events[i]); c != nil {
			p.config = c
		}
	}
	p.head, p.now = eventstore.Head{Seq: last.Seq, Hash: last.Hash}, recorded(last)
	close(p.next)
	p.next = make(chan struct{})
	return nil
}

func (p *Player) fold(ctx context.Context, events []eventstore.Event) error {
	p.moving.Lock()
	defer p.moving.Unlock()
	if err := p.state.Move(ctx, events[len(events)-1].Seq); err != nil {
		return err
	}
	return p.state.Update(ctx, func(tx eventstore.Tx) error {
		for i := range events {
			if err := p.state.Fold.Step(tx, &events[i]); err != nil {
				return err
			}
		}
		return nil
	})
}
