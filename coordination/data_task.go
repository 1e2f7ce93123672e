package coordination

// TaskStarted is the data of task.started.
type TaskStarted struct {
	Context
	Priority         string `json:"priority"`
	RequiresApproval bool   `json:"requiresApproval"`
	Description      string `json:"description,omitempty"`
	Title            string `json:"title,omitempty"`
	Source           string `json:"source,omitempty"`
}

// TaskUpdated is the data of task.updated.
type TaskUpdated struct {
	Context
	ProgressCount int    `json:"progressCount"`
	Status        string `json:"status,omitempty"`
	Action        string `json:"action,omitempty"`
	StepID        string `json:"stepId,omitempty"`
	Summary       string `json:"summary,omitempty"`
}

// TaskState is the data of task.completed, task.force_completed, task.cancelled, task.approved, task.resumed,
// task.backlog_picked, task.stop_guard_blocked, task.verified, task.rejected, task.retrying and backlog.auto_picked.
type TaskState struct {
	Context
	Status         string   `json:"status,omitempty"`
	Reason         string   `json:"reason,omitempty"`
	Summary        string   `json:"summary,omitempty"`
	DecidedBy      string   `json:"decidedBy,omitempty"`
	RemainingSteps []string `json:"remainingSteps,omitempty"`
	DelegationID   string   `json:"delegationId,omitempty"`
}

// TaskBlocked is the data of task.blocked.
type TaskBlocked struct {
	Context
	Reason          string   `json:"reason"`
	UnblockedBy     []string `json:"unblockedBy"`
	UnblockedAction string   `json:"unblockedAction,omitempty"`
}

// TaskBacklogAdded is the data of task.backlog_added; the event's agent is the one who added it.
type TaskBacklogAdded struct {
	Context
	Assignee     string   `json:"assignee"`
	IsCrossAgent bool     `json:"isCrossAgent"`
	Priority     string   `json:"priority,omitempty"`
	Description  string   `json:"description,omitempty"`
	DependsOn    []string `json:"dependsOn,omitempty"`
}

// Continuation is the data of the continuation types and of resume_reminder.sent.
type Continuation struct {
	Context
	Reason              string `json:"reason,omitempty"`
	ConsecutiveFailures int    `json:"consecutiveFailures,omitempty"`
	BackoffMs           int64  `json:"backoffMs,omitempty"`
	RunID               string `json:"runId,omitempty"`
}

// Unblock is the data of the unblock types; the event's agent is the one who is blocked.
type Unblock struct {
	Context
	TargetAgentID string `json:"targetAgentId,omitempty"`
	RequestCount  int    `json:"requestCount,omitempty"`
	Failures      int    `json:"failures,omitempty"`
	Reason        string `json:"reason,omitempty"`
	Error         string `json:"error,omitempty"`
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
}

// Plan is the data of the plan types.
type Plan struct {
	Context
	PlanID     string `json:"planId"`
	AgentID    string `json:"agentId,omitempty"`
	Title      string `json:"title,omitempty"`
	StepsCount int    `json:"stepsCount,omitempty"`
	DecidedBy  string `json:"decidedBy,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// Milestone is the data of the milestone types.
type Milestone struct {
	Context
	MilestoneID     string `json:"milestoneId"`
	MilestoneItemID string `json:"milestoneItemId,omitempty"`
	Status          string `json:"status,omitempty"`
	Error           string `json:"error,omitempty"`
}
