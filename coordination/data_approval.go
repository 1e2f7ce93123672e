package coordination

import "encoding/json"

// CallApprovalRequested is the data of tool.approval_requested: a call that a person has to decide about.
type CallApprovalRequested struct {
	Context
	ApprovalID  string `json:"approvalId"`
	AgentID     string `json:"agentId"`
	Tool        string `json:"tool"`
	Server      string `json:"server,omitempty"` // the MCP server, if it is one's
	CallHash    string `json:"callHash"`         // of agent, tool and arguments: the same for every such call
	SessionKey  string `json:"sessionKey,omitempty"`
	RunID       string `json:"runId,omitempty"`      // the run that waits; "": a client that asks
	FirstRunID  string `json:"firstRunId,omitempty"` // the first attempt at that run
	By          string `json:"by,omitempty"`         // the client, without a run
	RequestedAt int64  `json:"requestedAtMs"`
	ExpiresAt   int64  `json:"expiresAtMs"` // then the call counts as refused

	Arguments      json.RawMessage `json:"arguments,omitempty"`      // secrets masked; absent if they are long
	ArgumentsBytes int             `json:"argumentsBytes,omitempty"` // of absent ones

	Input *CallInput `json:"input,omitempty"` // what the call wants from a person, after which it is made again; absent: whether it may be made
}

// CallApprovalDecided is the data of tool.approval_decided.
type CallApprovalDecided struct {
	Context
	ApprovalID string `json:"approvalId"`
	AgentID    string `json:"agentId"`
	Tool       string `json:"tool"`
	Decision   string `json:"decision"`        // approved, rejected, expired, cancelled
	Scope      string `json:"scope,omitempty"` // of a permission that outlasts the call: call (with these arguments), tool
	DecidedBy  string `json:"decidedBy,omitempty"`
	Reason     string `json:"reason,omitempty"` // of a rejection
	DecidedAt  int64  `json:"decidedAtMs"`

	Values json.RawMessage `json:"values,omitempty"` // an object: what the person gives for the fields of an input
}

// CallApprovalRevoked is the data of tool.approval_revoked.
type CallApprovalRevoked struct {
	Context
	ApprovalID string `json:"approvalId"`
	AgentID    string `json:"agentId"`
	Tool       string `json:"tool"`
	By         string `json:"by,omitempty"`
	RevokedAt  int64  `json:"revokedAtMs"`
}
