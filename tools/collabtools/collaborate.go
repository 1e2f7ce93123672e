// Package collabtools lets agents ask each other in Discord threads: the tool collaborate, the consequences of a request that was or
// could not be posted, and the tracker that reminds agents that do not answer. coordination/collaborate and coordination/response
// decide; posts are deliveries of coordination/delivery.
package collabtools

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

// Discord is the part of the bots that is used here.
type Discord interface {
	// Connected returns the connected bots and the agents that they speak for.
	Connected() []collaborate.Bot
	// Known returns a channel or thread as the bots have received it, without a request.
	Known(id string) (collaborate.Place, bool)
	// Place fetches a channel or thread as one of the bots; ok is false if the bot can see none.
	Place(ctx context.Context, account, id string) (p collaborate.Place, ok bool, err error)
}

// Log is the part of the store that is used here, with the projections responses, routing, sessions, runs and work.
type Log interface {
	eventstore.Decider
	View(ctx context.Context, read func(*sql.Tx) error) error
	Head(ctx context.Context) (eventstore.Head, error)
	Wait(ctx context.Context, seq int64) (int64, error)
}

// Options of New. All but Discord and Wait are required.
type Options struct {
	Log     Log
	Discord Discord // nil: no bots, which the tool reports
	Config  func() *config.Config
	Now     func() time.Time
	NewID   func() string // returns a new UUID
	Logger  *slog.Logger
	Wait    time.Duration // for the outcome of a request, before the tool answers that it is under way; default 20 s
}

// defaultWait is long enough for a thread, a message and a first failure.
const defaultWait = 20 * time.Second

// Service accepts the requests of agents to each other in Discord. It is safe for concurrent use.
type Service struct{ o Options }

// New returns a service.
func New(o Options) *Service {
	o.Wait = cmp.Or(o.Wait, defaultWait)
	return &Service{o}
}
