// Package plan decides about plans: the steps and tools that an agent proposes for a task, and whether a lead or a person approves them.
// It is pure: ids are passed in, and its inputs are read in the transaction that appends its decisions.
//
// A plan has its own stream, beginning with plan.submitted, which has the whole immutable plan.
//
//	pending            -> approved | rejected
//	approved, rejected                          final
//
// An approved plan opens its tools to the sessions of the submitting agent, for its task: see Gate.
package plan

import "github.com/pronto-lab/openclawd/coordination"

const (
	Pending  = "pending"
	Approved = "approved"
	Rejected = "rejected"
)

// Plan is the state of a plan. Apply folds it. Its slices are never changed in place, so a copy is independent.
type Plan struct {
	ID      string // plan_ and 20 hexadecimal digits
	Agent   string // the submitter, lower case
	Version int64  // the stream's, with the last event that changed it
	Seq     int64  // of its first event
	Last    int64  // of the last event that changed it

	TaskID, WorkSessionID string
	SessionKey            string // the submitting session; ""

	Title      string
	Steps      []string // in order; nil if unknown
	StepsCount int      // known even if Steps is not
	Tools      []string // requested tool names, lower case, unique

	Status      string // "" if the plan does not exist
	SubmittedAt int64  // ms since 1970
	DecidedAt   int64  // likewise; 0 while it is pending
	DecidedBy   string // agent or person; ""
	Reason      string // of a rejection; ""
}

// Event is an event to append to the plan's stream. AgentID is the plan's agent.
type Event struct {
	Type    string
	AgentID string
	Data    coordination.Plan
}

// Limits of a plan.
const (
	MaxTitle    = 500 // bytes
	MaxSteps    = 50
	MaxStepText = 2_000 // bytes
	MaxTools    = 50
	MaxToolName = 64      // bytes
	MaxReason   = 8 << 10 // bytes
	MaxPending  = 100     // pending plans of one agent
)
