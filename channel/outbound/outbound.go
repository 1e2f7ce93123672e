// Package outbound posts the deliveries of coordination/delivery: it is the worker's handler for deliveries, and the
// only one that posts on behalf of the log. Replies creates deliveries for the ends of runs, Announcements for
// announcements of flows between agents.
//
// Each completed step is recorded as an event before the next one starts, so that a restart knows the progress.
// coordination/delivery decides what follows from a failure; this package executes and records it, and the queue does
// the waiting.
package outbound

import (
	"context"
	"log/slog"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Bots is the part of a channel that a Handler needs.
type Bots interface {
	Send(ctx context.Context, p channel.Post) (channel.Posted, error)
	StartThread(ctx context.Context, o channel.Opening) (channel.Thread, error)
	FindMessage(ctx context.Context, l channel.Lookup) (p channel.Posted, found bool, err error)
	FindThread(ctx context.Context, l channel.Lookup) (t channel.Thread, found bool, err error)
}

// Log is the part of the store that a Handler needs.
type Log interface {
	eventstore.Decider
	Event(ctx context.Context, seq int64) (eventstore.Event, error)
	ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Event, error)
	Fatal(err error) bool
}

// Then returns the consequences of the end of a delivery, which are appended with it, at most once per delivery and
// outcome. It reads only from tx and is fast. An error is logged, and the delivery ends without consequences.
type Then func(tx eventstore.Tx, effectID string, d *delivery.Delivery, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error)

// Options of New.
type Options struct {
	Log    Log
	Bots   Bots
	Then   map[string]Then // by purpose
	Now    func() time.Time
	Logger *slog.Logger

	// File reads a stored file by the SHA-256 of its content; nil if no delivery has files.
	File func(sha256 string) ([]byte, error)

	// Ended is called for every ended delivery after it is on disk. It must not block. May be nil.
	Ended func(*delivery.Delivery, delivery.State)
}

// Handler posts deliveries. It is a worker.Handler and a worker.Refuser.
type Handler struct{ o Options }

// New returns a Handler.
func New(o Options) *Handler { return &Handler{o} }
