// Package approval defines the types of what people decide about tasks, plans and calls of tools: approvals that wait, decisions, changes of
// tasks, and refusals.
package approval

import (
	"encoding/json"
	"slices"
	"strings"

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
	Input          *Input          `json:"input,omitempty"`          // what it wants from a person; absent: whether it may be made
}

// Input is what the server of a call wants from a person. The call has ended without it, and is made again with what is given.
type Input struct {
	Mode       string                    `json:"mode"`             // form: fields to fill in, or none; url: an address to open, and to confirm that
	Message    string                    `json:"message"`          // the server's, secrets masked
	URL        string                    `json:"url,omitempty"`    // of mode url
	Fields     []coordination.InputField `json:"fields,omitempty"` // of mode form
	Number     int                       `json:"number"`           // of the requests during this call, from 1
	Repeatable bool                      `json:"repeatable"`       // false: the tool does not say that it may be called again
	Said       string                    `json:"said,omitempty"`   // the beginning of what the call has returned without the input
}

// InputOf is an input as people see it.
func InputOf(in *coordination.CallInput) *Input {
	if in == nil {
		return nil
	}
	fields, _ := in.Fields() // one that cannot be read was not asked for
	return &Input{Mode: in.Mode, Message: in.Message, URL: in.URL, Fields: fields, Number: in.Number, Repeatable: in.Repeatable, Said: in.Said}
}

// NeedsValues reports whether the input has fields that have to be filled in.
func (in *Input) NeedsValues() bool {
	return slices.ContainsFunc(in.Fields, func(f coordination.InputField) bool { return f.Required })
}

// Note is what people have to know before they approve.
func (in *Input) Note(say coordination.Language) string {
	text := say.Say("승인하면 같은 인자로 호출을 다시 합니다.", "If you approve, the call will be made again with the same arguments.")
	if !in.Repeatable {
		text += " " + say.Say("이 도구는 반복해도 된다고 하지 않으므로, 첫 호출에 이미 효과가 있었다면 두 번 일어납니다.",
			"The tool does not say that it may be repeated: if its first try has had an effect, that happens twice.")
	}
	if in.Mode == coordination.InputURL {
		return text + " " + say.Say("주소는 서버가 정한 것입니다. 믿을 때만 열고, 거기서 끝낸 뒤 승인하세요.",
			"The server chose the address: open it only if you trust it, and approve when you are done there.")
	}
	text += " " + say.Say("비밀번호나 키는 적지 마세요. MCP는 서버가 이런 양식으로 비밀을 묻는 것을 금지합니다.",
		"Give no password or key: MCP forbids servers to ask for secrets in a form.")
	var secret []string
	for i := range in.Fields {
		if in.Fields[i].Secret {
			secret = append(secret, in.Fields[i].Name)
		}
	}
	if len(secret) > 0 {
		text += " " + say.Say("비밀로 보이는 칸", "Looks like a secret") + ": " + strings.Join(secret, ", ")
	}
	return text
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
