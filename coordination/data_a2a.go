package coordination

// Values of data.outcome in responses and completions.
const (
	OutcomeValueBlocked   = "blocked"   // not delivered
	OutcomeValueNoReply   = "no_reply"  // delivered, but not answered
	OutcomeValueFailed    = "failed"    // the flow itself failed
	OutcomeValueAbandoned = "abandoned" // the job was given up
	OutcomeValueCancelled = "cancelled" // stopped by a user or agent
	OutcomeValueKilled    = "killed"    // a sub-agent was stopped
	OutcomeValueTimeout   = "timeout"   // a sub-agent took too long
)

// A2ASend is the data of a2a.send: a message or a spawn. Message is at most 4000 characters.
type A2ASend struct {
	Context
	FromAgent        string `json:"fromAgent"`
	ToAgent          string `json:"toAgent"`
	TargetSessionKey string `json:"targetSessionKey,omitempty"`
	RouteKey         string `json:"routeKey,omitempty"` // of a message: see RouteOfSession
	Message          string `json:"message"`
	ReplyPreview     string `json:"replyPreview,omitempty"` // spawns only
	RunID            string `json:"runId,omitempty"`
	JobID            string `json:"jobId,omitempty"`
	MessageIntent    string `json:"messageIntent,omitempty"`
	PayloadType      string `json:"payloadType,omitempty"`
	PayloadJSON      string `json:"payloadJson,omitempty"`

	PayloadWarnings []string `json:"payloadWarnings,omitempty"` // why a payload was dropped, or conflicts with an open one
	Origin          string   `json:"origin,omitempty"`          // tool, http, cli, discord, ...
}

// A2AResponse is the data of a2a.response. Without an answer, Outcome is set and Message explains it.
type A2AResponse struct {
	Context
	FromAgent           string `json:"fromAgent"`
	ToAgent             string `json:"toAgent"`
	TargetSessionKey    string `json:"targetSessionKey,omitempty"`
	RouteKey            string `json:"routeKey,omitempty"` // as in its a2a.send
	Message             string `json:"message,omitempty"`
	ReplyPreview        string `json:"replyPreview"` // at most 200 characters
	RunID               string `json:"runId,omitempty"`
	JobID               string `json:"jobId,omitempty"`
	Turn                int    `json:"turn,omitempty"` // 1 to MaxTurns; 0 is the answer before any ping-pong
	MaxTurns            int    `json:"maxTurns,omitempty"`
	MessageIntent       string `json:"messageIntent,omitempty"`
	TerminationReason   string `json:"terminationReason,omitempty"`
	PayloadType         string `json:"payloadType,omitempty"`
	PayloadJSON         string `json:"payloadJson,omitempty"`
	InResponseToPayload string `json:"inResponseToPayloadType,omitempty"`
	Outcome             string `json:"outcome,omitempty"`
	WaitStatus          string `json:"waitStatus,omitempty"`
	WaitError           string `json:"waitError,omitempty"`
	ErrorClass          string `json:"errorClass,omitempty"` // of the run that gave no answer, as in run.failed
	ConcurrencyBlocked  bool   `json:"concurrencyBlocked,omitempty"`
}

// A2AComplete is the data of a2a.complete.
type A2AComplete struct {
	Context
	FromAgent          string `json:"fromAgent"`
	ToAgent            string `json:"toAgent"`
	TargetSessionKey   string `json:"targetSessionKey,omitempty"`
	RouteKey           string `json:"routeKey,omitempty"` // as in its a2a.send
	RunID              string `json:"runId,omitempty"`
	JobID              string `json:"jobId,omitempty"`
	Announced          bool   `json:"announced"`
	AnnounceSkipped    bool   `json:"announceSkipped,omitempty"`
	MessageIntent      string `json:"messageIntent,omitempty"`
	ConfiguredMaxTurns int    `json:"configuredMaxTurns,omitempty"`
	EffectiveTurns     int    `json:"effectiveTurns,omitempty"`
	ActualTurns        int    `json:"actualTurns,omitempty"`
	TotalTurns         int    `json:"totalTurns,omitempty"` // subagents only
	EarlyTermination   bool   `json:"earlyTermination,omitempty"`
	TerminationReason  string `json:"terminationReason,omitempty"`
	Outcome            string `json:"outcome,omitempty"`
	WaitStatus         string `json:"waitStatus,omitempty"`
	WaitError          string `json:"waitError,omitempty"`
	ErrorClass         string `json:"errorClass,omitempty"` // as in a2a.response
	ConcurrencyBlocked bool   `json:"concurrencyBlocked,omitempty"`
	Error              string `json:"error,omitempty"`
}

