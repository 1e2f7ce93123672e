package coordination

import "strings"

// Status is the activity of a work session.
type Status string

const (
	StatusActive   Status = "ACTIVE"
	StatusQuiet    Status = "QUIET"
	StatusArchived Status = "ARCHIVED"
)

// ArchiveAfterMs is the silence after which a work session is archived.
const ArchiveAfterMs = 24 * 60 * 60 * 1000

// Terminal reports whether an event, as the latest of its work session, ends it. Completed and cancelled tasks are terminal by type
// under both sets of rules: their events carry no status. So are ends of our own runs and flows, and refused messages; open work is
// known separately.
func Terminal(_ Rules, r *Record) bool {
	switch r.Type {
	case TypeA2AComplete, TypeContinuationComplete, TypeContinuationCompleted,
		TypeTaskCompleted, TypeTaskForceCompleted, TypeTaskCancelled,
		TypeRunEnded, TypeRunFailed, TypeRunAborted, TypeRunTimedOut,
		TypeA2AJobCompleted, TypeA2AJobFailed, TypeA2AJobAbandoned, TypeA2AJobCancelled,
		TypeA2AForbidden, TypeA2ADispatchFailed, TypeA2ASendPolicyRejected,
		TypeA2ACollaborateResponded, TypeA2ACollaborateFailed:
		return true
	case TypeA2ASpawnResult:
		return r.Facts.Status == SpawnError || r.Facts.Status == SpawnKilled
	}
	return strings.HasPrefix(r.Type, "task.") && terminalTaskState(firstText(r.Facts.Status, r.Status))
}

// Aside reports whether an event is about execution, such as transcripts, queues and posts, which never decides whether a work session
// has ended.
func Aside(r *Record) bool {
	return hasAnyPrefix(r.Type, []string{"session.", "work.", "discord.", "thread."})
}

// SessionStatus is a work session's status at nowMs. lastMs and latestTerminal are of its latest event; open reports whether a
// conversation, task, flow or run of it is open.
func SessionStatus(nowMs, lastMs float64, latestTerminal, open bool) Status {
	switch {
	case nowMs-lastMs > ArchiveAfterMs:
		return StatusArchived
	case latestTerminal && !open:
		return StatusQuiet
	}
	return StatusActive
}
