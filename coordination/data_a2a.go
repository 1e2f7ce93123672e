package coordination

// Values of data.outcome in responses and completions.
const (
	OutcomeValueBlocked   = "blocked"   // not delivered
	OutcomeValueNoReply   = "no_reply"  // delivered, nobody answered
	OutcomeValueFailed    = "failed"    // the flow itself failed
	OutcomeValueAbandoned = "abandoned" // the job was given up
)

// A2ASend is the data of a2a.send, from either a message or a spawn. Message is at most 4000 characters.
type A2ASend struct {
	Context
	FromAgent        string `json:"fromAgent"`
	ToAgent          string `json:"toAgent"`
	TargetSessionKey string `json:"targetSessionKey,omitempty"`
	Message          string `json:"message"`
	ReplyPreview     string `json:"replyPreview,omitempty"` // spawns only
	RunID            string `json:"runId,omitempty"`
	JobID            string `json:"jobId,omitempty"`
	MessageIntent    string `json:"messageIntent,omitempty"`
	PayloadType      string `json:"payloadType,omitempty"`
	PayloadJSON      string `json:"payloadJson,omitempty"`
}

// A2AResponse is the data of a2a.response. Outcome is set when there is no answer, and Message then says so.
type A2AResponse struct {
	Context
	FromAgent           string `json:"fromAgent"`
	ToAgent             string `json:"toAgent"`
	TargetSessionKey    string `json:"targetSessionKey,omitempty"`
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
	ConcurrencyBlocked  bool   `json:"concurrencyBlocked,omitempty"`
}

// A2AComplete is the data of a2a.complete.
type A2AComplete struct {
	Context
	FromAgent          string `json:"fromAgent"`
	ToAgent            string `json:"toAgent"`
	TargetSessionKey   string `json:"targetSessionKey,omitempty"`
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

// Values of A2ASpawnResult.Status.
const (
	SpawnAccepted = "accepted"
	SpawnError    = "error"
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

// A2AAutoRoute is the data of a2a.auto_route, which names its agents in its own way.
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

// A2AJob is the data of the a2a.job types. Phase and what follows it are what a restart needs to go on.
type A2AJob struct {
	Context
	JobID       string `json:"jobId"`
	FromAgent   string `json:"fromAgent"`
	ToAgent     string `json:"toAgent"`
	Status      string `json:"status,omitempty"`
	Phase       string `json:"phase,omitempty"` // dispatching, waiting_first_reply, turn, announcing
	Speaker     string `json:"speaker,omitempty"`
	Turn        int    `json:"turn,omitempty"`
	RunID       string `json:"runId,omitempty"`
	LastText    string `json:"lastText,omitempty"`
	Attempt     int    `json:"attempt,omitempty"`
	ResumeCount int    `json:"resumeCount,omitempty"`
	Outcome     string `json:"outcome,omitempty"`
	Reason      string `json:"reason,omitempty"`
	Error       string `json:"error,omitempty"`
}

// A2ACollaborate is the data of the a2a.collaborate types.
type A2ACollaborate struct {
	Context
	CollabID        string `json:"collabId"`
	FromAgentID     string `json:"fromAgentId"`
	ToAgentID       string `json:"toAgentId"`
	FromAgent       string `json:"fromAgent"`
	ToAgent         string `json:"toAgent"`
	ThreadID        string `json:"threadId,omitempty"`
	ParentChannelID string `json:"parentChannelId,omitempty"`
	MessageID       string `json:"messageId,omitempty"`
	Mode            string `json:"mode,omitempty"` // new_thread, reuse_thread
	Message         string `json:"message,omitempty"`
	Attempt         int    `json:"attempt,omitempty"`
	ErrorCode       string `json:"errorCode,omitempty"`
	ErrorMessage    string `json:"errorMessage,omitempty"`
}

// Collab is the data of the collab types.
type Collab struct {
	Context
	CollabID  string `json:"collabId,omitempty"`
	FromAgent string `json:"fromAgent"`
	ToAgent   string `json:"toAgent"`
	ThreadID  string `json:"threadId,omitempty"`
	Attempt   int    `json:"attempt,omitempty"`
	Reason    string `json:"reason,omitempty"`
	ResetAtMs int64  `json:"resetAtMs,omitempty"`
}

// Delegation is the data of the delegation types.
type Delegation struct {
	Context
	DelegationID string `json:"delegationId"`
	FromAgent    string `json:"fromAgent"`
	ToAgent      string `json:"toAgent"`
	RunID        string `json:"runId,omitempty"`
	Status       string `json:"status,omitempty"`
	RetryCount   int    `json:"retryCount,omitempty"`
	MaxRetries   int    `json:"maxRetries,omitempty"`
	Reason       string `json:"reason,omitempty"`
	Error        string `json:"error,omitempty"`
	Snapshot     string `json:"snapshot,omitempty"` // at most 10,000 characters of the result
}
