package playback

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/replay/asof"
)

// Options configures Open. Log and Rules are required.
type Options struct {
	Log    *sqlite.DB // only read; may be in use
	Dir    string     // for the scratch file; "": the system's temporary directory
	Rules  coordination.Rules
	Logger *slog.Logger

	From, To int64         // first and last event to play
	Speed    float64       // factor over the recorded pace; 0: without pauses
	MaxPause time.Duration // longest pause between two events, as played; 0: no limit
}

// RangeError says why events cannot be played.
type RangeError struct{ From, To, Head int64 }

func (e *RangeError) Error() string {
	return fmt.Sprintf("cannot play events %d to %d of a log that ends at event %d", e.From, e.To, e.Head)
}
func (e *RangeError) Code() string { return "no_such_range" }
func (e *RangeError) Hint() string {
	return "give a --from that is not after --to, both within the log"
}

// Player is the log up to a moving event, with its tables. It is safe for concurrent use; Run is called once.
type Player struct {
	opts  Options
	state *asof.State

	// Readers hold moving for reading, so that tables and log always end at the same event.
	moving sync.RWMutex

	own bool

	mu     sync.Mutex
	head   eventstore.Head
	now    time.Time     // when the event at head was recorded
	next   chan struct{} // closed when head changes
	config *config.Config
}

// Open builds the tables as of the event before From. tell may be nil. Errors: *RangeError, those of asof.Open.
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
	p.state, err = asof.Open(ctx, asof.Options{Log: opts.Log, Dir: opts.Dir, Rules: opts.Rules, Logger: opts.Logger, Kept: asof.Dir(opts.Log.Path())}, opts.From-1, tell)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func recorded(e *eventstore.Event) time.Time { return time.UnixMilli(e.RecordedAt) }

// Close removes the file. It is called after Run and after all reads.
func (p *Player) Close() error { return p.state.Close() }

// Now returns when the current event was recorded; before the first one, when that one was.
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

// Mark implements monitor.Store. The state is unknown, because it moves without commits.
func (p *Player) Mark() eventstore.Mark { return eventstore.Mark{} }

// Wait implements monitor.Store. For events after the range it waits until ctx ends.
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

// View implements monitor.Store. All that it reads is as of one event. It must not be called within itself.
func (p *Player) View(ctx context.Context, read func(*sql.Tx) error) error {
	p.moving.RLock()
	defer p.moving.RUnlock()
	return p.state.View(ctx, read)
}

// ViewMarked implements monitor.Store.
func (p *Player) ViewMarked(ctx context.Context, read func(*sql.Tx, eventstore.Mark) error) error {
	return p.View(ctx, func(tx *sql.Tx) error { return read(tx, p.Mark()) })
}

// EventsIn implements monitor.Store. It includes payloads from archives.
func (p *Player) EventsIn(ctx context.Context, tx *sql.Tx, seqs []int64) ([]eventstore.Event, error) {
	return p.opts.Log.EventsIn(ctx, tx, seqs)
}

// Read implements eventstore.Reader: events that have not happened yet are not there.
func (p *Player) Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error) {
	head, err := p.Head(ctx)
	if err != nil || after >= head.Seq {
		return nil, err
	}
	return p.opts.Log.Read(ctx, after, int(min(int64(limit), head.Seq-max(after, 0))))
}

// Event implements eventstore.Reader in the same way.
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

// Append always fails with an *eventstore.PastError.
func (p *Player) Append(context.Context, ...eventstore.StreamAppend) (eventstore.Result, error) {
	head, err := p.Head(context.Background())
	return eventstore.Result{}, errors.Join(err, &eventstore.PastError{Seq: head.Seq})
}

// advance folds consecutive events and makes them visible to all readers at once.
func (p *Player) advance(ctx context.Context, events []eventstore.Event) error {
	last := &events[len(events)-1]
	if err := p.fold(ctx, events); err != nil {
		return fmt.Errorf("play up to event %d: %w", last.Seq, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range events {
		if c := configIn(&events[i]); c != nil {
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
