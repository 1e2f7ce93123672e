package coordination

// TaskStep is a step of a task. A step's id is unique in its task and never used again.
type TaskStep struct {
	ID      string `json:"id"` // s1, s2, ...
	Content string `json:"content"`
	Status  string `json:"status"` // pending, in_progress, done, skipped
	Order   int    `json:"order"`  // from 1
}

// In all task events, Progress is a line added to the task's progress.

// TaskStarted is the data of task.started, the first event of its task. It has everything about the task.
type TaskStarted struct {
	Context
	Priority         string     `json:"priority"`
	RequiresApproval bool       `json:"requiresApproval"`
	Description      string     `json:"description,omitempty"`
	Title            string     `json:"title,omitempty"`   // the first line of the description, at most 200 characters
	Background       string     `json:"context,omitempty"` // the context section of the task file
	Source           string     `json:"source,omitempty"`  // user, self, request:<agent>
	Simple           bool       `json:"simple,omitempty"`
	Steps            []TaskStep `json:"steps,omitempty"`
	SessionKey       string     `json:"sessionKey,omitempty"` // the session that started it
	Progress         string     `json:"progress,omitempty"`
}

// TaskUpdated is the data of task.updated. Steps are the changed ones in their new form; with StepsReplaced, all steps. Only people set
// the priority.
type TaskUpdated struct {
	Context
	ProgressCount int        `json:"progressCount"` // afterwards
	Status        string     `json:"status,omitempty"`
	Action        string     `json:"action,omitempty"`
	StepID        string     `json:"stepId,omitempty"`
	Summary       string     `json:"summary,omitempty"`
	Steps         []TaskStep `json:"steps,omitempty"`
	StepsReplaced bool       `json:"stepsReplaced,omitempty"`
	Priority      string     `json:"priority,omitempty"`  // of set_priority: the new one
	DecidedBy     string     `json:"decidedBy,omitempty"` // the deciding person, if not the owner
	Progress      string     `json:"progress,omitempty"`
}

// TaskState is the data of task.completed, task.force_completed, task.cancelled, task.approved, task.resumed,
// task.backlog_picked, task.stop_guard_blocked, task.verified, task.rejected, task.retrying and backlog.auto_picked.
type TaskState struct {
	Context
	Status         string     `json:"status,omitempty"`
	Reason         string     `json:"reason,omitempty"`
	Summary        string     `json:"summary,omitempty"`
	DecidedBy      string     `json:"decidedBy,omitempty"` // the deciding agent or person, if not the owner
	RemainingSteps []string   `json:"remainingSteps,omitempty"`
	Unverified     []string   `json:"unverified,omitempty"` // delegations not verified when the task was completed
	DelegationID   string     `json:"delegationId,omitempty"`
	SessionKey     string     `json:"sessionKey,omitempty"` // the session that picked it
	Steps          []TaskStep `json:"steps,omitempty"`      // of task.approved: the changed ones in their new form
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

// TaskBacklogAdded is the data of task.backlog_added, the first event of its task; the event's agent added it.
type TaskBacklogAdded struct {
	Context
	Assignee        string   `json:"assignee"` // owner
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
	Reason              string `json:"reason,omitempty"` // why the agent was prompted; of continuation.backoff: the failure
	ConsecutiveFailures int    `json:"consecutiveFailures,omitempty"`
	BackoffMs           int64  `json:"backoffMs,omitempty"`
	BackoffUntilMs      int64  `json:"backoffUntilMs,omitempty"` // ms since 1970
	RunID               string `json:"runId,omitempty"`          // queued; of continuation.backoff: the failed one
	Error               string `json:"error,omitempty"`          // of continuation.backoff: why no run could be queued
	StepID              string `json:"stepId,omitempty"`         // the task's current step
	Measured            int    `json:"measured,omitempty"`       // progress of the task: steps done or skipped; without steps, lines of progress
}

// Unblock is the data of the unblock types; the event's agent is the blocked one. unblock.failed with a target: this request was not
// delivered; without one: no further agent is asked, and the problem was escalated.
type Unblock struct {
	Context
	TargetAgentID string `json:"targetAgentId,omitempty"`
	ToldAgentID   string `json:"toldAgentId,omitempty"` // of unblock.failed without a target; "" notifies people only
	RunID         string `json:"runId,omitempty"`       // queued
	RequestCount  int    `json:"requestCount,omitempty"`
	Failures      int    `json:"failures,omitempty"`
	Reason        string `json:"reason,omitempty"`
	Dependency    string `json:"dependency,omitempty"` // of reason dependency_gone: the dependencies that cannot complete
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
	ToldAgentID   string  `json:"toldAgentId,omitempty"` // of an escalation; "" notifies people only
	RunID         string  `json:"runId,omitempty"`       // queued
	Progress      string  `json:"progress,omitempty"`
}

// Plan is the data of the plan types. plan.submitted has everything about the plan.
type Plan struct {
	Context
	PlanID         string   `json:"planId"`
	AgentID        string   `json:"agentId,omitempty"` // the submitting agent
	Title          string   `json:"title,omitempty"`
	StepsCount     int      `json:"stepsCount,omitempty"`
	Steps          []string `json:"steps,omitempty"`          // of plan.submitted: in order
	ToolsRequested []string `json:"toolsRequested,omitempty"` // of plan.submitted: requested tool names, lower case
	SessionKey     string   `json:"sessionKey,omitempty"`     // of plan.submitted: the submitting session
	DecidedBy      string   `json:"decidedBy,omitempty"`      // of the others: the deciding agent or person; openclawd if its task has ended
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
