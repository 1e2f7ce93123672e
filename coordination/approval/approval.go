// Package approval defines the types of what people decide about tasks, plans and calls of tools: approvals that wait, decisions, changes of
// tasks, and refusals.
package approval

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
)

// Kinds of approvals.
const (
	OfTask = "task"
	OfPlan = "plan"
	OfCall = "call" // a single call of a tool
)

// Approval is an item that waits for approval.
type Approval struct {
	ID             string   `json:"id"`
	Kind           string   `json:"kind"` // task, plan, call
	AgentID        string   `json:"agentId"`
	Title          string   `json:"title"`
	Description    string   `json:"description,omitempty"`
	Steps          []string `json:"steps,omitempty"`
	StepsCount     int      `json:"stepsCount,omitempty"` // number of items; a list contains only the first
	ToolsRequested []string `json:"toolsRequested,omitempty"`
	TaskID         string   `json:"taskId"`
	WorkSessionID  string   `json:"workSessionId"`
	Priority       string   `json:"priority,omitempty"`
	RequestedAt    string   `json:"requestedAt"`              // ISO 8601; "" if unknown
	RequestedAtMs  int64    `json:"requestedAtMs"`            // 0 if unknown
	SessionKey     string   `json:"sessionKey,omitempty"`     // the requesting session
	DerivedFromSeq int64    `json:"derivedFromSeq,omitempty"` // of the last event that changed it; 0: from a file

	Call     *Call     `json:"call,omitempty"`     // of a call
	Decision *Decision `json:"decision,omitempty"` // nil: it still waits
}

// Call is a call of a tool that waits.
type Call struct {
	Tool           string          `json:"tool"`                     // "" if the request was redacted
	Server         string          `json:"server,omitempty"`         // the MCP server, if it is one's
	Arguments      json.RawMessage `json:"arguments,omitempty"`      // an object, secrets masked; absent if they are long or no longer known
	ArgumentsBytes int             `json:"argumentsBytes,omitempty"` // of absent ones
	RunID          string          `json:"runId,omitempty"`          // the run that waits
	ExpiresAtMs    int64           `json:"expiresAtMs"`              // then it counts as rejected
}

// Decision is what a person or an agent has decided about an approval.
type Decision struct {
	Status string `json:"status"`           // approved, rejected
	Scope  string `json:"scope,omitempty"`  // of an approval of a call that outlasts it: call, tool
	By     string `json:"by"`               // "" if the event no longer says it
	Reason string `json:"reason,omitempty"` // of a rejection
	AtMs   int64  `json:"atMs"`             // ms since 1970
	Seq    int64  `json:"seq"`              // of the event
}

// Statuses of a Decision.
const (
	Approved = "approved"
	Rejected = "rejected"

	Forgotten = "forgotten" // of Decided: a permission was taken back
)

// Since sets when the approval was requested, of an ISO 8601 time.
func (a *Approval) Since(text string) {
	if ms, ok := coordination.ParseTime(text); ok {
		a.RequestedAt, a.RequestedAtMs = text, int64(ms)
	}
}

// Decided is the result of a decision.
type Decided struct {
	ID        string `json:"id"`
	Kind      string `json:"kind"` // task, plan, call
	AgentID   string `json:"agentId"`
	TaskID    string `json:"taskId"`
	Status    string `json:"status"`          // after the decision
	Scope     string `json:"scope,omitempty"` // of a permission that outlasts its call
	DecidedBy string `json:"decidedBy"`
}

// Operated is the result of a person's change of a task.
type Operated struct {
	ID        string `json:"id"`
	AgentID   string `json:"agentId"`
	Status    string `json:"status"` // after the change, as Priority
	Priority  string `json:"priority"`
	By        string `json:"by"`
	Changed   bool   `json:"changed"`             // false: it was so already
	NewTaskID string `json:"newTaskId,omitempty"` // the task that another agent has instead
}

// Refusal says why a decision was refused. Nothing has changed.
type Refusal = coordination.Refusal[Details]

// Details are what only refusals of this package say.
type Details struct {
	Unknown bool // not found, or not decidable
}
