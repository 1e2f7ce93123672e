package coordination

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
)

// maxStreamID limits an id in a stream name, in bytes.
const maxStreamID = 128

// ConfigStream is the stream of config.applied.
const ConfigStream = "config/openclaw.json"

// ConfigPatchStream is the stream of clients' changes to the configuration file.
const ConfigPatchStream = "config/patches"

// WorkSessionStream is the stream of operators' categories of work sessions.
const WorkSessionStream = "work_session/categories"

// SessionStream is the stream of a session, used by its producers; lines of an imported log that claim to be of this family are in their
// agent's stream.
func SessionStream(key SessionKey) string { return "session/" + key.String() }

// RunStream is the stream of a run. An id that cannot be in a stream name is replaced by its hash.
func RunStream(runID string) string { return hashedStream("run/", runID) }

// ToolCallStream is the stream of a call of a tool with an effect outside of this program.
func ToolCallStream(callID string) string { return hashedStream(ToolCallStreams, callID) }

// ToolCallStreams is the prefix of the streams of such calls.
const ToolCallStreams = "tool/"

// ToolOutputStream is the stream of a command's output.
func ToolOutputStream(processID string) string { return hashedStream(ToolOutputStreams, processID) }

// ToolOutputStreams is the prefix of those streams.
const ToolOutputStreams = "process/"

// SandboxStream is the stream of what probes of an agent's sandbox have found.
func SandboxStream(agentID string) string { return hashedStream(SandboxStreams, agentID) }

// SandboxStreams is the prefix of those streams.
const SandboxStreams = "sandbox/"

// MigrationStream is the stream of migrations from a directory of another program.
func MigrationStream(migrationID string) string { return hashedStream(MigrationStreams, migrationID) }

// MigrationStreams is the prefix of those streams.
const MigrationStreams = "migration/"

// CallApprovalStream is the stream of a decision about a call of a tool.
func CallApprovalStream(approvalID string) string {
	return hashedStream(CallApprovalStreams, approvalID)
}

// CallApprovalStreams is the prefix of those streams.
const CallApprovalStreams = "call_approval/"

// WorkStream is the stream of scheduled work.
func WorkStream(effectID string) string { return hashedStream("work/", effectID) }

// Runs of scheduled jobs: their cause, and how their ids begin, which ids of other runs do not.
const (
	CauseCron     = "cron"
	CronRunPrefix = "cron:"
)

// Runs that requests to hooks cause: their cause, how their ids begin, which ids of other runs do not, and the family of their sessions.
const (
	CauseHook     = "hook"
	HookRunPrefix = "hook:"
	HookSessions  = "hook"
)

// CronStream is the stream of a scheduled job and its runs.
func CronStream(jobID string) string { return hashedStream("cron/", jobID) }

// JobStream is the stream of a job: an exchange between agents, or a sub-agent's work.
func JobStream(jobID string) string { return hashedStream("job/", jobID) }

// TaskStream is the stream of a task, its delegations, and its continuation.
func TaskStream(taskID string) string { return hashedStream("task/", taskID) }

// PlanStream is the stream of a plan.
func PlanStream(planID string) string { return hashedStream("plan/", planID) }

// MessageStream is the stream of a message of a channel, beginning with the single decision about it: discord/<id>, or
// telegram/<chat>:<message>.
func MessageStream(messageID string) string {
	if other := OtherChannel(messageID); other != "" {
		return hashedStream(other+"/", strings.TrimPrefix(messageID, other+":"))
	}
	return hashedStream(Discord+"/", messageID)
}

// MessageOfStream is the id of a message as tables have it, by the name of its stream: the id itself, or a hash of an id
// that cannot be in a stream name. It is not ok for streams that are of no message.
func MessageOfStream(stream string) (id string, ok bool) {
	family, rest, _ := strings.Cut(stream, "/")
	c, known := ChannelNamed(family)
	switch {
	case !known || c.Name != family || rest == "":
		return "", false
	case c.Name == Discord:
		return rest, OtherChannel(rest) == "" // else the stream is of none: that message has its own
	}
	return c.Name + ":" + rest, true
}

// ReactionStream is the stream of the reactions to a post. It is not that of the message, which begins with the decision about it.
func ReactionStream(messageID string) string { return hashedStream("reaction/", messageID) }

// PairingStream is the stream of a person's permission to write to agents in a channel; without a person, that of refused codes. A person
// is known by the id in the service, never by a name.
func PairingStream(channel, userID string) string {
	if userID == "" {
		return "pairing/" + channel
	}
	return hashedStream("pairing/", channel+":"+userID)
}

// ThreadStream is the stream of a thread or channel: participants and suspensions.
func ThreadStream(threadID string) string { return hashedStream("thread/", threadID) }

// CollabStream is the stream of an agent's request to another in a thread.
func CollabStream(collabID string) string { return hashedStream("collab/", collabID) }

// SinkStream is the stream of a sink's progress through the log.
func SinkStream(sinkID string) string { return hashedStream("sink/", sinkID) }

func hashedStream(family, id string) string {
	if isStreamID(id) {
		return family + id
	}
	sum := sha256.Sum256([]byte(id))
	return family + "sha256:" + hex.EncodeToString(sum[:])
}

// LogStream is the stream of events that belong to no aggregate.
const LogStream = "log"

// StreamOf names the aggregate whose history an event continues: conversation/<id>, job/<id>, task/<id>, plan/<id>, thread/<id>,
// agent/<id> or "log". An id that is missing, too long, or holds other than letters, digits and ._:- is skipped for the next one that
// fits.
func StreamOf(r *Record) string {
	conversation := streamID{"conversation/", r.ConversationID}
	task := streamID{"task/", r.TaskID}
	thread := streamID{"thread/", r.ThreadID}
	agent := streamID{"agent/", strings.ToLower(firstText(r.AgentID, r.From()))}

	switch family, _, _ := strings.Cut(r.Type, "."); family {
	case "a2a":
		if strings.HasPrefix(r.Type, "a2a.job.") {
			return firstStream(streamID{"job/", r.JobID}, conversation, task, agent)
		}
		return firstStream(conversation, thread, task, agent)
	case "task", "zombie", "unblock", "backlog", "milestone", "delegation":
		return firstStream(task, agent)
	case "plan":
		return firstStream(streamID{"plan/", r.PlanID}, task, agent)
	case "thread", "discord", "collab":
		return firstStream(thread, agent)
	case "continuation", "resume_reminder", "session", "run", "tool", "identity":
		return firstStream(agent)
	}
	return LogStream
}

type streamID struct{ family, id string }

func firstStream(candidates ...streamID) string {
	for _, c := range candidates {
		if isStreamID(c.id) {
			return c.family + c.id
		}
	}
	return LogStream
}

func isStreamID(id string) bool {
	if id == "" || len(id) > maxStreamID {
		return false
	}
	for _, r := range id {
		if r == unicode.ReplacementChar || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._:-", r) {
			return false
		}
	}
	return true
}
