// Package notify tells people of what agents do, where they have asked to be told: reports in Discord threads, or by a webhook, of what agents say
// to each other, what waits for somebody to agree to it, and what nobody has mended. A Follower reads the log and asks for the posts; what was asked
// for is in the log before it reads on, so that nothing is told twice, and nothing left out.
//
// It reads for each of four sources, with a place in the log of its own that sink.advanced keeps. A source begins with what is appended after
// somebody has asked for it, and where nobody does any more it ends. Events of an imported log are told to nobody.
package notify

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Log is what a Follower needs of the store, with the projections response, routing, plan, task and work in it.
type Log interface {
	Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error)
	Head(ctx context.Context) (eventstore.Head, error)
	Wait(ctx context.Context, seq int64) (int64, error)
	Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error)
	ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Event, error)
	StreamVersion(ctx context.Context, stream string) (int64, error)
}

// Options of New. All but Bots and Buttons are required.
type Options struct {
	Log     Log
	Config  func() *config.Config          // in force
	Bots    func() []collaborate.Bot       // that are connected: none of them is notified of anything
	Buttons func(approvalID string) []byte // components of Discord by which a person decides; nil: it is decided elsewhere
	Now     func() time.Time
	Logger  *slog.Logger
}

// Follower asks for posts about what happens.
type Follower struct{ o Options }

// New makes a Follower.
func New(o Options) *Follower {
	if o.Bots == nil {
		o.Bots = func() []collaborate.Bot { return nil }
	}
	if o.Buttons == nil {
		o.Buttons = func(string) []byte { return nil }
	}
	return &Follower{o}
}

// Run reads the log until ctx ends, and returns nil then. A sink begins with what is appended after it was configured. An error is that of a log
// that is closed; whatever else fails is tried again. Of several Followers at one log each thing is told once.
func (f *Follower) Run(ctx context.Context) error {
	w := newWatch(&f.o)
	for failures := 0; ctx.Err() == nil; {
		err := w.round(ctx)
		switch {
		case err == nil:
			failures = 0
		case ctx.Err() != nil:
		case errors.Is(err, eventstore.ErrClosed):
			return err
		default:
			if failures++; failures == 1 {
				f.o.Logger.Error("people are not told of some things for now", "err", err)
			}
			pause(ctx, retryAfter(failures))
		}
	}
	return nil
}

// maxPause bounds how long to wait before something is tried again.
const maxPause = time.Minute

// retryAfter is how long to wait before something is tried again, for the first time, the second, and so on.
func retryAfter(failures int) time.Duration {
	return min(100*time.Millisecond<<min(failures-1, 10), maxPause)
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
