package coordination

import "strings"

// Status is how alive a work session is.
type Status string

const (
	StatusActive   Status = "ACTIVE"
	StatusQuiet    Status = "QUIET"
	StatusArchived Status = "ARCHIVED"
)

// ArchiveAfterMs is the silence after which a work session is archived.
const ArchiveAfterMs = 24 * 60 * 60 * 1000

// Terminal says whether an event, being the latest of its work session, is one after which nothing more is expected.
// Tasks that are completed or cancelled are terminal by type under both sets of rules: their events carry no status. So are the ends of our
// own runs and flows, and messages that were refused: what else goes on is known by what is open.
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

// Aside says whether an event tells how something is carried out: what is put into transcripts, queued and posted. Whether anything more is expected
// does not depend on whether such an event came last.
func Aside(r *Record) bool {
	return hasAnyPrefix(r.Type, []string{"session.", "work.", "discord.", "thread."})
}

// SessionStatus is a work session's status at nowMs. lastMs and latestTerminal are of the latest of all its events;
// open says whether a conversation, task, flow or run of it is still open.
func SessionStatus(nowMs, lastMs float64, latestTerminal, open bool) Status {
	switch {
	case nowMs-lastMs > ArchiveAfterMs:
		return StatusArchived
	case latestTerminal && !open:
		return StatusQuiet
	}
	return StatusActive
}
