// Package plan decides what becomes of plans: what an agent means to do for a task, in which steps and with which tools, and whether somebody
// else agrees to it. It is pure: ids are passed in, and what it has to know is read for it in the transaction that appends what it decides.
//
// A plan has a stream of its own, from plan.submitted on. What it is made of never changes.
//
//	pending            -> approved | rejected
//	approved, rejected                          nothing follows
//
// A plan that is approved opens the tools that it asks for to the sessions of the agent that has submitted it, for its task: see Gate.
package plan

import "github.com/pronto-lab/openclawd/coordination"

// Statuses of a plan.
const (
	Pending  = "pending"
	Approved = "approved"
	Rejected = "rejected"
)

// Plan is how a plan stands. Apply folds it. Its slices are never changed in place: a copy of a Plan is a Plan of its own.
type Plan struct {
	ID      string // plan_ and 20 hexadecimal digits
	Agent   string // that has submitted it, lower case
	Version int64  // of its stream with the last event that changed it
	Seq     int64  // of the event that made it known
	Last    int64  // seq of the last event that changed it

	TaskID, WorkSessionID string
	SessionKey            string // the session that has submitted it; ""

	Title      string
	Steps      []string // in order; nil where it is not known any more, or never was, what they are
	StepsCount int      // how many there are, known or not
	Tools      []string // names of the tools that it asks for, lower case, each once

	Status      string // "" is that of one that there is not
	SubmittedAt int64  // ms since 1970
	DecidedAt   int64  // likewise; 0 while it is pending
	DecidedBy   string // the agent, or the person; ""
	Reason      string // why it was rejected; ""
}

// Event is what a decision makes happen to a plan, to be appended to its stream. AgentID is whose plan it is.
type Event struct {
	Type    string
	AgentID string
	Data    coordination.Plan
}

// Bounds of what a plan holds.
const (
	MaxTitle    = 500 // bytes
	MaxSteps    = 50
	MaxStepText = 2_000 // bytes
	MaxTools    = 50
	MaxToolName = 64      // bytes
	MaxReason   = 8 << 10 // bytes
	MaxPending  = 100     // plans of one agent that are pending
)
