// Package inbound takes up what people and bots write in Discord: it decides, once for each message, what it is to every agent, and has those run
// who handle it. coordination/route decides; a Monitor reads what that depends on, and appends what follows in one transaction: the decision, who
// takes part from now on, which request the message answers, and the runs.
//
// It promises
//   - that a message is decided about once, however many bots tell of it and however often, also after a restart, and that no agent runs twice for
//     it;
//   - that whatever was decided is in the log with its reason, also that nobody answers;
//   - that a decision is on disk together with the runs that follow from it, or not at all.
//
// Each message is decided about on its own; a text that an agent has posted as three messages with the first one, as a whole. What is edited or deleted
// later changes nothing that was decided.
package inbound

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Log is what a Monitor needs of the store, with the projections response, routing, run, session and work in it.
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

// Answered says what follows when a message has answered a request, in the transaction that says so. Of what was posted in several messages the first
// one answers, and answer.Content is all of it.
type Answered func(tx eventstore.Tx, r *response.Request, answer *discord.Message, now time.Time) ([]eventstore.StreamAppend, error)

// Exchange is what one agent says to another one by mentioning it in a channel.
type Exchange struct {
	Context         coordination.Context // where the message belongs, and how often what began it was passed on
	MessageID       string
	ChannelID       string
	From, To        string // agents
	Session, Target coordination.SessionKey
	AccountID       string // of the bot that has written it
	RunID           string // that has said it; "" if none has, or that is not known
	Text            string // without the mention
}

// Exchanges begins an exchange between two agents, in the transaction that decides about the message. runID is the run in which the other one answers;
// it is "" where the exchange is refused, and then refused says why.
type Exchanges func(tx eventstore.Tx, e *Exchange, now time.Time) (runID string, refused error, appends []eventstore.StreamAppend, err error)

// Heard is a message that has been decided about.
type Heard struct {
	Decision *route.Decision
	Deciding time.Duration // what the decision took, with all that it read and all that follows from it
	Whole    time.Duration // from when the message was told until all of that was on disk
}

// Options of New. All are required but Answered, Exchanges, Heard, Allowed, Stop and Backoff.
type Options struct {
	Log      Log
	Runs     Runs
	Bots     Bots
	Config   func() *config.Config // in force
	Answered Answered
	// Exchanges takes what one agent says to another one in a channel, where the configuration has these be exchanges (collaboration.autoRoute). nil:
	// it is a message like any other.
	Exchanges Exchanges
	Now       func() time.Time
	Logger    *slog.Logger

	// Heard is told of every message that was decided about, when that is on disk. It must not wait.
	Heard func(Heard)
	// Allowed says whether one agent may have another one run by mentioning it in a message; nil allows all.
	Allowed func(c *config.Config, from, to string) bool
	// Stop ends runs where a person says nothing but a stop word to who would handle it. nil: it is a message like any other.
	Stop func(ctx context.Context, stop run.Stop) ([]string, error)
	// Backoff is how long to wait before something is tried again, for the first time, the second, and so on; default: DefaultBackoff.
	Backoff func(again int) time.Duration
}

// DefaultBackoff doubles from a tenth of a second to half a minute.
func DefaultBackoff(again int) time.Duration {
	return min(100*time.Millisecond<<min(again-1, 10), 30*time.Second)
}

// Monitor hears Discord. Its methods may be called by many goroutines.
type Monitor struct {
	o    Options
	wake chan struct{} // a place was suspended

	mu      sync.Mutex
	decided lately // ids of messages that are in the log
	warned  lately // what was warned of
}

// New makes a Monitor.
func New(o Options) *Monitor {
	if o.Backoff == nil {
		o.Backoff = DefaultBackoff
	}
	return &Monitor{o: o, wake: make(chan struct{}, 1), decided: lately{most: 4096}, warned: lately{most: 1024}}
}

// lately remembers what came last, and only so much of it.
type lately struct {
	most  int
	known map[string]bool
	order []string // of known, the oldest first
}

func (l *lately) has(id string) bool { return l.known[id] }

func (l *lately) add(id string) {
	if l.known[id] {
		return
	}
	if l.known == nil {
		l.known = map[string]bool{}
	}
	if len(l.order) >= l.most {
		delete(l.known, l.order[0])
		l.order = l.order[1:]
	}
	l.known[id] = true
	l.order = append(l.order, id)
}
