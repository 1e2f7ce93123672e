// Package continuation decides what is done so that an agent goes on with its tasks: whether it is prompted, with what, or whom else is asked.
// It is pure: clock and policy are passed in, and so is all that is read for it in the transaction that appends what it decides.
//
// There is one decision, and one place that carries it out. Next looks at everything of one agent and names the one thing to be done now; what
// Decision.Events gives is appended together with the run or the message that it asks for. State folds those events, so that no cause has two
// prompts and a restart forgets nothing. After each event of the agent Next is asked again, until it says Nothing; then not before LookAgainAt.
//
// What holds a prompt back, the first reason first:
//
//	nothing that is not over, a task that waits for approval, be it for that of its plan, a run under way
//	what nobody works at is recovered
//	back-off after failures, the same prompt not long ago, not idle for long enough
//	what is blocked is asked for, before the agent is told to go on
//	what can never begin is told of, where there is nothing else to do
//
// Two things are not held by all of that. What is asked of other agents waits neither for approval nor for idleness of the one who is blocked.
// And after a run that ended well there is no waiting: the agent goes on with its steps, as long as it comes on. One that does not is prompted ever
// more seldom: see Pause.
package continuation

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination/task"
)

// Policy says how long things wait. All of it is set; DefaultPolicy is as specified.
type Policy struct {
	Enabled   bool
	Idle      time.Duration // without a run and without change of the task, before the agent is told to go on
	Pick      time.Duration // without a run, before the next task of the backlog is begun
	ZombieTTL time.Duration // without change of a task in progress; longer, and it is taken away
}

// DefaultPolicy is what holds where nothing is configured.
func DefaultPolicy() Policy {
	return Policy{Enabled: true, Idle: 3 * time.Minute, Pick: 2 * time.Minute, ZombieTTL: 24 * time.Hour}
}

// What is fixed.
const (
	SameTask       = 5 * time.Minute  // between two prompts to go on with one task, where no run has ended well in between
	FirstPause     = 30 * time.Second // after the first prompt that has changed nothing; each further one has the next one wait twice as long, 2 h at most
	AskPause       = 30 * time.Minute // between two requests to unblock a task, and after the last one
	AskAgain       = 5 * time.Minute  // after a request that could not be delivered
	RemindPause    = 3 * time.Minute  // before the first reminder after a request; each further one waits twice as long
	SummaryPause   = 5 * time.Minute  // between two prompts about restarts
	MaxAsks        = 3                // requests to unblock a task
	MaxAskFailures = 3                // in a row
	MaxReassigned  = 3                // how often a task is taken away, the last time for good
	MaxDriven      = 20               // prompts without progress, until the agent is left alone after its runs
	MaxDefines     = 3                // prompts to define steps
	SameStepLimit  = 3                // the prompt about one step that asks what is wrong
	StalledLimit   = 5                // the prompt without progress that asks what is wrong; then every so many
	MaxOverflows   = 5                // runs in a row whose context was too long, until the session starts over

	setBack = time.Hour // how much longer than the longest pause something may wait, before the clock is taken to have been set back
)

// Situation is all that a decision about one agent depends on.
type Situation struct {
	Agent  string
	Policy Policy
	State  State
	Tasks  []task.Task // the agent's; those that are over, or in the backlog, do not matter

	Pickable   *task.Task // the first of the backlog that can begin, nil if there is none
	PickableAt int64      // when time alone makes another one so, ms since 1970; 0 never
	Waiting    int        // tasks in the backlog, in all
	Stuck      Stuck      // those of them that can never begin; not read where something is in progress, or can begin
	Renewed    string     // the work session that Pickable joins when it is begun; "" is its own
	Planned    []string   // tasks whose last plan waits for approval

	Busy        bool     // a run of the agent is queued or under way, in its main session or another of its own
	RestartedAt int64    // when the process began, if another one was there before; 0 if not. ms since 1970
	Barred      []string // agents that this one must not write to, or that there are no more
	Lead        string   // the agent to tell what cannot be helped; "" if there is none, or it is the agent itself
}