// A2ASpawn is the data of a2a.spawn. ReplyPreview repeats Message: at most 200 characters of the task.
type A2ASpawn struct {
	Context
	FromAgent        string `json:"fromAgent"`
	ToAgent          string `json:"toAgent"`
	TargetSessionKey string `json:"targetSessionKey"`
	Message          string `json:"message"`
	ReplyPreview     string `json:"replyPreview"`
	Label            string `json:"label,omitempty"`
}

const (
	SpawnAccepted = "accepted"
	SpawnError    = "error"
	SpawnKilled   = "killed"
)

// A2ASpawnResult is the data of a2a.spawn_result.
type A2ASpawnResult struct {
	Context
	FromAgent        string `json:"fromAgent"`
	ToAgent          string `json:"toAgent"`
	TargetSessionKey string `json:"targetSessionKey,omitempty"`
	RunID            string `json:"runId,omitempty"`
	Status           string `json:"status"`
	Error            string `json:"error,omitempty"`
	Label            string `json:"label,omitempty"`
	ReplyPreview     string `json:"replyPreview,omitempty"`
}

// A2ARetry is the data of a2a.retry. Attempt counts from 1.
type A2ARetry struct {
	Context
	FromAgent     string `json:"fromAgent"`
	ToAgent       string `json:"toAgent"`
	RunID         string `json:"runId,omitempty"`
	JobID         string `json:"jobId,omitempty"`
	Attempt       int    `json:"attempt"`
	MaxAttempts   int    `json:"maxAttempts"`
	ErrorCategory string `json:"errorCategory"`
	ErrorCode     string `json:"errorCode"`
	Reason        string `json:"reason"`
	BackoffMs     int64  `json:"backoffMs"`
	ElapsedMs     int64  `json:"elapsedMs"`
}

// A2AAutoRoute is the data of a2a.auto_route; its member names differ from the other types.
type A2AAutoRoute struct {
	Context
	SenderAgentID string `json:"senderAgentId"`
	TargetAgentID string `json:"targetAgentId"`
	ChannelID     string `json:"channelId"`
	MaxTurns      int    `json:"maxTurns"`
	Message       string `json:"message"`
}

// A2ARefusal is the data of a2a.forbidden, a2a.dispatch_failed and a2a.send.policy_rejected.
type A2ARefusal struct {
	Context
	FromAgent        string `json:"fromAgent"`
	ToAgent          string `json:"toAgent"`
	TargetSessionKey string `json:"targetSessionKey,omitempty"`
	RunID            string `json:"runId,omitempty"`
	JobID            string `json:"jobId,omitempty"`
	Code             string `json:"code"`
	Reason           string `json:"reason"`
	Error            string `json:"error,omitempty"`
}

// A2ASendStep is the data of a2a.send.initiated and a2a.send.completed.
type A2ASendStep struct {
	Context
	FromAgent      string `json:"fromAgent"`
	ToAgent        string `json:"toAgent"`
	RunID          string `json:"runId,omitempty"`
	JobID          string `json:"jobId,omitempty"`
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
	Origin         string `json:"origin,omitempty"` // tool, discord, unblock, continuation, http
	Status         string `json:"status,omitempty"`
}

// A2AConcurrency is the data of a2a.concurrency.throttle and a2a.concurrency.timeout. ToAgent owns the permits.
type A2AConcurrency struct {
	Context
	FromAgent      string `json:"fromAgent"`
	ToAgent        string `json:"toAgent"`
	JobID          string `json:"jobId,omitempty"`
	ActiveCount    int    `json:"activeCount"`
	QueuedCount    int    `json:"queuedCount"`
	QueueTimeoutMs int64  `json:"queueTimeoutMs"`
}

