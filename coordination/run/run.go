// Package run says what a run of an agent is, from the message that asks for it to its end, and decides what may happen to it. It is pure:
// it knows neither clock nor tables, new ids are passed in.
//
// A run is queued, running, and then over for one of four reasons. Each step is an event in the stream of the run; exactly one event ends
// it, whatever fails.
package run

import "github.com/pronto-lab/openclawd/coordination"

// State is where a run is.
type State string

const (
	Queued   State = "queued"
	Running  State = "running"
	OK       State = "ok"
	Failed   State = "error"
	Aborted  State = "aborted"
	TimedOut State = "timed_out"
)

// Over reports whether nothing will happen to the run any more.
func (s State) Over() bool { return s != "" && s != Queued && s != Running }

// Lanes bound how many runs there are at a time. Another name is refused.
const (
	LaneMain     = "main"
	LaneNested   = "nested"   // an agent waits for it
	LaneSubagent = "subagent" // an agent has started it
)

// What becomes of a run that a restart breaks off.
const (
	OnRestartReport = ""
	OnRestartRetry  = "retry"
)

// MaxAttempts is how often a run is begun in all: what ends the process each time would do so for ever.
const MaxAttempts = 3

// Ask is a message for an agent, and how it is to be answered. It is accepted once for each RunID.
type Ask struct {
	coordination.RunQueued

	Session coordination.SessionKey // parsed SessionKey; RunQueued's is set from it
	// Label and SpawnedBy are set for a session that begins.
	Label, SpawnedBy string
	Human            bool // a person asks
	// Pass says that the run ParentRunID, or what an agent has said somewhere, causes this one: it is one hop further in the chain of causes, and
	// bounded with that. Who it is that passes on stands in PassedBy, "" is the agent of ParentRunID.
	Pass bool
}

// Accepted says that a run is on disk.
type Accepted struct {
	RunID      string
	SessionKey string
	AcceptedAt int64 // ms since 1970; of the first time, where it was asked before
	Ahead      int   // runs of the session that come before it
	Again      bool  // it was asked for before; Now says how it stands
	Now        Result
}

// Result is how a run stands, and once it is over what came of it.
type Result struct {
	RunID      string
	SessionKey string
	SessionID  string
	AgentID    string
	Lane       string
	Cause      string
	State      State
	QueuedAt   int64 // ms since 1970, as all times
	StartedAt  int64 // 0: not yet, or never
	EndedAt    int64 // 0: not yet

	Seq     int64  // of the event that queued it: lists go by it
	RetryOf string // the run that was asked for at first, where this one repeats it; ""

	JobID          string // the exchange or delegation that waits for it; "", as of all that follow
	WorkSessionID  string
	ConversationID string
	ParentRunID    string // the run that has asked for it

	Over *coordination.RunOver // nil until then, and where it was redacted
}

// Busy refuses a message for which there is no room: too many wait already. Nothing was accepted.
type Busy struct {
	SessionKey string
	Ahead      int   // runs that wait for their turn in the session, or in all sessions
	All        bool  // all sessions are full, not only this one
	OldestMs   int64 // how long the first of them has waited
}

func (b *Busy) Error() string {
	if b.All {
		return "too many runs are waiting in all sessions"
	}
	return "too many runs are waiting in session " + b.SessionKey
}
func (b *Busy) Code() string { return "busy" }
func (b *Busy) Hint() string {
	return "wait until some have ended, or stop them: openclawd runs lists what waits"
}

// Stop asks for runs to be stopped.
type Stop struct {
	SessionKey string // "" is any
	RunID      string // "" is all of the session's
	Reason     string // rpc, stop, reset, delete, shutdown
	By         string
	Unwaited   bool // what runs is told to end, and not waited for
}

// Kind says what an Update tells.
type Kind string

const (
	Started    Kind = "started"
	Text       Kind = "text"
	Thinking   Kind = "thinking"
	ToolStart  Kind = "tool_start"
	ToolResult Kind = "tool_result"
	Ended      Kind = "ended"
)

// Update tells what happens in a run, while it happens. Updates of a run come one after the other, in order. What they tell of as done is
// on disk; text on its way is not.
type Update struct {
	RunID      string
	SessionKey string
	SessionID  string
	AgentID    string
	Cause      string
	Internal   bool  // people are not shown what is said in it
	Seq        int64 // 1, 2, 3, ... in the run
	At         int64 // ms since 1970
	Kind       Kind

	Text  string // of Text: all of the present answer so far
	Delta string // of Text and Thinking: what is new
	// Anew says that Text does not go on from what was told before: another model answers, or the answer after a tool has begun.
	Anew bool

	ToolCallID, ToolName string
	Args                 []byte // of ToolStart: JSON
	Output               string // of ToolResult
	IsError              bool

	Result *Result // of Started and Ended
}
