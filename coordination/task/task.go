// Package task decides what becomes of tasks: what an agent may do with one as it stands, and what the log says of it then. It is pure: clock
// and ids are passed in, and what it has to know is read for it in the transaction that appends what it decides.
//
// A task has a stream of its own, from task.started or task.backlog_added on. Each of its events says all that it changes, so that folding
// them gives the task again. A task that was found in a file before it had events is folded from that first.
//
//	backlog           -> in_progress | cancelled
//	pending_approval  -> in_progress | cancelled
//	in_progress       -> blocked | completed | cancelled | backlog | interrupted
//	blocked           -> in_progress | cancelled
//	interrupted       -> in_progress | backlog | cancelled
//	pending           -> in_progress | cancelled            (only files have it)
//	completed, cancelled, abandoned                          nothing follows
//
// What is delegated for a task lies in its stream too:
//
//	spawned   -> running | failed | abandoned
//	running   -> completed | failed
//	completed -> verified | rejected
//	rejected, failed -> retrying | abandoned
//	retrying  -> spawned
//	verified, abandoned                                      nothing follows
package task

import "github.com/pronto-lab/openclawd/coordination"

// Task is how a task stands. Apply folds it. Its slices are never changed in place: a copy of a Task is a Task of its own.
type Task struct {
	ID      string
	Agent   string // whose it is, lower case
	Version int64  // of its stream with the last event that changed it; 0: it is known from a file alone
	Seq     int64  // of the event that made it known
	Last    int64  // seq of the last event that changed it

	Status      string // a state of package coordination
	Priority    string // urgent, high, medium, low
	Description string
	Background  string // what the task file calls its context
	Source      string
	Simple      bool
	SessionKey  string // the session that has started it; ""
	CreatedBy   string // the agent that has put it into the backlog; ""

	WorkSessionID, PreviousWorkSessionID string

	CreatedAt, ActiveAt, EndedAt int64 // ms since 1970; EndedAt is 0 until it is completed, cancelled or abandoned
	Focus                        int64 // seq of the last event by which its agent has turned to it; of those in progress the highest is in focus

	Steps         []coordination.TaskStep // in order
	ProgressCount int
	Progress      string // the last line; ""

	Blocked Blocked
	Backlog Backlog
	Outcome Outcome
}

// Blocked is what a task waits for.
type Blocked struct {
	Reason      string
	By          []string // agents that can help
	Action      string   // what they are to do
	Requests    int      // how often they were asked
	LastIndex   int      // which of By was asked last; -1 is none
	LastAskedAt int64    // ms since 1970; 0 is never
	Escalation  string   // none, requesting, escalated, failed; "" is none
	Failures    int      // requests in a row that did not arrive
}

// Backlog is what there is to know of a task before it is begun. It stays when it is.
type Backlog struct {
	Assignee                     string
	DependsOn                    []string // ids of tasks, of any agent
	Effort                       string
	StartDate, DueDate           string
	MilestoneID, MilestoneItemID string
	Reassigned                   int // how often it went back to the backlog because nobody worked at it
}

// Outcome is how a task has ended. Kind is "" until then.
type Outcome struct {
	Kind    string `json:"kind"` // completed, cancelled, error, interrupted
	Summary string `json:"summary,omitempty"`
	Reason  string `json:"reason,omitempty"`
	By      string `json:"by,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Terminal reports whether nothing happens to the task any more.
func (t *Task) Terminal() bool { return Terminal(t.Status) }

// Terminal reports whether a task in that state is over.
func Terminal(status string) bool {
	switch status {
	case coordination.StateCompleted, coordination.StateCancelled, coordination.StateAbandoned, coordination.StateFailed:
		return true
	}
	return false
}

// Delegation is something that a sub-agent does for a task.
type Delegation struct {
	ID, TaskID, Agent  string // Agent is who does it
	From               string // the agent that has delegated it
	JobID, RunID       string // of the attempt under way, or of the last
	ChildKey, Label    string
	Work               string
	Status             string // spawned, running, completed, failed, verified, rejected, retrying, abandoned
	Retries, Most      int
	Snapshot, Error    string
	Note, DecidedBy    string
	CreatedAt, EndedAt int64 // ms since 1970; EndedAt is 0 while an attempt is under way
	Seq, Last          int64
}

// Event is what a decision makes happen to a task, to be appended to its stream in this order. AgentID is whom it happened to.
type Event struct {
	Type    string
	AgentID string
	Data    any
}

// Bounds of what a task holds.
const (
	MaxText        = 32 << 10 // bytes of a description, a context, a summary, a reason
	MaxLine        = 8 << 10  // bytes of a line of progress
	MaxSteps       = 200      // also of those that were replaced, skipped or done
	MaxStepText    = 2_000    // bytes
	MaxDepends     = 50
	MaxUnblockers  = 20
	MaxDelegations = 500   // of one task
	MaxOpen        = 1_000 // tasks of one agent that are not over
	DefaultRetries = 3     // of a delegation
	SnapshotLength = 10_000
)
