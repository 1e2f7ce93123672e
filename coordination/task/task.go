// Package task decides about tasks: what an agent may do with a task in its state, and the events that result. It is pure: time and ids
// are passed in, and its inputs are read in the transaction that appends its decisions.
//
// A task has its own stream, beginning with task.started or task.backlog_added. Each event has all its changes, so folding the events
// yields the task. A task found in a file is the starting point of its fold.
//
//	backlog           -> in_progress | cancelled
//	pending_approval  -> in_progress | cancelled
//	in_progress       -> blocked | completed | cancelled | backlog | interrupted
//	blocked           -> in_progress | cancelled
//	interrupted       -> in_progress | backlog | cancelled
//	pending           -> in_progress | cancelled            (only in files)
//	completed, cancelled, abandoned                          final
//
// A task's stream also has its delegations:
//
//	spawned   -> running | failed | abandoned
//	running   -> completed | failed
//	completed -> verified | rejected
//	rejected, failed -> retrying | abandoned
//	retrying  -> spawned
//	verified, abandoned                                      final
package task

import "github.com/pronto-lab/openclawd/coordination"

// Task is the state of a task. Apply folds it. Its slices are never changed in place, so a copy is independent.
type Task struct {
	ID      string
	Agent   string // owner, lower case
	Version int64  // the stream's, with the last event that changed it; 0: known from a file alone
	Seq     int64  // of its first event
	Last    int64  // of the last event that changed it

	Status      string // a state of package coordination
	Priority    string // urgent, high, medium, low
	Description string
	Background  string // the context section of the task file
	Source      string
	Simple      bool
	SessionKey  string // the session that started it; ""
	CreatedBy   string // the agent that added it to the backlog; ""

	WorkSessionID, PreviousWorkSessionID string

	CreatedAt, ActiveAt, EndedAt int64 // ms since 1970; EndedAt is 0 until it is completed, cancelled or abandoned
	Focus                        int64 // seq of the event that last started or resumed it; the highest among tasks in progress is in focus

	Steps         []coordination.TaskStep // in order
	ProgressCount int
	Progress      string // the last line; ""

	Blocked Blocked
	Backlog Backlog
	Outcome Outcome
}

// Blocked is what a blocked task waits for.
type Blocked struct {
	Reason      string
	By          []string // agents that can help
	Action      string   // what they are to do
	Requests    int      // requests for help sent
	LastIndex   int      // index in By of the agent asked last; -1 for none
	LastAskedAt int64    // ms since 1970; 0 is never
	Escalation  string   // none, requesting, escalated, failed; "" is none
	Failures    int      // undelivered requests in a row
}

// Backlog holds the scheduling of a task; it remains after the start.
type Backlog struct {
	Assignee                     string
	DependsOn                    []string // task ids, of any agent
	Effort                       string
	StartDate, DueDate           string
	MilestoneID, MilestoneItemID string
	Reassigned                   int // returns to the backlog for lack of progress
}

// Outcome is the end of a task; Kind is "" before.
type Outcome struct {
	Kind    string `json:"kind"` // completed, cancelled, error, interrupted
	Summary string `json:"summary,omitempty"`
	Reason  string `json:"reason,omitempty"`
	By      string `json:"by,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Terminal reports whether the task is over.
func (t *Task) Terminal() bool { return Terminal(t.Status) }

// Terminal reports whether a state is final.
func Terminal(status string) bool {
	switch status {
	case coordination.StateCompleted, coordination.StateCancelled, coordination.StateAbandoned, coordination.StateFailed:
		return true
	}
	return false
}

// Delegation is work of a task that a sub-agent does.
type Delegation struct {
	ID, TaskID, Agent  string // Agent is the sub-agent.
	From               string // the delegating agent
	JobID, RunID       string // of the current or last attempt
	ChildKey, Label    string
	Work               string
	Status             string // spawned, running, completed, failed, verified, rejected, retrying, abandoned
	Retries, Most      int
	Snapshot, Error    string
	Note, DecidedBy    string
	CreatedAt, EndedAt int64 // ms since 1970; EndedAt is 0 during an attempt
	Seq, Last          int64
}

// Event is an event to append to the task's stream, in order. AgentID is the agent concerned.
type Event struct {
	Type    string
	AgentID string
	Data    any
}

// Limits of a task.
const (
	MaxText        = 32 << 10 // bytes of a description, a context, a summary, a reason
	MaxLine        = 8 << 10  // bytes of a line of progress
	MaxSteps       = 200      // including replaced, skipped and done ones
	MaxStepText    = 2_000    // bytes
	MaxDepends     = 50
	MaxUnblockers  = 20
	MaxDelegations = 500   // of one task
	MaxOpen        = 1_000 // tasks of one agent that are not over
	DefaultRetries = 3     // of a delegation
	SnapshotLength = 10_000
)