// A2AJobCreated is the data of a2a.job.created: everything needed to resume an exchange or sub-agent after a restart. It is stored
// before anything is dispatched.
type A2AJobCreated struct {
	Context
	JobID     string `json:"jobId"` // also the id of its first run
	Kind      string `json:"kind"`  // send, spawn
	FromAgent string `json:"fromAgent"`
	ToAgent   string `json:"toAgent"`
	Phase     string `json:"phase"` // dispatching or waiting
	DueAtMs   int64  `json:"dueAtMs,omitempty"`

	RequesterSessionKey string `json:"requesterSessionKey"`       // receives the result
	RequesterRunID      string `json:"requesterRunId,omitempty"`  // the run that asked for it
	TargetSessionKey    string `json:"targetSessionKey"`          // where the target answers
	DisplayKey          string `json:"displayKey,omitempty"`      // the session that was addressed
	Origin              string `json:"origin,omitempty"`          // see A2ASend
	IdempotencyKey      string `json:"idempotencyKey,omitempty"`  // the client's
	Fingerprint         string `json:"fingerprint,omitempty"`     // hash of the request: a repeated key must repeat the request
	Message             string `json:"message"`                   // complete
	MessageIntent       string `json:"messageIntent,omitempty"`   // of a send
	ConfiguredMaxTurns  int    `json:"configuredMaxTurns"`        // of a send, as all up to NoAnnounce
	EffectiveTurns      int    `json:"effectiveTurns"`            // after the intent's limit
	MaxFlows            int    `json:"maxFlows,omitempty"`        // concurrent exchanges of the target
	QueueTimeoutMs      int64  `json:"queueTimeoutMs,omitempty"`  // limit of the wait for a permit
	WaitMs              int64  `json:"waitMs,omitempty"`          // limit of the first answer, from the start of its run
	PayloadType         string `json:"payloadType,omitempty"`     // of the structured handoff
	PayloadJSON         string `json:"payloadJson,omitempty"`     // likewise
	PayloadSubject      string `json:"payloadSubject,omitempty"`  // its taskId or questionId
	PayloadHash         string `json:"payloadHash,omitempty"`     // of the canonical payload
	NoAnnounce          bool   `json:"noAnnounce,omitempty"`      // post nothing at the end
	AnnounceChannel     string `json:"announceChannel,omitempty"` // where to post; "" for nowhere
	AnnounceTo          string `json:"announceTo,omitempty"`
	AnnounceAccountID   string `json:"announceAccountId,omitempty"`
	AnnounceThreadID    string `json:"announceThreadId,omitempty"`
	SourceChannel       string `json:"sourceChannel,omitempty"` // where people talk to the requester
	FromName            string `json:"fromName,omitempty"`      // display name of the requester
	ToName              string `json:"toName,omitempty"`

	Label    string `json:"label,omitempty"` // of a spawn, as all that follows
	Model    string `json:"model,omitempty"` // provider/id
	Thinking string `json:"thinking,omitempty"`
	RunMs    *int64 `json:"runMs,omitempty"`   // limit of the child's run; 0 is unlimited; nil is the configured one
	Cleanup  string `json:"cleanup,omitempty"` // keep or delete the child's session

	// DelegationID is the job of the delegation's first attempt; "" if the child does not work for a task.
	DelegationID string `json:"delegationId,omitempty"`
}

// A2AJob is the data of the other a2a.job types.
type A2AJob struct {
	Context
	JobID       string `json:"jobId"`
	Kind        string `json:"kind,omitempty"`
	FromAgent   string `json:"fromAgent"`
	ToAgent     string `json:"toAgent"`
	Phase       string `json:"phase,omitempty"`    // of a2a.job.running: waiting, turn, announcing, posting
	DueAtMs     int64  `json:"dueAtMs,omitempty"`  // likewise: next check, ms since 1970
	Speaker     string `json:"speaker,omitempty"`  // the agent to answer
	Turn        int    `json:"turn,omitempty"`     // of phase turn, from 1; later, the number of turns taken
	RunID       string `json:"runId,omitempty"`    // the awaited run
	Attempt     int    `json:"attempt,omitempty"`  // of the first answer, and of posting, from 1
	LastText    string `json:"lastText,omitempty"` // beginning of the previous answer, at most 200 characters
	ResumeCount int    `json:"resumeCount,omitempty"`
	Post        string `json:"post,omitempty"`    // of phase posting: the text to post
	Outcome     string `json:"outcome,omitempty"` // of the types that end it, as all that follows
	Reason      string `json:"reason,omitempty"`  // also of a2a.job.running: why fewer turns than allowed were taken
	By          string `json:"by,omitempty"`
	Error       string `json:"error,omitempty"`
}

