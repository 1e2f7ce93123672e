// Package collabtools lets agents ask each other in threads of the channels: the tool collaborate, the consequences of a request that was or
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
	"github.com/pronto-lab/openclawd/eventstore"
)

// Log is the part of the store that is used here, with the projections responses, routing, sessions, runs and work.
type Log interface {
	eventstore.Decider
	View(ctx context.Context, read func(*sql.Tx) error) error
	Head(ctx context.Context) (eventstore.Head, error)
	Wait(ctx context.Context, seq int64) (int64, error)
}

// Options of New. All but Channels and Wait are required.
type Options struct {
	Log      Log
	Channels []Channel // the first one that suits is used; none: no bots, which the tool reports
	Config   func() *config.Config
	Now      func() time.Time
	NewID    func() string // returns a new UUID
	Logger   *slog.Logger
	Wait     time.Duration // for the outcome of a request, before the tool answers that it is under way; default 20 s
}

// defaultWait is long enough for a thread, a message and a first failure.
const defaultWait = 20 * time.Second

// Service accepts the requests of agents to each other. It is safe for concurrent use.
type Service struct{ o Options }

// New returns a service.
func New(o Options) *Service {
	o.Wait = cmp.Or(o.Wait, defaultWait)
	return &Service{o}
}
