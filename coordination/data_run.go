package coordination

import "encoding/json"

// RunQueued is the data of run.queued: a message was accepted for a session, and an agent is going to answer it. It holds all that the
// run needs, so that it can begin after any restart. The message comes into the transcript when the run begins.
type RunQueued struct {
	Context
	RunID      string `json:"runId"` // also what makes it one however often it is asked for
	SessionKey string `json:"sessionKey"`
	SessionID  string `json:"sessionId,omitempty"` // the transcript that is meant: closed before it begins, it is aborted; "" is the one that is there then
	Lane       string `json:"lane"`                // main, nested, subagent
	Cause      string `json:"cause"`               // who asks: agent, chat, http, a2a, ...
	By         string `json:"by,omitempty"`        // the client that asked
	RetryOf    string `json:"retryOf,omitempty"`   // the run that was asked for at first, where this one repeats it
	JobID      string `json:"jobId,omitempty"`     // the exchange or delegation that waits for it
	DueAtMs    int64  `json:"dueAtMs,omitempty"`   // it does not begin before, ms since 1970
	OnRestart  string `json:"onRestart,omitempty"` // what becomes of it when a restart breaks it off: "" is reported only, retry

	Earlier []string `json:"earlier,omitempty"` // runs that were broken off, and that this one repeats, the first first; a few

	Reset      string          `json:"reset,omitempty"` // the session starts over before it begins: new, reset
	Message    string          `json:"message"`
	Content    json.RawMessage `json:"content,omitempty"` // the message as blocks, where it is more than Message
	Provenance string          `json:"provenance,omitempty"`
	FromAgent  string          `json:"fromAgent,omitempty"`
	Internal   bool            `json:"internal,omitempty"` // an exchange between agents: what is said in it is not shown to people in the session's chat
	PassedBy   string          `json:"passedBy,omitempty"` // the agent whose run has caused this one without a flow: by an approval, or in Discord

	SourceSessionKey string `json:"sourceSessionKey,omitempty"`
	SourceChannel    string `json:"sourceChannel,omitempty"`
	SourceTool       string `json:"sourceTool,omitempty"`

	ExtraSystemPrompt string `json:"extraSystemPrompt,omitempty"`
	Model             string `json:"model,omitempty"`     // provider/id that was asked for; "" is as configured
	Thinking          string `json:"thinking,omitempty"`  // likewise
	TimeoutMs         *int64 `json:"timeoutMs,omitempty"` // from the beginning of the run; 0 is none; nil is as configured

	Deliver   bool   `json:"deliver,omitempty"`
	Channel   string `json:"channel,omitempty"` // where the message came from, and the answer goes
	To        string `json:"to,omitempty"`
	AccountID string `json:"accountId,omitempty"`
	ThreadID  string `json:"threadId,omitempty"`
	MessageID string `json:"messageId,omitempty"` // of the channel: the message that is answered
	CollabID  string `json:"collabId,omitempty"`  // the request that this message is, or reminds of
}

// RunStarted is the data of run.started: it has its lane, and its time begins.
type RunStarted struct {
	Context
	RunID        string `json:"runId"`
	SessionKey   string `json:"sessionKey"`
	SessionID    string `json:"sessionId"`
	StartedAtMs  int64  `json:"startedAtMs"`
	LeaseUntilMs int64  `json:"leaseUntilMs,omitempty"` // when it is taken away from its worker; 0 is never
	Model        string `json:"model"`                  // the first choice
	ConfigHash   string `json:"configHash,omitempty"`
}

// RunOver is the data of the types that end a run: run.ended, run.failed, run.aborted and run.timed_out. A run has exactly one of them.
// Text is what it has said at the end, or until it was stopped.
type RunOver struct {
	Context
	RunID       string `json:"runId"`
	SessionKey  string `json:"sessionKey"`
	SessionID   string `json:"sessionId,omitempty"`
	StartedAtMs int64  `json:"startedAtMs,omitempty"` // 0: it never began
	EndedAtMs   int64  `json:"endedAtMs"`
	Text        string `json:"text,omitempty"`
	StopReason  string `json:"stopReason,omitempty"` // of run.ended: stop, length, filtered
	Reason      string `json:"reason,omitempty"`     // of run.aborted: rpc, stop, reset, delete, restart, shutdown
	By          string `json:"by,omitempty"`         // who stopped it
	Error       string `json:"error,omitempty"`      // of run.failed and run.timed_out
	ErrorClass  string `json:"errorClass,omitempty"` // of run.failed: a class of agent/llm, or tools, prompt, internal

	Provider     string        `json:"provider,omitempty"` // that answered last
	Model        string        `json:"model,omitempty"`
	Usage        *SessionUsage `json:"usage,omitempty"`     // of all calls of models
	LastUsage    *SessionUsage `json:"lastUsage,omitempty"` // of the last one
	ModelCalls   int           `json:"modelCalls,omitempty"`
	ToolCalls    int           `json:"toolCalls,omitempty"`
	FallbackFrom string        `json:"fallbackFrom,omitempty"` // the first choice, where another model answered

	Prompt json.RawMessage `json:"prompt,omitempty"` // an object that says what the last prompt was made of, without its texts; at most 16 KiB
}