// A2ACollaborate is the data of the a2a.collaborate types, in the request's stream. Times are ms since 1970.
type A2ACollaborate struct {
	Context
	CollabID        string `json:"collabId"`
	FromAgentID     string `json:"fromAgentId,omitempty"`
	ToAgentID       string `json:"toAgentId,omitempty"`
	FromAgent       string `json:"fromAgent,omitempty"`
	ToAgent         string `json:"toAgent,omitempty"`
	FromAccountID   string `json:"fromAccountId,omitempty"` // of sent: the account of the asking bot
	TargetBotID     string `json:"targetBotId,omitempty"`   // of sent: user id of the asked bot
	SessionKey      string `json:"sessionKey,omitempty"`    // of requested: the asking session
	RunID           string `json:"runId,omitempty"`         // of requested: its run
	ThreadID        string `json:"threadId,omitempty"`
	ThreadName      string `json:"threadName,omitempty"`
	ParentChannelID string `json:"parentChannelId,omitempty"`
	GuildID         string `json:"guildId,omitempty"`
	Mode            string `json:"mode,omitempty"` // named_thread, shared_thread, reuse_thread, new_thread
	Message         string `json:"message,omitempty"`
	Attempt         int    `json:"attempt,omitempty"`
	ErrorCode       string `json:"errorCode,omitempty"`
	ErrorMessage    string `json:"errorMessage,omitempty"`

	// Of requested: deduplication key, content hash, and time of the first acceptance.
	Key     string `json:"key,omitempty"`
	Content string `json:"content,omitempty"`
	Base    int64  `json:"base,omitempty"`
	Again   bool   `json:"again,omitempty"` // counted before

	ReuseKey string `json:"reuseKey,omitempty"` // of sent: the key under which its thread is reused
	Forgets  string `json:"forgets,omitempty"`  // of requested and failed: the reuse key whose thread is gone
	Redecide bool   `json:"anew,omitempty"`     // of failed: decided again at once
	Escalate bool   `json:"escalate,omitempty"` // of failed: a person is notified

	MessageID   string   `json:"messageId,omitempty"`  // of responded: the answer
	MessageIDs  []string `json:"messageIds,omitempty"` // of sent
	SentAt      int64    `json:"sentAt,omitempty"`
	Tracked     bool     `json:"tracked,omitempty"` // of sent: an answer is expected
	RespondedAt int64    `json:"respondedAt,omitempty"`
	Late        bool     `json:"late,omitempty"` // of responded: after the escalation
}

// Collab is the data of the collab types.
type Collab struct {
	Context
	CollabID  string `json:"collabId,omitempty"`
	FromAgent string `json:"fromAgent"`
	ToAgent   string `json:"toAgent"`
	ThreadID  string `json:"threadId,omitempty"`
	Attempt   int    `json:"attempt,omitempty"` // of reminder.sent and escalated: number of the step, from 1
	Of        int    `json:"of,omitempty"`
	Minutes   int    `json:"minutes,omitempty"`   // without an answer
	MessageID string `json:"messageId,omitempty"` // "" if not posted
	Quiet     bool   `json:"quiet,omitempty"`     // not meant to be posted
	ErrorCode string `json:"errorCode,omitempty"` // why it was not posted
	Reason    string `json:"reason,omitempty"`
	ResetAtMs int64  `json:"resetAtMs,omitempty"` // of rate_limited
}

// Delegation is the data of the delegation types, in the task's stream. A retried delegation keeps its id; each attempt is a flow of its
// own.
type Delegation struct {
	Context
	DelegationID string `json:"delegationId"` // job of its first attempt
	FromAgent    string `json:"fromAgent"`
	ToAgent      string `json:"toAgent"`         // the sub-agent
	JobID        string `json:"jobId,omitempty"` // flow of this attempt
	RunID        string `json:"runId,omitempty"`
	ChildKey     string `json:"targetSessionKey,omitempty"`
	Label        string `json:"label,omitempty"`
	Work         string `json:"task,omitempty"` // of spawned: the work, at most 4,000 characters
	Status       string `json:"status,omitempty"`
	RetryCount   int    `json:"retryCount,omitempty"`
	MaxRetries   int    `json:"maxRetries,omitempty"`
	Reason       string `json:"reason,omitempty"` // note of the decision
	DecidedBy    string `json:"decidedBy,omitempty"`
	Error        string `json:"error,omitempty"`
	Snapshot     string `json:"snapshot,omitempty"` // of completed: at most 10,000 characters of the result
}
