// Package continuation decides how an agent continues its tasks: whether it is prompted, with what text, or which
// other agent is asked. It is pure: clock and policy are passed in, and so is everything that is read for it in the
// transaction that appends its decision.
//
// There is one decision, and one place that executes it. Next evaluates the whole situation of one agent and returns
// the one thing to do now; the result of Decision.Events is appended together with the run or the message that it
// requests. State folds those events, so that no cause leads to two prompts and a restart forgets nothing. After each
// event of the agent Next is called again, until it returns Nothing; then not before LookAgainAt.
//
// Reasons that hold a prompt back, in order of precedence:
//
//	no open task, a task or its plan waits for approval, a run in progress
//	a task that is not worked on is recovered
//	back-off after failures, a recent equal prompt, not idle for long enough
//	help for blocked tasks is requested before the agent is told to continue
//	tasks that can never begin are reported if there is nothing else to do
//
// Two things are exempt. Requests to other agents wait neither for approval nor for idleness of the blocked agent. And
// after a successful run there is no waiting: the agent continues with its steps, as long as it makes progress.
// Without progress it is prompted less and less often: see Pause.
package continuation

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination/task"
)

// Policy is how long to wait for each action. All fields must be set; DefaultPolicy has the defaults of docs/operations/tasks.md.
type Policy struct {
	Enabled   bool
	Idle      time.Duration // without a run and without change of the task, before the agent is prompted
	Pick      time.Duration // without a run, before the next backlog task is started
	ZombieTTL time.Duration // without change of a task in progress, before it is returned to the backlog
}

// DefaultPolicy applies where nothing is configured.
func DefaultPolicy() Policy {
	return Policy{Enabled: true, Idle: 3 * time.Minute, Pick: 2 * time.Minute, ZombieTTL: 24 * time.Hour}
}

// Fixed limits.
const (
	SameTask       = 5 * time.Minute  // between two prompts to continue a task without a successful run in between
	FirstPause     = 30 * time.Second // after the first prompt without progress; doubles each time, up to 2 h
	AskPause       = 30 * time.Minute // between two requests to unblock a task, and after the last one
	AskAgain       = 5 * time.Minute  // after a request that could not be delivered
	RemindPause    = 3 * time.Minute  // before the first reminder after a request; each further one waits twice as long
	SummaryPause   = 5 * time.Minute  // between two prompts about restarts
	MaxAsks        = 3                // requests to unblock a task
	MaxAskFailures = 3                // in a row
	MaxReassigned  = 3                // times a task is returned to the backlog, the last time interrupting it
	MaxDriven      = 20               // prompts without progress before successful runs no longer trigger one
	MaxDefines     = 3                // prompts to define steps
	SameStepLimit  = 3                // the prompt about one step that asks what is wrong
	StalledLimit   = 5                // the prompt without progress that asks what is wrong, and every such number after it
	MaxOverflows   = 5                // runs in a row with a context overflow, until the session is reset

	setBack = time.Hour // a wait longer than the longest pause by this much means that the clock was set back
)

// Situation is the input of a decision about one agent.
type Situation struct {
	Agent  string
	Policy Policy
	State  State
	Tasks  []task.Task // of the agent; ended and backlog tasks are ignored

	Pickable   *task.Task // the first backlog task that can start, nil for none
	PickableAt int64      // next time that makes another one startable, ms since 1970; 0 for never
	Waiting    int        // number of backlog tasks
	Stuck      Stuck      // backlog tasks that can never start; not read if a task is in progress or can start
	Renewed    string     // the work session that Pickable joins at its start; "" is its own
	Planned    []string   // tasks whose last plan waits for approval

	Busy        bool     // a run is queued or running in one of the agent's own sessions
	RestartedAt int64    // start of the process after an earlier one, ms since 1970; 0 for the first
	Barred      []string // agents that this one may not write to, or that do not exist
	Lead        string   // the agent to escalate to; "" for none, or the agent itself
}

// Kind is the kind of an action.
type Kind string

const (
	Nothing  Kind = "nothing"
	Continue Kind = "continue" // prompt the agent to continue
	Pick     Kind = "pick"     // start a backlog task and prompt the agent
	Ask      Kind = "ask"      // ask another agent to unblock a task
	Remind   Kind = "remind"   // ask the agent whether a task is still blocked
	Recover  Kind = "recover"  // return a task without progress to the backlog, or interrupt it
	Escalate Kind = "escalate" // ask what is wrong
	Reset    Kind = "reset"    // reset the main session
	Restart  Kind = "restart"  // prompt the agent about its tasks after a restart
)

// Reason is a stable code.
type Reason string

// Reasons of Nothing, in order of precedence.
const (
	Disabled    Reason = "disabled"
	Done        Reason = "done"        // no open task
	Approval    Reason = "approval"    // its next work waits for approval
	Busy        Reason = "busy"        // a run is queued or running, or a prompt is on its way
	InBackoff   Reason = "backoff"     // prompts failed
	Cooldown    Reason = "cooldown"    // recently prompted for this task
	NotIdle     Reason = "not_idle"    // its last run or the last change of the task is recent
	Blocked     Reason = "blocked"     // help was requested or will be
	NotYet      Reason = "not_yet"     // backlog tasks start later, or depend on other tasks
	Told        Reason = "told"        // blocked or never startable, and reported
	Interrupted Reason = "interrupted" // only interrupted tasks
)

// Reasons of actions.
const (
	Idle             Reason = "idle"            // Continue: no change for a while
	SelfDriving      Reason = "self_driving"    // Continue: a run succeeded, and steps remain
	StepsMissing     Reason = "steps_missing"   // Continue: a run succeeded, and the task has no steps
	FromBacklog      Reason = "backlog"         // Pick
	UnblockRequest   Reason = "unblock"         // Ask
	StillBlocked     Reason = "still_blocked"   // Remind
	Zombie           Reason = "zombie"          // Recover
	SameStep         Reason = "same_step"       // Escalate, to the agent itself
	NoProgress       Reason = "no_progress"     // likewise
	NoAnswer         Reason = "no_answer"       // Escalate, to the lead: requests for help were not answered
	NotDelivered     Reason = "not_delivered"   // likewise: they were not delivered
	NobodyToAsk      Reason = "nobody_to_ask"   // likewise: no agent may be asked
	DependencyGone   Reason = "dependency_gone" // likewise: a dependency of a backlog task ended incomplete, or is unknown
	Overflow         Reason = "context_reset"   // Reset
	GatewayRestarted Reason = "restart"         // Restart
)

// Decision is the one thing to do. Key differs for each cause of each agent, and stays the same until the events of
// the decision are folded: it makes the action idempotent.
type Decision struct {
	Kind    Kind
	Reason  Reason
	Agent   string
	TaskID  string // "" for none
	Key     string
	To      string // the agent whose main session gets Prompt; "" with a Prompt: people only
	Prompt  string // "" for none
	Visible bool   // show it to people, too
	Attempt int    // of Ask and Recover, from 1

	// LookAgainAt is of Nothing: the next time the result may change without an event, ms since 1970, in the future; 0 for never. After
	// an action Next is called again at once.
	LookAgainAt int64

	Action   string  // of Recover: see coordination.ZombieAbandoned
	AgeHours float64 // of Recover: hours without change of the task
	StepID   string  // the agent's current one
	Measured int     // progress of the task, see Care.Measured

	DependsOn string // of DependencyGone: the dependency
	Status    string // of DependencyGone: its state, "" if unknown
}
