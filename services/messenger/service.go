// Package messenger sends messages between agents. It is the only way from one agent to another, so that policy, idempotency,
// conversations and events cannot be bypassed. Package coordination/a2a decides; the messenger reads the inputs, appends the decision
// and queues the requested runs, in one transaction.
//
// It promises
//   - that an accepted message is on disk before anything is done about it, once per idempotency key;
//   - that the next step of a flow is appended together with the end of the run that causes it: nothing polls, nothing is done twice;
//   - that a waiting flow costs a row, no goroutine and no timer;
//   - that each flow ends with exactly one a2a.complete.
package messenger

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

// Log is the part of the store that is used here, with the projections flows, conversations, runs, sessions and work.
type Log interface {
	eventstore.Decider
	View(ctx context.Context, read func(*sql.Tx) error) error
	Head(ctx context.Context) (eventstore.Head, error)
	Wait(ctx context.Context, seq int64) (int64, error)
}

// Queue queues runs.
type Queue interface {
	// Ask returns what is appended to queue a run, for the transaction that appends it. Errors: *run.Refusal, *run.Busy, or the log's.
	Ask(tx eventstore.Tx, ask run.Ask, now time.Time) ([]eventstore.StreamAppend, error)
}

// Channels post announcements where people read them.
type Channels interface {
	// Reaches reports whether a channel such as discord accepts posts.
	Reaches(channel string) bool
	// Account returns the account for an agent's post: the agent's own if that reaches the place, else the given one.
	Account(post Post) string
	// Post posts a text. The key is the same for each attempt.
	Post(ctx context.Context, post Post) error
}

// Post is a text to be posted.
type Post struct {
	Key                              string
	Agent                            string // agent that speaks
	Channel, To, AccountID, ThreadID string
	Text                             string
}

// Options of New. All but Channels, CheckModel, Tasks and Done are required.
type Options struct {
	Log      Log
	Queue    Queue
	Config   func() *config.Config
	Channels Channels
	// CheckModel returns why a model, named as provider/id, cannot be used. nil allows any for sub-agents.
	CheckModel func(ref string) error
	// Tasks manages the tasks of messages and delegations. nil: no tasks.
	Tasks  Tasks
	Now    func() time.Time
	NewID  func() string  // returns a new UUID
	Jitter func() float64 // random, from 0 to 1
	Logger *slog.Logger
	Done   <-chan struct{} // closed when the program is about to end: a log that cannot be read is not read again
}

// Request is a message from one agent to another.
type Request struct {
	From   tool.Caller // sending session, with its run or client
	Origin string      // tool, http, cli, discord, unblock, continuation, ...

	// Key identifies repetitions: the same sender's message is accepted once per key. "" is never repeated.
	Key string

	Target  coordination.SessionKey // target session; its agent gets the message
	Message string
	Payload string // JSON; "" for none

	TaskID, WorkSessionID, ConversationID, ParentConversationID, TopicID string

	Depth, Hop *int
	// Cause is the chain position of what caused the message, if From is no run.
	Cause chain.Link

	Wait       time.Duration // timeout for the first answer; 0 does not wait
	NoTurns    bool          // no replies
	NoAnnounce bool          // no announcement
}

// Result is the state of a message when Send returned. It is also the answer of sessions_send.
type Result struct {
	RunID           string    `json:"runId"`
	JobID           string    `json:"jobId,omitempty"`
	Status          string    `json:"status"` // accepted, ok, timeout, error, forbidden
	Reply           string    `json:"reply,omitempty"`
	Error           string    `json:"error,omitempty"`
	Code            string    `json:"code,omitempty"` // of error and forbidden
	Hint            string    `json:"hint,omitempty"` // likewise
	SessionKey      string    `json:"sessionKey,omitempty"`
	ConversationID  string    `json:"conversationId,omitempty"`
	WorkSessionID   string    `json:"workSessionId,omitempty"`
	TaskID          string    `json:"taskId,omitempty"`
	PayloadType     string    `json:"payloadType,omitempty"`
	PayloadWarnings []string  `json:"payloadWarnings,omitempty"`
	Duplicate       bool      `json:"duplicate,omitempty"` // repetition; the ids are those of the first call
	Delivery        *Delivery `json:"delivery,omitempty"`
	State           string    `json:"state,omitempty"` // of timeout: queued, running
}

// Delivery is the delivery state of a message.
type Delivery struct {
	Status string `json:"status"`         // pending, delivered, blocked
	Mode   string `json:"mode,omitempty"` // announce
}

// Service sends messages between agents. It is safe for concurrent use.
type Service struct {
	o     Options
	waits answerWaiters
}

// New returns a service that does nothing by itself: the runner needs its Then, and a worker needs it as the handler of work.KindJob.
func New(o Options) *Service {
	s := &Service{o: o}
	s.waits.poll, s.waits.abandoned.more = s.pollAnswers, make(chan struct{}, 1)
	return s
}
