// Package collaborate has agents ask each other in Discord threads: the tool collaborate, what follows when a request was posted or could not be,
// and the tracker that reminds whoever does not answer. coordination/collaborate and coordination/response decide; what is posted is a delivery
// of coordination/delivery.
package collaborate

import (
	"cmp"
	"context"
	"database/sql"
	"log/slog"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Discord is what a Desk needs of the bots.
type Discord interface {
	// Connected are the bots that are connected, and the agents that they speak for.
	Connected() []collaborate.Bot
	// Known is a channel or thread as the bots have been told of it, without asking.
	Known(id string) (collaborate.Place, bool)
	// Place asks for a channel or thread as one of them; ok is false if there is none that the bot may see.
	Place(ctx context.Context, account, id string) (p collaborate.Place, ok bool, err error)
}

// Log is what a Desk needs of the store, with the projections response, routing, session, run and work in it.
type Log interface {
	Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error)
	View(ctx context.Context, read func(*sql.Tx) error) error
	Head(ctx context.Context) (eventstore.Head, error)
	Wait(ctx context.Context, seq int64) (int64, error)
}

// Options of New. All are required but Discord and Wait.
type Options struct {
	Log     Log
	Discord Discord // nil: there are no bots, and the tool says so
	Config  func() *config.Config
	Now     func() time.Time
	NewID   func() string // a UUID that nobody has had
	Logger  *slog.Logger
	Wait    time.Duration // for what becomes of a request, until the tool answers that it is under way; default 20 s
}

// defaultWait is long enough for a thread and a message, and for a first failure.
const defaultWait = 20 * time.Second

// Desk takes on what agents ask of each other in Discord. Its methods may be called by many goroutines.
type Desk struct{ o Options }

// New makes a Desk.
func New(o Options) *Desk {
	o.Wait = cmp.Or(o.Wait, defaultWait)
	return &Desk{o}
}
