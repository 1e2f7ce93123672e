// Package collaborate has agents ask each other in Discord threads: the tool collaborate, what follows when a request was posted or could not be,
// and the tracker that reminds whoever does not answer. coordination/collaborate and coordination/response decide; what is posted is a delivery
// of coordination/delivery.
package collaborate

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

// TrackerKind is the kind of work that following a request is: one row for each request that waits for an answer, due when something has to be done
// about it.
const TrackerKind = "collab_tracker"

// TrackerPool is its pool.
const TrackerPool = "collab"

// Discord is what a Desk needs of the bots.
type Discord interface {
	// Connected are the bots that are connected, and the agents that they speak for.
	Connected() []collaborate.Bot
	// Known is a channel or thread as the bots have been told of it, without asking.
	Known(id string) (collaborate.Place, bool)
	// Place asks for a channel or thread as one of them; ok is false if there is none that the bot may see.
	Place(ctx context.Context, account, id string) (p collaborate.Place, ok bool, err error)
}

// Log is what a Desk needs of the store, with the projections response, routing, session and work in it.
type Log interface {
	Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error)
	View(ctx context.Context, read func(*sql.Tx) error) error
	Head(ctx context.Context) (eventstore.Head, error)
	Wait(ctx context.Context, seq int64) (int64, error)
}

// Options of New. All are required but Wait.
type Options struct {
	Log     Log
	Discord Discord // nil: there are no bots, and the tool says so
	Config  func() *config.Config
	Now     func() time.Time
	NewID   func() string // a UUID that nobody has had
	Logger  *slog.Logger
	Wait    time.Duration // for what becomes of a request, until the tool answers that it is under way; default 20 s
}

// Desk takes on what agents ask of each other in Discord.
type Desk struct{ o Options }

// New makes a Desk.
func New(o Options) *Desk { return &Desk{o} }

// Tool is the tool collaborate.
func (d *Desk) Tool() tools.Tool { panic("stub") }

// Delivered is what follows from the end of a delivery of purpose request: an outbound.Then, by shape.
func (d *Desk) Delivered(tx eventstore.Tx, effectID string, del *delivery.Delivery, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	panic("stub")
}

// Told is what follows from the end of a delivery of purpose reminder or escalate that is about a request; nothing of any other.
func (d *Desk) Told(tx eventstore.Tx, effectID string, del *delivery.Delivery, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	panic("stub")
}

// Answered is what follows when a message has answered a request: nobody is reminded any more, and the session that has asked is told. It is asked
// in the transaction that appends a2a.collaborate.responded.
func (d *Desk) Answered(tx eventstore.Tx, r *response.Request, messageID, text string, now time.Time) ([]eventstore.StreamAppend, error) {
	panic("stub")
}

// Tracker is the handler of TrackerKind.
func (d *Desk) Tracker() worker.Handler { panic("stub") }
