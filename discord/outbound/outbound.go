// Package outbound posts what coordination/delivery has waiting: it is the worker's handler of deliveries, and the only one who posts on behalf of
// the log. Replies makes deliveries of the ends of runs, Announcements of what flows between agents announce.
//
// Each step that was done is an event before the next one is begun, so that whoever goes on after a restart knows how far it has come. What follows
// from a failure is said by coordination/delivery; here it is done, written down, and waited for, by the queue.
package outbound

import (
	"context"
	"log/slog"
	"time"

	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Bots is what a Handler needs of Discord.
type Bots interface {
	Send(ctx context.Context, p discord.Post) (discord.Posted, error)
	StartThread(ctx context.Context, o discord.Opening) (discord.Thread, error)
	FindMessage(ctx context.Context, l discord.Lookup) (p discord.Posted, found bool, err error)
	FindThread(ctx context.Context, l discord.Lookup) (t discord.Thread, found bool, err error)
}

// Log is what a Handler needs of the store.
type Log interface {
	Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error)
	Event(ctx context.Context, seq int64) (eventstore.Event, error)
	ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Event, error)
	Fatal(err error) bool
}

// Then says what follows from the end of a delivery, and is appended with it, at most once for each delivery and outcome. It reads nothing but tx
// and is quick. An error is logged, and the delivery ends without.
type Then func(tx eventstore.Tx, effectID string, d *delivery.Delivery, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error)

// Options of New.
type Options struct {
	Log    Log
	Bots   Bots
	Then   map[string]Then // by purpose
	Now    func() time.Time
	Logger *slog.Logger

	// Ended is told of every delivery that has ended, when that is on disk. It must not wait. nil: nobody is told.
	Ended func(*delivery.Delivery, delivery.State)
}

// Handler posts. It is a worker.Handler and a worker.Refuser.
type Handler struct{ o Options }

// New makes a Handler.
func New(o Options) *Handler { return &Handler{o} }
