// Package agents reads how agents are doing from the tables of several projections, and decides what their status is.
package agents

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections/index"
)

// Status is what an agent does, or why it does nothing.
type Status string

// Statuses, in order of precedence: the first that applies is the agent's. A call of a tool that waits for approval
// comes before Queued, since its run is parked.
const (
	Unconfigured Status = "unconfigured" // the configuration in force does not have it
	Running      Status = "running"      // a run of it is under way
	Offline      Status = "offline"      // its bot is not connected to Discord
	Backoff      Status = "backoff"      // its last prompts failed, and the next one waits
	Queued       Status = "queued"       // runs of it wait to be started
	Blocked      Status = "blocked"      // a task of it is blocked, and none is in progress
	Waiting      Status = "waiting"      // it waits for another agent's answer, or a task, a plan or a call of a tool of it for approval
	Working      Status = "working"      // a task of it is in progress, without a run at this moment
	Interrupted  Status = "interrupted"  // a task of it was interrupted
	Idle         Status = "idle"         // none of these
)

// State is how an agent is doing. Times are ms since 1970.
type State struct {
	Activity *index.Activity // nil: no event of it
	Run      *Run            // the running one, else the first queued one; nil: none
	Queue    Queue
	Tokens   Tokens
	Asking   int   // open flows that it began
	Plans    int   // that wait for approval
	Calls    int   // of tools, whose runs are parked until a person decides
	Until    int64 // end of its back-off; 0: none
}

// Run is a run that is not over.
type Run struct {
	RunID string    `json:"runId"`
	State run.State `json:"state"` // queued, running
	Since int64     `json:"since"` // when it was queued, or started
}

// Queue is an agent's queued work: runs and effects, without flows, which wait on purpose.
type Queue struct {
	Waiting  int   `json:"waiting"`
	Running  int   `json:"running"`
	Dead     int   `json:"dead"`     // given up, of flows too
	OldestMs int64 `json:"oldestMs"` // how long the first has waited; 0: none waits
}

// Tokens counts the tokens of the agent's runs that ended on a day, as counted by the providers.
type Tokens struct {
	In  int64  `json:"in"`
	Out int64  `json:"out"`
	Day string `json:"day"` // in the server's time zone, such as 2026-11-23
}

// Situation is the input of StatusOf.
type Situation struct {
	State
	Now        int64          // ms since 1970
	Configured bool           // or the configuration is unknown
	Offline    bool           // its bot should be connected, and is not
	Tasks      map[string]int // open ones by status
}

// StatusOf decides an agent's status. It is the only place that does.
func StatusOf(s *Situation) Status {
	switch {
	case !s.Configured:
		return Unconfigured
	case s.Run != nil && s.Run.State == run.Running:
		return Running
	case s.Offline:
		return Offline
	case s.Until > s.Now:
		return Backoff
	case s.Calls > 0: // before its run, which is parked in the queue
		return Waiting
	case s.Run != nil:
		return Queued
	case s.Tasks[coordination.StateBlocked] > 0 && s.Tasks[coordination.StateInProgress] == 0:
		return Blocked
	case s.Asking > 0 || s.Plans > 0 || s.Tasks[coordination.StatePendingApproval] > 0:
		return Waiting
	case s.Tasks[coordination.StateInProgress] > 0:
		return Working
	case s.Tasks[coordination.StateInterrupted] > 0:
		return Interrupted
	}
	return Idle
}
