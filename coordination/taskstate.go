package coordination

import "strings"

const (
	StatePending         = "pending"
	StatePendingApproval = "pending_approval"
	StateInProgress      = "in_progress"
	StateBlocked         = "blocked"
	StateBacklog         = "backlog"
	StateCompleted       = "completed"
	StateCancelled       = "cancelled"
	StateAbandoned       = "abandoned"
	StateInterrupted     = "interrupted"
	StateFailed          = "failed"
)

// TaskChange is the effect of one event on the state of its task.
type TaskChange struct {
	Affects bool
	State   string
	// OnlyIfUnknown marks a guess: State applies only to a task whose state is unknown. Progress on a blocked task does not unblock it.
	OnlyIfUnknown bool
}

// TaskStateOf returns the task state that an event implies; events are folded by time, then seq.
//
//	task.started                                     in_progress, or pending_approval with requiresApproval
//	task.approved, .resumed, .backlog_picked         in_progress
//	backlog.auto_picked                              in_progress
//	task.blocked                                     blocked
//	task.backlog_added                               backlog
//	task.completed, .force_completed                 completed; an explicit terminal status wins
//	task.cancelled                                   cancelled; likewise
//	zombie.abandoned                                 backlog, or interrupted when it was escalated
//	task.updated and every other task event          the explicit status if it is a state, else in_progress if unknown
//
// The explicit status is data.status, else the one beside data. The caller checks TaskID.
func TaskStateOf(r *Record) TaskChange {
	explicit := firstText(r.Facts.Status, r.Status)
	switch r.Type {
	case TypeTaskStarted:
		if r.RequiresApproval {
			return taskIn(StatePendingApproval)
		}
		return taskIn(StateInProgress)
	case TypeTaskApproved, TypeTaskResumed, TypeTaskBacklogPicked, TypeBacklogAutoPicked:
		return taskIn(StateInProgress)
	case TypeTaskBlocked:
		return taskIn(StateBlocked)
	case TypeTaskBacklogAdded:
		return taskIn(StateBacklog)
	case TypeTaskCompleted, TypeTaskForceCompleted:
		return taskEnded(explicit, StateCompleted)
	case TypeTaskCancelled:
		return taskEnded(explicit, StateCancelled)
	case TypeZombieAbandoned:
		if r.Action == ZombieEscalated {
			return taskIn(StateInterrupted)
		}
		return taskIn(StateBacklog)
	}
	switch {
	case !strings.HasPrefix(r.Type, "task."):
		return TaskChange{}
	case isTaskState(explicit):
		return taskIn(explicit)
	}
	return TaskChange{Affects: true, State: StateInProgress, OnlyIfUnknown: true}
}

func taskIn(state string) TaskChange { return TaskChange{Affects: true, State: state} }

func taskEnded(explicit, usual string) TaskChange {
	if terminalTaskState(explicit) {
		return taskIn(explicit)
	}
	return taskIn(usual)
}

func terminalTaskState(state string) bool {
	switch state {
	case StateCompleted, StateCancelled, StateAbandoned, StateFailed:
		return true
	}
	return false
}

func isTaskState(state string) bool {
	switch state {
	case StatePending, StatePendingApproval, StateInProgress, StateBlocked, StateBacklog, StateInterrupted:
		return true
	}
	return terminalTaskState(state)
}
