// Package a2a sends messages between agents: it is the one way by which any of them reaches another, whoever asks for it, so that policy,
// idempotency, conversations and events cannot be got around. Package coordination/a2a decides; a Coordinator reads what it has to know,
// appends what it says, and queues the runs that it asks for, in one transaction each.
//
// It promises
//   - that a message that was accepted is on disk before anything is done about it, once for each idempotency key;
//   - that the next step of a flow is appended together with the end of the run that it follows from: nothing polls, nothing is done twice;
//   - that a flow that waits costs a row, no goroutine and no timer;
//   - that each flow ends with exactly one a2a.complete.
package a2a

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Log is what a Coordinator needs of the store, with the projections a2a, conversation, run, session and work in it.
type Log interface {
	Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error)
	View(ctx context.Context, read func(*sql.Tx) error) error
	Head(ctx context.Context) (eventstore.Head, error)
	Wait(ctx context.Context, seq int64) (int64, error)
}

// Runs is what a Coordinator needs of a runner.
type Runs interface {
	// Ask says what is appended to have a run queued, within the transaction that appends it. Errors: *run.Refusal, *run.Busy, or the log's.
	Ask(tx eventstore.Tx, ask run.Ask, now time.Time) ([]eventstore.StreamAppend, error)
	Stop(ctx context.Context, stop run.Stop) ([]string, error)
}

// Channels are where people read what agents announce. nil has none.
type Channels interface {
	// Reaches reports whether something can be posted in a channel, such as discord.
	Reaches(channel string) bool
	// Account is by whose account an agent's post stands where it is to go: the agent's own where that reaches the place, else the one that is given.
	Account(post Post) string
	// Post posts a text. The key is the same for each attempt at the same post.
	Post(ctx context.Context, post Post) error
}

// Post is something to be posted.
type Post struct {
	Key                              string
	Agent                            string // in whose name
	Channel, To, AccountID, ThreadID string
	Text                             string
}

// Options of New. All but Channels, CheckModel and Tasks are required.
type Options struct {
	Log      Log
	Runs     Runs
	Config   func() *config.Config
	Channels Channels
	// CheckModel says why a model, named as provider/id, cannot be used. nil lets sub-agents be asked for with any.
	CheckModel func(ref string) error
	// Tasks keeps the tasks that messages and delegations belong to. nil: there are none.
	Tasks  Tasks
	Now    func() time.Time
	NewID  func() string  // a UUID that nobody has had
	Jitter func() float64 // from 0 to 1
	Logger *slog.Logger
}

// Request is a message from one agent to another.
type Request struct {
	From   tool.Caller // the session that sends it, and the run or the client in it
	Origin string      // tool, http, cli, discord, unblock, continuation, ...

	// Key makes a repetition one: of the same sender it is accepted once. "" is one that nobody repeats.
	Key string

	Target  coordination.SessionKey // the session that is asked for; its agent is who gets the message
	Message string
	Payload string // JSON; "" for none

	TaskID, WorkSessionID, ConversationID, ParentConversationID, TopicID string

	Depth, Hop *int
	// Cause is where what has caused the message stands, where From is no run.
	Cause chain.Link

	Wait       time.Duration // for the first answer; 0 does not wait
	NoTurns    bool          // nothing is said back
	NoAnnounce bool          // nothing is posted in the end
}

// Result is what became of a message until Send returned. It is also what sessions_send answers.
type Result struct {
	RunID           string    `json:"runId"`
	JobID           string    `json:"jobId,omitempty"`
	Status          string    `json:"status"` // accepted, ok, timeout, error, forbidden
	Reply           string    `json:"reply,omitempty"`
	Error           string    `json:"error,omitempty"`
	Code            string    `json:"code,omitempty"` // of error and forbidden
	Mend            string    `json:"mend,omitempty"` // likewise
	SessionKey      string    `json:"sessionKey,omitempty"`
	ConversationID  string    `json:"conversationId,omitempty"`
	WorkSessionID   string    `json:"workSessionId,omitempty"`
	TaskID          string    `json:"taskId,omitempty"`
	PayloadType     string    `json:"payloadType,omitempty"`
	PayloadWarnings []string  `json:"payloadWarnings,omitempty"`
	Duplicate       bool      `json:"duplicate,omitempty"` // it was sent before; the ids are those of that time
	Delivery        *Delivery `json:"delivery,omitempty"`
	State           string    `json:"state,omitempty"` // of timeout: queued, running
}

// Delivery says how far a message has come.
type Delivery struct {
	Status string `json:"status"`         // pending, delivered, blocked
	Mode   string `json:"mode,omitempty"` // announce
}

// Coordinator sends messages between agents. All of its methods may be called by many goroutines.
type Coordinator struct {
	o     Options
	waits waits
}

// New makes a Coordinator. It does nothing by itself: a runner has to be given Then, and a worker has to be given it as the handler of
// work.KindJob.
func New(o Options) *Coordinator {
	c := &Coordinator{o: o}
	c.waits.look = c.look
	return c
}
