// Package a2a decides the course of the messages that agents send each other, and of the sub-agents that they start: a
// flow from the request to its single end. It is pure: clock, ids and randomness are passed in, and what it must know
// of the log is read for it in the transaction that appends its decisions.
//
// A flow is a job with its own stream. It waits for a permit of its target (dispatching), for the target's first
// answer (waiting), for the answers of up to EffectiveTurns turns of ping-pong, starting with the requester (turn),
// for the text that the target wants to have posted (announcing), and for that to be posted (posting); then it is
// over. Each step is appended together with the end of the run that caused it, and with the run that it requests, so
// that no crash separates them and no step is repeated. Every flow has exactly one a2a.send, then at least one
// a2a.response, and then exactly one a2a.complete, whatever fails.
//
// A delegation to a sub-agent is a flow of kind spawn: it waits for the child's one answer, and passes that to the
// parent's session.
package a2a

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// Kind is what a flow is.
type Kind string

const (
	Send  Kind = "send"  // a message to another agent
	Spawn Kind = "spawn" // work for a sub-agent
)

// Phase says what a flow waits for.
type Phase string

const (
	Dispatching Phase = "dispatching" // a permit of its target
	Waiting     Phase = "waiting"     // the first answer
	Turn        Phase = "turn"        // a turn of ping-pong
	Announcing  Phase = "announcing"  // the text to be posted
	Posting     Phase = "posting"     // that text being posted
	Over        Phase = "over"
)

// Open reports whether a flow is not over.
func (p Phase) Open() bool { return p != "" && p != Over }

// Holds reports whether a flow in this phase has a permit of its target, if it is of a kind that needs one.
func (p Phase) Holds() bool { return p.Open() && p != Dispatching }

// Flow is the state of a flow. Apply folds it.
type Flow struct {
	coordination.A2AJobCreated // the request; its Phase and DueAtMs are the initial ones

	Seq        int64           // seq of the event that created it
	Phase      Phase           // current
	DueAt      int64           // when it is checked again, ms since 1970; 0 once it is over
	RunID      string          // the run that it waits for, or waited for last; "" while it is dispatching or posting
	Speaker    string          // the agent that answers in that run
	Attempt    int             // attempts at the first answer, and at posting, from 1
	Turn       int             // in phase turn: the current one, from 1. After that, the number of turns
	Resumed    int             // restarts without progress
	CreatedAt  int64           // ms since 1970
	ChangedAt  int64           // ms since 1970: last progress or check
	Post       string          // of phase posting
	Said       []AnswerPreview // the answers so far, oldest first
	EndedEarly string          // why it took fewer turns than possible; "" for no reason, or not yet
	Outcome    string          // once it is over: ok, or a value of outcome
	Redacted   bool            // the request was redacted

	// Active and Queued are how many flows of its target have a permit, and how many wait for one, including this one.
	// They are not folded, but read for Due of a flow that waits for a permit.
	Active, Queued int
}

// AnswerPreview is the beginning of an answer.
type AnswerPreview struct {
	Agent string `json:"agent"`
	Text  string `json:"text"` // at most PreviewLength characters
}

// OutcomeOK is the Outcome of a flow that succeeded.
const OutcomeOK = "ok"

// Lengths of texts in events, in characters.
const (
	MessageLength = 4000
	PreviewLength = 200
)

// MaxMessage bounds the bytes of a message that reach a run, including the note that the rest was cut.
const MaxMessage = 64 << 10

// Times, in milliseconds.
const (
	QueueMs       = 30_000  // default for a permit
	WaitMs        = 300_000 // default for the first answer, from the beginning of its run
	TurnMs        = 120_000 // default for each turn, and for the announcement
	StaleMs       = 3_600_000
	MaxRetries    = 3              // of the first answer's run
	MaxResumes    = 3              // restarts without progress
	MaxPosts      = 5              // attempts at posting
	HandoffOpenMs = 24 * 3_600_000 // how long an unanswered handoff prevents sending an equal one
)

// Event is an event to append, in this order. Job events go to the job's stream, the others to that of their
// conversation; AgentID is the agent concerned.
type Event struct {
	Type    string
	AgentID string
	Data    any
}

// Step is the result of a decision.
type Step struct {
	Events []Event
	// Asks are runs that are queued in the same transaction. If one is refused, Refused decides instead.
	Asks []run.Ask
	// StopRun is a run that is no longer needed and is stopped once the events are on disk; "" is none.
	StopRun string
	// Findings is the child's complete answer when its flow succeeds.
	Findings string
	// Over says that the flow is over: its permit goes to the next flow that waits for it.
	Over bool
}

// Nothing reports whether a step changes nothing.
func (s *Step) Nothing() bool {
	return len(s.Events) == 0 && len(s.Asks) == 0 && s.StopRun == "" && !s.Over
}
