package coordination

import "encoding/json"

// ToolCalled is the data of tool.called: the intent to call a tool with an effect outside of this program. It is on disk before the call.
type ToolCalled struct {
	Context
	CallID     string `json:"callId"`
	Attempt    int    `json:"attempt"` // from 1; a further one follows an unknown outcome of a call that may be repeated
	Tool       string `json:"tool"`
	Server     string `json:"server,omitempty"` // the MCP server, if it is one's
	Repeat     string `json:"repeat,omitempty"` // why the call may be repeated: readOnly, idempotent, keyed; "": it may not
	SessionKey string `json:"sessionKey"`
	SessionID  string `json:"sessionId,omitempty"`
	RunID      string `json:"runId,omitempty"` // "" outside of a run
	Entry      string `json:"entry"`           // run, http, wire, cli
	By         string `json:"by,omitempty"`    // the client, outside of a run
	CalledAtMs int64  `json:"calledAtMs"`

	Arguments      json.RawMessage `json:"arguments,omitempty"`      // secrets masked; absent if they are long
	ArgumentsBytes int             `json:"argumentsBytes,omitempty"` // of absent ones
}

// ToolEnded is the data of tool.ended: the call ended, with a result or an error.
type ToolEnded struct {
	Context
	CallID     string `json:"callId"`
	Attempt    int    `json:"attempt"`
	Tool       string `json:"tool"`
	Server     string `json:"server,omitempty"`
	SessionKey string `json:"sessionKey"`
	RunID      string `json:"runId,omitempty"`
	EndedAtMs  int64  `json:"endedAtMs"`
	TookMs     int64  `json:"tookMs"`
	IsError    bool   `json:"isError,omitempty"`
	Code       string `json:"code,omitempty"` // of a call that was not made, or refused
	Text       string `json:"text"`           // the result for the agent, secrets masked, bounded
}

// ToolOutcomeUnknown is the data of tool.outcome_unknown: the call may or may not have had its effect.
type ToolOutcomeUnknown struct {
	Context
	CallID     string `json:"callId"`
	Attempt    int    `json:"attempt"`
	Tool       string `json:"tool"`
	Server     string `json:"server,omitempty"`
	SessionKey string `json:"sessionKey"`
	RunID      string `json:"runId,omitempty"`
	EndedAtMs  int64  `json:"endedAtMs"`
	Reason     string `json:"reason"`          // restart, stopped, timeout, connection, broken
	Error      string `json:"error,omitempty"` // what is known of the failure
}

// ToolOutput is the data of tool.output: what a command has written since the last one, in bounds.
type ToolOutput struct {
	Context
	CallID     string `json:"callId"`    // of the exec that started it
	ProcessID  string `json:"processId"` // by which the agent knows it
	SessionKey string `json:"sessionKey"`
	RunID      string `json:"runId,omitempty"`
	AtMs       int64  `json:"atMs"`
	From       int64  `json:"from"`              // position of the text in the whole output, in bytes
	Text       string `json:"text"`              // secrets masked
	Dropped    int64  `json:"dropped,omitempty"` // bytes that are left out here
	Ended      bool   `json:"ended,omitempty"`   // it is the last one: the command has ended
	Exit       int    `json:"exit,omitempty"`
	Reason     string `json:"reason,omitempty"` // why the command was ended: timeout, killed, restart, too many processes, too much memory
}

// SandboxProbed is the data of sandbox.probed: what a probe inside of a sandbox could reach.
type SandboxProbed struct {
	Context
	Kind       string           `json:"kind"`    // bubblewrap, landlock
	Network    bool             `json:"network"` // commands are meant to have it
	Workspace  string           `json:"workspace"`
	Sandboxed  bool             `json:"sandboxed"` // nothing was reached that should not be
	Findings   []SandboxFinding `json:"findings"`
	Error      string           `json:"error,omitempty"` // why the probe could not run
	ProbedAtMs int64            `json:"probedAtMs"`
	TookMs     int64            `json:"tookMs"`
}

// SandboxFinding is one thing that a probe tried to reach.
type SandboxFinding struct {
	Check   string `json:"check"`
	Reached bool   `json:"reached"`
	Detail  string `json:"detail,omitempty"`
}
