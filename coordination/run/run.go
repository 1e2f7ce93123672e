// Package run defines an agent's run, from the message that asks for it to its end, and decides about it. It is pure: time, tables and
// new ids are passed in.
//
// A run is queued, running, and then over in one of four ways. Each step is an event in the run's stream; exactly one event ends it,
// whatever fails.
package run

import "github.com/pronto-lab/openclawd/coordination"

type State string

const (
	Queued   State = "queued" // or parked, if it has started
	Running  State = "running"
	OK       State = "ok"
	Failed   State = "error"
	Aborted  State = "aborted"
	TimedOut State = "timed_out"
)

// Over reports whether the run has ended.
func (s State) Over() bool { return s != "" && s != Queued && s != Running }

// Parked reports whether the run has started, and waits for a decision of a person.
func (r *Result) Parked() bool { return r.State == Queued && r.StartedAt > 0 }

// Lanes limit concurrent runs. Other names are refused.
const (
	LaneMain     = "main"
	LaneNested   = "nested"   // an agent awaits it
	LaneSubagent = "subagent" // an agent started it
	LaneCron     = "cron"     // a scheduled job or a hook started it
)

// Effect of a restart on a running run.
const (
	OnRestartReport = ""
	OnRestartRetry  = "retry"
)

// MaxAttempts limits how often a run is started in all, in case the run itself crashes the process.
const MaxAttempts = 3

// Ask is a message for an agent, and how to answer it. It is accepted once per RunID.
type Ask struct {
	coordination.RunQueued

	Session coordination.SessionKey // parsed SessionKey; sets RunQueued's
	// Label and SpawnedBy are for a new session.
	Label, SpawnedBy string
	Human            bool // a person asks
	// Pass says that the run ParentRunID, or an agent's message, causes this one: it is one hop further in the chain of causes and
	// bounded with it. PassedBy is the agent that passes on; "" is the agent of ParentRunID.
	Pass bool
}

// Accepted is the answer when a run is on disk.
type Accepted struct {
	RunID      string
	SessionKey string
	AcceptedAt int64 // ms since 1970; the first time, if repeated
	Ahead      int   // earlier runs of the session
	Again      bool  // already queued before; Now is its state
	Now        Result
}

// Result is the state of a run and, once it is over, its outcome.
type Result struct {
	RunID      string
	SessionKey string
	SessionID  string
	AgentID    string
	Lane       string
	Cause      string
	State      State
	QueuedAt   int64 // ms since 1970, as all times
	StartedAt  int64 // 0 if not started
	EndedAt    int64 // 0 while it is not over

	Seq     int64  // of the event that queued it, for lists
	RetryOf string // the first run, if this one repeats it; ""

	JobID          string // the exchange or delegation that awaits it; "", as all that follow
	WorkSessionID  string
	ConversationID string
	ParentRunID    string // the requesting run

	Over *coordination.RunOver // nil until the end, or if redacted
}

// Busy refuses a message because too many runs wait already.
type Busy struct {
	SessionKey string
	Ahead      int   // runs waiting in the session, or in all sessions
	All        bool  // all sessions are full, not only this one
	OldestMs   int64 // how long the first has waited
}

func (b *Busy) Error() string {
	if b.All {
		return "too many runs are waiting in all sessions"
	}
	return "too many runs are waiting in session " + b.SessionKey
}
func (b *Busy) Code() string { return "busy" }
func (b *Busy) Hint() string {
	return "wait until some have ended, or stop them; list them with: openclawd runs"
}

// Stop asks for runs to be stopped.
type Stop struct {
	SessionKey string // "" is any
	RunID      string // "" is all of the session
	Reason     string // rpc, stop, reset, delete, shutdown
	By         string
	Unwaited   bool // only signal the runs, without waiting for their end
}

// Kind is the kind of an Update.
type Kind string

const (
	Started    Kind = "started"
	Text       Kind = "text"
	Thinking   Kind = "thinking"
	ToolStart  Kind = "tool_start"
	ToolResult Kind = "tool_result"
	Parked     Kind = "parked"  // it waits for a decision of a person
	Resumed    Kind = "resumed" // and goes on
	Ended      Kind = "ended"
)

// Update reports progress of a run while it runs. Updates of a run arrive in order. Completed steps they report are on disk; streamed
// text is not.
type Update struct {
	RunID      string
	SessionKey string
	SessionID  string
	AgentID    string
	Cause      string
	Internal   bool  // its texts are hidden from people
	Seq        int64 // 1, 2, 3, ... within the run
	At         int64 // ms since 1970
	Kind       Kind

	Text  string // of Text: the whole answer so far
	Delta string // of Text and Thinking: the new part
	// Replaces says that Text does not continue earlier updates: another model answers, or the answer after a tool call has started.
	Replaces bool

	ToolCallID, ToolName string
	Args                 []byte // of ToolStart: JSON
	Output               string // of ToolResult
	IsError              bool

	Result *Result // of Started, Parked, Resumed and Ended
}
