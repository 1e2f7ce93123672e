package coordination

import "encoding/json"

// RunQueued is the data of run.queued: a message accepted for a session, to be answered by an agent. It holds everything the run needs
// after a restart. The message enters the transcript when the run starts.
type RunQueued struct {
	Context
	RunID      string `json:"runId"` // also the idempotency key
	SessionKey string `json:"sessionKey"`
	SessionID  string `json:"sessionId,omitempty"` // the intended transcript: the run is aborted if it is closed first; "" is the current one
	Lane       string `json:"lane"`                // main, nested, subagent, cron
	Pool       string `json:"pool,omitempty"`      // its limit in the queue, if not the lane: worker/<agent> for one that a worker on another machine does
	Cause      string `json:"cause"`               // requester: agent, chat, http, a2a, ...
	By         string `json:"by,omitempty"`        // requesting client
	RetryOf    string `json:"retryOf,omitempty"`   // the first run, if this one repeats it
	JobID      string `json:"jobId,omitempty"`     // the exchange or delegation that awaits it
	DueAtMs    int64  `json:"dueAtMs,omitempty"`   // earliest start, ms since 1970
	OnRestart  string `json:"onRestart,omitempty"` // after an interruption by a restart: retry; "" only reports it

	Earlier []string `json:"earlier,omitempty"` // interrupted runs that this one repeats or continues, oldest first
	Resume  bool     `json:"resume,omitempty"`  // it continues at the last step of those in Earlier instead of repeating them
	Stalled int      `json:"stalled,omitempty"` // how many of those in Earlier, the last ones, have added no step

	Reset      string          `json:"reset,omitempty"` // reset the session first: new, reset
	Message    string          `json:"message"`
	Content    json.RawMessage `json:"content,omitempty"` // the message as blocks, if more than Message
	Provenance string          `json:"provenance,omitempty"`
	FromAgent  string          `json:"fromAgent,omitempty"`
	Internal   bool            `json:"internal,omitempty"` // an exchange between agents, hidden in the session's chat
	PassedBy   string          `json:"passedBy,omitempty"` // the agent whose run caused this one without a flow: by an approval, or in Discord

	SourceSessionKey string `json:"sourceSessionKey,omitempty"`
	SourceChannel    string `json:"sourceChannel,omitempty"`
	SourceTool       string `json:"sourceTool,omitempty"`

	ExtraSystemPrompt string `json:"extraSystemPrompt,omitempty"`
	Model             string `json:"model,omitempty"`     // requested provider/id; "" is the configured one
	Thinking          string `json:"thinking,omitempty"`  // likewise
	TimeoutMs         *int64 `json:"timeoutMs,omitempty"` // from the run's start; 0 is none; nil is the configured one

	Deliver   bool   `json:"deliver,omitempty"`
	Channel   string `json:"channel,omitempty"` // origin of the message, and target of the answer
	To        string `json:"to,omitempty"`
	AccountID string `json:"accountId,omitempty"`
	ThreadID  string `json:"threadId,omitempty"`
	MessageID string `json:"messageId,omitempty"` // the channel's message that is answered
	CollabID  string `json:"collabId,omitempty"`  // the request that this message is, or reminds of
	Files     string `json:"files,omitempty"`     // the effect that fetches the message's files, which the run waits for
}

// RunStarted is the data of run.started: the run has its lane, and its timeout starts.
type RunStarted struct {
	Context
	RunID        string `json:"runId"`
	SessionKey   string `json:"sessionKey"`
	SessionID    string `json:"sessionId"`
	StartedAtMs  int64  `json:"startedAtMs"`
	LeaseUntilMs int64  `json:"leaseUntilMs,omitempty"` // end of the worker's lease; 0 for none
	Model        string `json:"model"`                  // the configured first choice
	ConfigHash   string `json:"configHash,omitempty"`
}

// RunParked is the data of run.parked: the run has reached a call that waits for a person. It keeps its place in the session, not its
// lane, and is started again when it is woken, or at DueAtMs.
type RunParked struct {
	Context
	RunID      string `json:"runId"`
	SessionKey string `json:"sessionKey"`
	SessionID  string `json:"sessionId,omitempty"`
	ApprovalID string `json:"approvalId"`
	Reason     string `json:"reason,omitempty"` // it waits for a worker on another machine instead of a person: no_worker, worker_lost
	ParkedAtMs int64  `json:"parkedAtMs"`
	DueAtMs    int64  `json:"dueAtMs,omitempty"` // when the call counts as refused; 0: it was decided meanwhile
}

// RunWoken is the data of run.woken: what the run waited for is decided.
type RunWoken struct {
	Context
	RunID      string `json:"runId"`
	SessionKey string `json:"sessionKey"`
	ApprovalID string `json:"approvalId"`
	WokenAtMs  int64  `json:"wokenAtMs"`
}

// RunOver is the data of run.ended, run.failed, run.aborted and run.timed_out. Exactly one of them ends a run. Text is its answer,
// complete or up to the interruption.
type RunOver struct {
	Context
	RunID       string `json:"runId"`
	SessionKey  string `json:"sessionKey"`
	SessionID   string `json:"sessionId,omitempty"`
	StartedAtMs int64  `json:"startedAtMs,omitempty"` // 0 if never started
	EndedAtMs   int64  `json:"endedAtMs"`
	Text        string `json:"text,omitempty"`
	StopReason  string `json:"stopReason,omitempty"` // of run.ended: stop, length, filtered
	Reason      string `json:"reason,omitempty"`     // of run.aborted: rpc, stop, reset, delete, restart, shutdown
	By          string `json:"by,omitempty"`         // who stopped it
	Error       string `json:"error,omitempty"`      // of run.failed and run.timed_out
	ErrorClass  string `json:"errorClass,omitempty"` // of run.failed: a class of agent/llm, or tools, prompt, internal

	Provider     string        `json:"provider,omitempty"` // of the last answer
	Model        string        `json:"model,omitempty"`
	Usage        *SessionUsage `json:"usage,omitempty"`     // of all model calls
	LastUsage    *SessionUsage `json:"lastUsage,omitempty"` // of the last one
	ModelCalls   int           `json:"modelCalls,omitempty"`
	ToolCalls    int           `json:"toolCalls,omitempty"`
	FallbackFrom string        `json:"fallbackFrom,omitempty"` // the configured first choice, if another model answered

	Prompt json.RawMessage `json:"prompt,omitempty"` // object describing the last prompt without its texts, at most 16 KiB
}
