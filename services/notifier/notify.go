// Package notifier reports to people, in the channels or by a webhook, what agents say to each other, what waits
// for approval, and problems that only people can resolve. A Follower reads the log and requests the posts; a request
// is in the log before it reads on, so that nothing is reported twice or left out.
//
// It reads for several sources, two of them for each channel; sink.advanced events store their positions. A source starts with the events
// appended after it was configured, and stops when it is not configured any more. Events of an imported log are not
// reported.
package notifier

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/backoff"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// Log is the part of the store that is used here, with the projections responses, routing, plans, tasks and work.
type Log interface {
	eventstore.Decider
	Head(ctx context.Context) (eventstore.Head, error)
	Wait(ctx context.Context, seq int64) (int64, error)
	Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error)
	ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Event, error)
	StreamVersion(ctx context.Context, stream string) (int64, error)
}

// Options of New. All but Bots and Buttons are required.
type Options struct {
	Log    Log
	Config func() *config.Config                  // in force
	Bots   func(channel string) []collaborate.Bot // connected bots of a channel, which are never mentioned
	// Buttons are those of a channel with which a person decides, or only rejects; nil: decisions are made elsewhere.
	Buttons func(channel, approvalID string, mayApprove bool) []byte
	Now     func() time.Time
	Logger  *slog.Logger
}

// Follower requests posts about events.
type Follower struct{ o Options }

// New returns a Follower.
func New(o Options) *Follower {
	if o.Bots == nil {
		o.Bots = func(string) []collaborate.Bot { return nil }
	}
	if o.Buttons == nil {
		o.Buttons = func(string, string, bool) []byte { return nil }
	}
	return &Follower{o}
}

// Run reads the log until ctx ends; then it returns nil. It returns an error only when the log is closed; other errors are retried.
// Several Followers of one log report each thing once.
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
				f.o.Logger.Error("cannot notify people of some events; will retry", "err", err)
			}
			_ = wait.For(ctx, retries.After(failures))
		}
	}
	return nil
}

var retries = backoff.Backoff{First: 100 * time.Millisecond, Most: time.Minute}
