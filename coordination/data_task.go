package coordination

// TaskStep is a step of a task. A step's id is unique in its task and never used again.
type TaskStep struct {
	ID      string `json:"id"` // s1, s2, ...
	Content string `json:"content"`
	Status  string `json:"status"` // pending, in_progress, done, skipped
	Order   int    `json:"order"`  // from 1
}

// Each event of a task may have Progress: a line that is added to those that the task has.

// TaskStarted is the data of task.started, the first event of its task. All that the task is made of is in it.
type TaskStarted struct {
	Context
	Priority         string     `json:"priority"`
	RequiresApproval bool       `json:"requiresApproval"`
	Description      string     `json:"description,omitempty"`
	Title            string     `json:"title,omitempty"`   // the first line of the description, at most 200 characters
	Background       string     `json:"context,omitempty"` // what the task file calls its context
	Source           string     `json:"source,omitempty"`  // user, self, request:<agent>
	Simple           bool       `json:"simple,omitempty"`
	Steps            []TaskStep `json:"steps,omitempty"`
	SessionKey       string     `json:"sessionKey,omitempty"` // the session that has started it
	Progress         string     `json:"progress,omitempty"`
}

// TaskUpdated is the data of task.updated. Steps are those that changed, as they are now; with StepsReplaced they are all that there are.
type TaskUpdated struct {
	Context
	ProgressCount int        `json:"progressCount"` // afterwards
	Status        string     `json:"status,omitempty"`
	Action        string     `json:"action,omitempty"`
	StepID        string     `json:"stepId,omitempty"`
	Summary       string     `json:"summary,omitempty"`
	Steps         []TaskStep `json:"steps,omitempty"`
	StepsReplaced bool       `json:"stepsReplaced,omitempty"`
	Progress      string     `json:"progress,omitempty"`
}

// TaskState is the data of task.completed, task.force_completed, task.cancelled, task.approved, task.resumed,
// task.backlog_picked, task.stop_guard_blocked, task.verified, task.rejected, task.retrying and backlog.auto_picked.
type TaskState struct {
	Context
	Status         string     `json:"status,omitempty"`
	Reason         string     `json:"reason,omitempty"`
	Summary        string     `json:"summary,omitempty"`
	DecidedBy      string     `json:"decidedBy,omitempty"` // the agent, or the person, who has decided it, where that is not the owner
	RemainingSteps []string   `json:"remainingSteps,omitempty"`
	Unverified     []string   `json:"unverified,omitempty"` // delegations that nobody has looked at when the task was completed
	DelegationID   string     `json:"delegationId,omitempty"`
	SessionKey     string     `json:"sessionKey,omitempty"` // the session that has picked it
	Steps          []TaskStep `json:"steps,omitempty"`      // of task.approved: those that changed, as they are now
	Progress       string     `json:"progress,omitempty"`
}

// TaskBlocked is the data of task.blocked.
type TaskBlocked struct {
	Context
	Reason          string   `json:"reason"`
	UnblockedBy     []string `json:"unblockedBy"`
	UnblockedAction string   `json:"unblockedAction,omitempty"`
	Progress        string   `json:"progress,omitempty"`
}

// TaskBacklogAdded is the data of task.backlog_added, the first event of its task; the event's agent is the one who added it.
type TaskBacklogAdded struct {
	Context
	Assignee        string   `json:"assignee"` // whose task it is
	IsCrossAgent    bool     `json:"isCrossAgent"`
	Priority        string   `json:"priority,omitempty"`
	Description     string   `json:"description,omitempty"`
	Background      string   `json:"context,omitempty"`
	CreatedBy       string   `json:"createdBy,omitempty"`
	DependsOn       []string `json:"dependsOn,omitempty"`
	EstimatedEffort string   `json:"estimatedEffort,omitempty"` // small, medium, large
	StartDate       string   `json:"startDate,omitempty"`
	DueDate         string   `json:"dueDate,omitempty"`
	MilestoneID     string   `json:"milestoneId,omitempty"`
	MilestoneItemID string   `json:"milestoneItemId,omitempty"`
	SessionKey      string   `json:"sessionKey,omitempty"`
	Progress        string   `json:"progress,omitempty"`
}

