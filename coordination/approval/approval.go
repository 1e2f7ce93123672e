// Package approval defines the types of approvals of tasks and plans by people: items that wait, decisions, and
// refusals.
package approval

import "github.com/pronto-lab/openclawd/coordination"

// Kinds of approvals.
const (
	OfTask = "task"
	OfPlan = "plan"
)

// Approval is an item that waits for approval.
type Approval struct {
	ID             string   `json:"id"`
	Kind           string   `json:"kind"` // task, plan
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
}

// Since sets when the approval was requested, of an ISO 8601 time.
func (a *Approval) Since(text string) {
	if ms, ok := coordination.ParseTime(text); ok {
		a.RequestedAt, a.RequestedAtMs = text, int64(ms)
	}
}

// Decided is the result of a decision.
type Decided struct {
	ID        string `json:"id"`
	Kind      string `json:"kind"` // task, plan
	AgentID   string `json:"agentId"`
	TaskID    string `json:"taskId"`
	Status    string `json:"status"` // after the decision
	DecidedBy string `json:"decidedBy"`
}

// Refusal says why a decision was refused. Nothing has changed.
type Refusal = coordination.Refusal[Details]

// Details are what only refusals of this package say.
type Details struct {
	Unknown bool // not found, or not decidable
}
