// Package inbound takes up what people and bots write in Discord: it decides, once for each message, what it is to every agent, and has those run
// who handle it. coordination/route decides; a Monitor reads what that depends on, and appends what follows in one transaction: the decision, who
// takes part from now on, which request the message answers, and the runs.
package inbound

import (
	"context"
	"log/slog"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Log is what a Monitor needs of the store, with the projections response, routing, run and session in it.
type Log interface {
	Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error)
	Fatal(err error) bool
}

// Runs is what a Monitor needs of a runner.
type Runs interface {
	Ask(tx eventstore.Tx, ask run.Ask, now time.Time) ([]eventstore.StreamAppend, error)
}

// Bots is what a Monitor needs of Discord, without asking it.
type Bots interface {
	// Sight are the bots that speak for agents, those blind that do not see a place.
	Sight(guildID, channelID, threadID string) []route.Bot
	Known(id string) (collaborate.Place, bool)
	ChannelName(id string) string
	Resolve(text string) string
}

// Answered says what follows when a message has answered a request, in the transaction that says so.
type Answered func(tx eventstore.Tx, r *response.Request, answer *discord.Message, now time.Time) ([]eventstore.StreamAppend, error)

// Options of New. All are required but Answered.
type Options struct {
	Log      Log
	Runs     Runs
	Bots     Bots
	Config   func() *config.Config // in force
	Answered Answered
	Now      func() time.Time
	Logger   *slog.Logger
}

// Monitor hears Discord.
type Monitor struct{ o Options }

// New makes a Monitor.
func New(o Options) *Monitor { return &Monitor{o} }

// Hear takes up a fact. It returns when what follows is on disk, or the context has ended; what the log does not take for now is tried again. It is
// the OnMessage of discord.Options, with the context of the program.
func (m *Monitor) Hear(ctx context.Context, in discord.Inbound) { panic("stub") }

// Run tells of suspensions that are over, until ctx ends.
func (m *Monitor) Run(ctx context.Context) error { panic("stub") }
