// Package inbound handles messages from a channel: it decides once per message which agents handle or observe it, and queues
// the handlers' runs. coordination/route decides; a Service reads the decision's inputs and appends the result in one
// transaction: the decision, new participants, the request it answers, and the runs.
//
// It guarantees
//   - that a message is decided once, however many bots deliver it and however often, also after a restart, and that no agent runs
//     twice for it;
//   - that every decision is in the log with its reason, even if no agent answers;
//   - that a decision is on disk together with its runs, or not at all.
//
// What our own bots post is decided like any message. A service that does not tell bots of each other's messages leaves
// that to the channel, and after a kill to Run.
//
// Each message is decided on its own; an agent's text posted as several messages is decided as a whole with the first.
// Later edits and deletions are recorded, once, and change no decision: no agent runs for them. An agent that handled the
// message is told when it handles the next one in the same place.
package inbound

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/backoff"
)

// Log is the part of the store that a Service needs, including the projections response, routing, run, session and
// work.
type Log interface {
	eventstore.Decider
	Fatal(err error) bool
}

// Queue is the part of the run queue that a Service needs.
type Queue interface {
	Ask(tx eventstore.Tx, ask run.Ask, now time.Time) ([]eventstore.StreamAppend, error)
}

// Bots is the part of a channel that a Service needs, without requests.
type Bots interface {
	// Sight returns the agents' bots, with those blind that do not see a place.
	Sight(guildID, channelID, threadID string) []route.Bot
	Known(id string) (collaborate.Place, bool)
	ChannelName(id string) string
	Resolve(text string) string
}

// Answered returns the consequences of an answer to a request, in the transaction that records it. Of a text posted as
// several messages the first one answers, and answer.Content is the whole text.
type Answered func(tx eventstore.Tx, r *response.Request, answer *channel.Message, now time.Time) ([]eventstore.StreamAppend, error)

// Exchange is a message of one agent to another by a mention in a channel.
type Exchange struct {
	Context         coordination.Context // conversation, and number of hops of its cause
	MessageID       string
	ChannelID       string
	From, To        string // agents
	Session, Target coordination.SessionKey
	AccountID       string // account of the bot that wrote it
	RunID           string // run that wrote it; "" if none or unknown
	Text            string // without the mention
}

// Exchanges starts an exchange between two agents, in the transaction of the decision. runID is the run in which the
// other agent answers; it is "" if the exchange is refused, and refused is the reason.
type Exchanges func(tx eventstore.Tx, e *Exchange, now time.Time) (runID string, refused error, appends []eventstore.StreamAppend, err error)

// DecisionStats is a decided message.
type DecisionStats struct {
	Decision *route.Decision
	Deciding time.Duration // duration of the decision, including reads and consequences
	Whole    time.Duration // from delivery until it is on disk
}

// Options of New. All are required but Channel, Answered, Exchanges, Heard, Allowed, Stop, Random and Backoff.
type Options struct {
	Channel  string // default: discord
	Log      Log
	Queue    Queue
	Bots     Bots
	Config   func() *config.Config // configuration in force
	Answered Answered
	// Exchanges starts exchanges for messages between agents in a channel, if enabled by the configuration
	// (collaboration.autoRoute). nil: they are messages like any other.
	Exchanges Exchanges
	Now       func() time.Time
	Logger    *slog.Logger

	// Heard is called for every decided message, after it is on disk. It must not block.
	Heard func(DecisionStats)
	// Allowed reports whether one agent may trigger another by a mention; nil allows all.
	Allowed func(c *config.Config, from, to string) bool
	// Stop stops runs if a person sends a stop word to their handlers. nil: it is a message like any other.
	Stop func(ctx context.Context, stop run.Stop) ([]string, error)
	// Random draws pairing codes; default: crypto/rand.
	Random io.Reader
	// Backoff is the delay before the first, second, ... retry; default: from a tenth of a second to half a minute.
	Backoff func(again int) time.Duration
}

// Service handles the messages of one channel. Its methods are safe for concurrent use.
type Service struct {
	o     Options
	title string        // of the channel, for the log
	wake  chan struct{} // a place was suspended

	mu      sync.Mutex
	decided recentSet // ids of messages in the log
	warned  recentSet // warnings given
}

// New returns a Service.
func New(o Options) *Service {
	if o.Backoff == nil {
		o.Backoff = backoff.Backoff{First: 100 * time.Millisecond, Most: 30 * time.Second}.After
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	own, _ := coordination.ChannelNamed(o.Channel)
	o.Channel = own.Name
	return &Service{o: o, title: own.Title, wake: make(chan struct{}, 1), decided: recentSet{most: 4096}, warned: recentSet{most: 1024}}
}

// recentSet remembers a bounded number of recent items.
type recentSet struct {
	most  int
	known map[string]bool
	order []string // of known, oldest first
}

func (l *recentSet) has(id string) bool { return l.known[id] }

func (l *recentSet) add(id string) {
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
