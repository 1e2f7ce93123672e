package permission

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// Refusal says why a decision was refused. Nothing has changed.
type Refusal = coordination.Refusal[Details]

// Details distinguishes the refusals of this package.
type Details struct{}

// Codes of refusals.
const (
	CodeInvalid = "invalid_approval"
	CodeUnknown = "unknown_approval"
	CodeState   = "wrong_state"
	CodeUnseen  = "arguments_not_kept" // what is called with cannot be seen any more, or never could
)

// Event is an event to append to the approval's stream.
type Event struct {
	Type    string
	AgentID string
	Data    any
}

// Ask is a call that has to wait.
type Ask struct {
	coordination.Context
	ID          string
	Agent       string
	Tool        string
	Server      string
	SessionKey  string
	RunID       string
	FirstRunID  string
	By          string
	Args        json.RawMessage // canonical
	Input       *coordination.CallInput
	Now, Expire int64 // ms since 1970
}

// Request has a call wait for a decision. Secrets of its arguments are masked.
func Request(a *Ask) Event {
	d := coordination.CallApprovalRequested{Context: a.Context, ApprovalID: a.ID, AgentID: a.Agent, Tool: a.Tool, Server: a.Server, CallHash: CallHash(a.Agent, a.Tool, a.Args),
		SessionKey: a.SessionKey, RunID: a.RunID, FirstRunID: a.FirstRunID, By: coordination.Mask(a.By), RequestedAt: a.Now, ExpiresAt: a.Expire, Input: a.Input}
	d.EventRole = coordination.RoleOrchestration
	masked := json.RawMessage(coordination.Mask(string(a.Args)))
	if len(masked) <= MaxArguments && json.Valid(masked) {
		d.Arguments = masked
	} else {
		d.ArgumentsBytes = len(a.Args)
	}
	return Event{coordination.TypeToolApprovalRequested, a.Agent, d}
}

// Decision is what a person decides.
type Decision struct {
	Status string // Approved or Rejected
	Scope  string // of an approval
	By     string
	Reason string          // of a rejection
	Values json.RawMessage // of an approval of input: what is given, checked
}

// Decide decides about a pending approval; now is ms since 1970. Errors are *Refusal.
func (a *Approval) Decide(d Decision, now int64) (Event, error) {
	switch {
	case a.StatusAt(now) != Pending:
		return Event{}, a.wrongState("decided", now)
	case d.Scope != "" && d.Scope != ThisCall && d.Scope != AnyCall:
		return Event{}, &Refusal{Reason: CodeInvalid, Field: "scope", Value: d.Scope, Text: fmt.Sprintf("scope is %.40q", d.Scope), HintText: "use call or tool, or leave it out"}
	case d.Scope != "" && IsInput(a.ID):
		return Event{}, &Refusal{Reason: CodeInvalid, Field: "scope", Value: d.Scope, Text: "input is given once", HintText: "approve the request without a scope"}
	case len(d.Reason) > MaxReason, !utf8.ValidString(d.Reason), strings.ContainsRune(d.Reason, 0):
		return Event{}, &Refusal{Reason: CodeInvalid, Field: "reason", Text: "reason is too long, or no text", HintText: fmt.Sprintf("give at most %d bytes of UTF-8 without NUL", MaxReason)}
	}
	return a.decided(d, now), nil
}

// Close ends a pending approval that no person decides, as Expired or Cancelled.
func (a *Approval) Close(status string, now int64) Event {
	return a.decided(Decision{Status: status}, now)
}

func (a *Approval) decided(d Decision, now int64) Event {
	data := coordination.CallApprovalDecided{Context: a.context(), ApprovalID: a.ID, AgentID: a.Agent, Tool: a.Tool, Decision: d.Status, Scope: d.Scope,
		DecidedBy: coordination.Mask(d.By), Reason: coordination.Mask(d.Reason), DecidedAt: now, Values: d.Values}
	return Event{coordination.TypeToolApprovalDecided, a.Agent, data}
}

// Revoke takes a permission back that outlasts its call. Errors are *Refusal.
func (a *Approval) Revoke(by string, now int64) (Event, error) {
	if !a.Lasts() {
		return Event{}, a.wrongState("taken back", now)
	}
	data := coordination.CallApprovalRevoked{Context: a.context(), ApprovalID: a.ID, AgentID: a.Agent, Tool: a.Tool, By: coordination.Mask(by), RevokedAt: now}
	return Event{coordination.TypeToolApprovalRevoked, a.Agent, data}, nil
}

func (a *Approval) wrongState(what string, now int64) *Refusal {
	state := a.StatusAt(now)
	if a.RevokedAt > 0 {
		state = "taken back"
	}
	return &Refusal{Reason: CodeState, Field: "id", Value: a.ID, Text: "the call " + a.ID + " is " + state + " and cannot be " + what,
		HintText: "openclawd approvals lists what waits"}
}

func (a *Approval) context() coordination.Context {
	return coordination.Context{EventRole: coordination.RoleOrchestration, TaskID: a.TaskID, WorkSessionID: a.WorkSessionID}
}
