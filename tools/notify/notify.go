// Package notify tells people of what agents do, where they have asked to be told: reports in Discord threads, or by a webhook, of what agents say
// to each other, what waits for somebody to agree to it, and what nobody has mended. A Follower reads the log and asks for the posts; what was asked
// for is in the log before it reads on, so that nothing is told twice, and nothing left out.
package notify

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/eventstore"
)

// WebhookKind is the kind of work that telling a webhook is.
const WebhookKind = "webhook"

// WebhookPool is its pool.
const WebhookPool = "webhooks"

// Log is what a Follower needs of the store, with the projections response, routing, plan, task and work in it.
type Log interface {
	Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error)
	Head(ctx context.Context) (eventstore.Head, error)
	Wait(ctx context.Context, seq int64) (int64, error)
	Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error)
	ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Event, error)
	StreamVersion(ctx context.Context, stream string) (int64, error)
}

// Options of New. All are required.
type Options struct {
	Log     Log
	Config  func() *config.Config
	Bots    func() []collaborate.Bot // that are connected; nil where there are none
	Buttons func(approvalID string) []byte
	Now     func() time.Time
	Logger  *slog.Logger
}

// Follower asks for posts about what happens.
type Follower struct{ o Options }

// New makes a Follower.
func New(o Options) *Follower { return &Follower{o} }

// Run reads the log until ctx ends, and returns nil then. A sink begins with what is appended after it was configured.
func (f *Follower) Run(ctx context.Context) error { panic("stub") }

// Webhook is the handler of WebhookKind. secrets gives the address of a sink in force: addresses hold secrets, and stay out of the log.
func Webhook(client *http.Client, conf func() *config.Config, now func() time.Time) worker.Handler { panic("stub") }