// Kind is what is done.
type Kind string

const (
	Nothing  Kind = "nothing"
	Continue Kind = "continue" // the agent is told to go on
	Pick     Kind = "pick"     // a task of the backlog is begun, and the agent is told
	Ask      Kind = "ask"      // another agent is asked to unblock a task
	Remind   Kind = "remind"   // the agent is asked whether a task is still blocked
	Recover  Kind = "recover"  // a task that nobody works at is taken away
	Escalate Kind = "escalate" // somebody is asked what is wrong
	Reset    Kind = "reset"    // the main session starts over
	Restart  Kind = "restart"  // the agent is told of a restart, and what it was at
)

// Reason is why. It is a code: programs may rely on it.
type Reason string

// Reasons of Nothing, in the order in which they count.
const (
	Disabled    Reason = "disabled"
	Done        Reason = "done"        // no task that is not over
	Approval    Reason = "approval"    // what it would be at waits for approval
	Busy        Reason = "busy"        // a run is queued or under way, or a prompt on its way
	InBackoff   Reason = "backoff"     // prompts have failed
	Cooldown    Reason = "cooldown"    // it was prompted for this task not long ago
	NotIdle     Reason = "not_idle"    // its last run, or the last change of the task, is not long ago
	Blocked     Reason = "blocked"     // somebody was asked, or is going to be
	NotYet      Reason = "not_yet"     // the backlog holds what begins later, or depends on other tasks
	Told        Reason = "told"        // it is blocked, or can never begin, and those who can help have been told
	Interrupted Reason = "interrupted" // only what was taken away for good
)

// Reasons of everything else.
const (
	Idle             Reason = "idle"            // Continue: nobody has done anything for a while
	SelfDriving      Reason = "self_driving"    // Continue: a run has ended well, and steps remain
	StepsMissing     Reason = "steps_missing"   // Continue: a run has ended well, and the task has no steps
	FromBacklog      Reason = "backlog"         // Pick
	UnblockRequest   Reason = "unblock"         // Ask
	StillBlocked     Reason = "still_blocked"   // Remind
	Zombie           Reason = "zombie"          // Recover
	SameStep         Reason = "same_step"       // Escalate, to the agent itself
	NoProgress       Reason = "no_progress"     // likewise
	NoAnswer         Reason = "no_answer"       // Escalate, to the lead: those who were asked have not helped
	NotDelivered     Reason = "not_delivered"   // likewise: they could not be reached
	NobodyToAsk      Reason = "nobody_to_ask"   // likewise: there is nobody who may be asked
	DependencyGone   Reason = "dependency_gone" // likewise: what a task of the backlog depends on is over and not completed, or is not known
	Overflow         Reason = "context_reset"   // Reset
	GatewayRestarted Reason = "restart"         // Restart
)

// Decision is the one thing to do. Key is another one for each cause, of each agent, and the same one until the events of the decision are folded:
// what is done under it is done once.
type Decision struct {
	Kind    Kind
	Reason  Reason
	Agent   string
	TaskID  string // "" where it is about none
	Key     string
	To      string // the agent that Prompt is for: its main session; "" with a Prompt: nobody but people
	Prompt  string // "" where nobody is told
	Visible bool   // people are to see it too
	Attempt int    // of Ask and Recover, from 1

	// LookAgainAt is of Nothing: when time alone can change it, ms since 1970, in the future; 0 never. After everything else Next is asked again as
	// soon as it is done.
	LookAgainAt int64

	Action   string  // of Recover: as of coordination.ZombieAbandoned
	AgeHours float64 // of Recover: without change of the task
	StepID   string  // that the agent is at
	Measured int     // how far the task was, see Care.Measured

	DependsOn string // of DependencyGone: what the task waits for in vain
	Status    string // of DependencyGone: how that stands, "" where it is not known
}
