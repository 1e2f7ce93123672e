// Package a2a decides what becomes of the messages that agents send each other, and of the sub-agents that they start: a flow from what
// was asked for to its one end. It is pure: clock, ids and chance are passed in, and what it has to know of the log is read for it in the
// transaction that appends what it decides.
//
// A flow is a job with a stream of its own. It waits for a permit of its target (dispatching), for the target's first answer (waiting),
// for the answers of up to EffectiveTurns turns of ping-pong, first of the requester (turn), for what the target wants to have posted
// (announcing), and for that to be posted (posting); then it is over. Each step is appended together with the end of the run that it
// follows from, and with the run that it asks for: no crash comes between them, and no step is done twice. Every flow has exactly one
// a2a.send, then one a2a.response at least, and then exactly one a2a.complete, whatever fails.
//
// A delegation to a sub-agent is a flow of kind spawn: it waits for the child's one answer, and hands that to the parent's session.
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

// Phase is what a flow waits for.
type Phase string

const (
	Dispatching Phase = "dispatching" // a permit of its target
	Waiting     Phase = "waiting"     // the first answer
	Turn        Phase = "turn"        // a turn of ping-pong
	Announcing  Phase = "announcing"  // what is to be posted
	Posting     Phase = "posting"     // that being posted
	Over        Phase = "over"
)

// Open reports whether a flow is not over.
func (p Phase) Open() bool { return p != "" && p != Over }

// Holds reports whether a flow in this phase has a permit of its target, if it is of a kind that needs one.
func (p Phase) Holds() bool { return p.Open() && p != Dispatching }

// Flow is how a flow stands. Apply folds it.
type Flow struct {
	coordination.A2AJobCreated // what was asked for; its Phase and DueAtMs are those of the beginning

	Seq        int64  // of the event that made it
	Phase      Phase  // now
	DueAt      int64  // when it is looked after again, ms since 1970; 0 once it is over
	RunID      string // the run that it waits for, or waited for last; "" while it is dispatching or posting
	Speaker    string // the agent that answers in that run
	Attempt    int    // at the first answer, and at posting, from 1
	Turn       int    // of phase turn: the one under way, from 1. After that, how many were taken
	Resumed    int    // restarts since it last came on
	CreatedAt  int64  // ms since 1970
	ChangedAt  int64  // ms since 1970: when it last came on, or was looked after
	Post       string // of phase posting
	Said       []Said // the answers so far, the first one first
	EndedEarly string // why fewer turns were taken than it might have; "" for no reason, or not yet
	Outcome    string // once it is over: ok, or a value of outcome
	Redacted   bool   // what was asked for is gone

	// Active and Queued are how many flows of its target have a permit, and how many wait for one, this one included. Nothing folds them: they
	// are read for Due of a flow that waits for a permit.
	Active, Queued int
}

// Said is how an answer began.
type Said struct {
	Agent string `json:"agent"`
	Text  string `json:"text"` // at most PreviewLength characters
}

// OutcomeOK is the Outcome of a flow that ended as it should.
const OutcomeOK = "ok"

// Lengths of texts in events, in characters.
const (
	MessageLength = 4000
	PreviewLength = 200
)

// MaxMessage is how many bytes of a message reach a run, whatever says that the rest was cut included.
const MaxMessage = 64 << 10

// Times, in milliseconds.
const (
	QueueMs       = 30_000  // for a permit, if not said otherwise
	WaitMs        = 300_000 // for the first answer, from the beginning of its run, if not said otherwise
	TurnMs        = 120_000 // for each turn, and for what is announced, likewise
	StaleMs       = 3_600_000
	MaxRetries    = 3              // of the first answer's run
	MaxResumes    = 3              // restarts without coming on
	MaxPosts      = 5              // attempts at posting
	HandoffOpenMs = 24 * 3_600_000 // how long a handoff that nobody answers keeps an equal one from being sent
)

// Event is what a decision makes happen, to be appended in this order. Job events go to the job's stream, the others to that of their
// conversation; AgentID is whom it happened to.
type Event struct {
	Type    string
	AgentID string
	Data    any
}

// Step is what a decision leads to.
type Step struct {
	Events []Event
	// Asks are runs that are queued in the same transaction. If one is refused, Refused decides instead.
	Asks []run.Ask
	// StopRun is a run that nobody waits for any more and that is stopped once the events are on disk; "" is none.
	StopRun string
	// Findings are all that a child has answered whose flow ends well.
	Findings string
	// Over says that the flow is: its permit goes to the next one that waits for it.
	Over bool
}

// Nothing reports whether a step changes nothing.
func (s *Step) Nothing() bool {
	return len(s.Events) == 0 && len(s.Asks) == 0 && s.StopRun == "" && !s.Over
}