// Continuation is the data of the continuation types and of resume_reminder.sent.
type Continuation struct {
	Context
	Reason              string `json:"reason,omitempty"` // why the agent was told to go on; of continuation.backoff: what has failed
	ConsecutiveFailures int    `json:"consecutiveFailures,omitempty"`
	BackoffMs           int64  `json:"backoffMs,omitempty"`
	BackoffUntilMs      int64  `json:"backoffUntilMs,omitempty"` // ms since 1970
	RunID               string `json:"runId,omitempty"`          // that was asked for; of continuation.backoff: that has failed
	Error               string `json:"error,omitempty"`          // of continuation.backoff: why the run could not be asked for
	StepID              string `json:"stepId,omitempty"`         // that the task was at
	Measured            int    `json:"measured,omitempty"`       // how far the task was: steps done or skipped, lines of progress where it has no steps
}

// Unblock is the data of the unblock types; the event's agent is the one who is blocked. unblock.failed with a target says that this request
// did not arrive; without one, that nobody is asked any more, and that somebody was told.
type Unblock struct {
	Context
	TargetAgentID string `json:"targetAgentId,omitempty"`
	ToldAgentID   string `json:"toldAgentId,omitempty"` // of unblock.failed without a target; "": people only
	RunID         string `json:"runId,omitempty"`       // that was asked for
	RequestCount  int    `json:"requestCount,omitempty"`
	Failures      int    `json:"failures,omitempty"`
	Reason        string `json:"reason,omitempty"`
	Dependency    string `json:"dependency,omitempty"` // of reason dependency_gone: what the task waits for in vain
	Error         string `json:"error,omitempty"`
	Progress      string `json:"progress,omitempty"`
}

// Values of ZombieAbandoned.Action.
const (
	ZombieMovedToBacklog = "moved_to_backlog"
	ZombieEscalated      = "escalated"
)

// ZombieAbandoned is the data of zombie.abandoned.
type ZombieAbandoned struct {
	Context
	AgeHours      float64 `json:"ageHours"`
	ReassignCount int     `json:"reassignCount"`
	Action        string  `json:"action"`
	ToldAgentID   string  `json:"toldAgentId,omitempty"` // of what was escalated; "": people only
	RunID         string  `json:"runId,omitempty"`       // that was asked for
	Progress      string  `json:"progress,omitempty"`
}

// Plan is the data of the plan types. All that a plan is made of is in plan.submitted.
type Plan struct {
	Context
	PlanID         string   `json:"planId"`
	AgentID        string   `json:"agentId,omitempty"` // the agent that has submitted it
	Title          string   `json:"title,omitempty"`
	StepsCount     int      `json:"stepsCount,omitempty"`
	Steps          []string `json:"steps,omitempty"`          // of plan.submitted: what is to be done, in order
	ToolsRequested []string `json:"toolsRequested,omitempty"` // of plan.submitted: names of the tools that its approval opens, lower case
	SessionKey     string   `json:"sessionKey,omitempty"`     // of plan.submitted: the session that has submitted it
	DecidedBy      string   `json:"decidedBy,omitempty"`      // of the others: the agent, or the person, who has decided it; openclawd where its task has ended
	Reason         string   `json:"reason,omitempty"`         // of plan.rejected
}

// Milestone is the data of the milestone types.
type Milestone struct {
	Context
	MilestoneID     string `json:"milestoneId"`
	MilestoneItemID string `json:"milestoneItemId,omitempty"`
	Status          string `json:"status,omitempty"`
	Error           string `json:"error,omitempty"`
}
