package task

import "github.com/pronto-lab/openclawd/coordination"

// leads reports whether a task may go from one state to another.
func leads(from, to string) bool {
	switch from {
	case coordination.StateInProgress:
		switch to {
		case coordination.StateBlocked, coordination.StateCompleted, coordination.StateCancelled, coordination.StateBacklog, coordination.StateInterrupted:
			return true
		}
	case coordination.StateInterrupted:
		return to == coordination.StateInProgress || to == coordination.StateBacklog || to == coordination.StateCancelled
	case coordination.StateBacklog, coordination.StatePendingApproval, coordination.StateBlocked, coordination.StatePending:
		return to == coordination.StateInProgress || to == coordination.StateCancelled
	}
	return false
}

// begins reports whether an event of that type starts or resumes a task in that state.
func begins(typ, from string) bool {
	switch typ {
	case coordination.TypeTaskApproved:
		return from == coordination.StatePendingApproval
	case coordination.TypeTaskResumed:
		return from == coordination.StateBlocked || from == coordination.StateInterrupted
	case coordination.TypeTaskBacklogPicked, coordination.TypeBacklogAutoPicked:
		return from == coordination.StateBacklog || from == coordination.StatePending
	}
	return false
}

const (
	spawned   = "spawned"
	running   = "running"
	completed = "completed"
	failed    = "failed"
	verified  = "verified"
	rejected  = "rejected"
	retrying  = "retrying"
	abandoned = "abandoned"
)

// moves reports whether a delegation may go from one status to another. "" is the status of one that does not exist yet.
func moves(from, to string) bool {
	switch from {
	case "", retrying:
		return to == spawned
	case spawned:
		return to == running || to == failed || to == abandoned
	case running:
		return to == completed || to == failed
	case completed:
		return to == verified || to == rejected
	case rejected, failed:
		return to == retrying || to == abandoned
	}
	return false
}
