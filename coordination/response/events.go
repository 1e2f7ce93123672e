package response

import (
	"github.com/pronto-lab/openclawd/coordination"
)

// Event is an event to append. Data is one of the types below.
type Event struct {
	Type    string
	AgentID string // the requesting agent
	Data    any
}

// Sent is the part of a2a.collaborate.sent read here: a request was posted in a thread. SentAt is ms since 1970, 0 for the event's time.
type Sent struct {
	coordination.Context
	RequestID   string   `json:"collabId"`
	ThreadID    string   `json:"threadId"`
	FromAgent   string   `json:"fromAgent"`
	FromAccount string   `json:"fromAccountId,omitempty"`
	TargetAgent string   `json:"toAgent"`
	TargetBot   string   `json:"targetBotId,omitempty"`
	MessageIDs  []string `json:"messageIds,omitempty"`
	Original    string   `json:"message,omitempty"`
	SentAt      int64    `json:"sentAt,omitempty"`
	Tracked     bool     `json:"tracked"` // an answer is expected
}

// Responded is the data of a2a.collaborate.responded.
type Responded struct {
	coordination.Context
	RequestID   string `json:"collabId"`
	ThreadID    string `json:"threadId"`
	FromAgent   string `json:"fromAgent"`
	TargetAgent string `json:"toAgent"`
	MessageID   string `json:"messageId"`
	RespondedAt int64  `json:"respondedAt"`
	Late        bool   `json:"late,omitempty"` // after the escalation
}

// Notified is the data of collab.reminder.sent and collab.escalated.
type Notified struct {
	coordination.Context
	RequestID   string `json:"collabId"`
	ThreadID    string `json:"threadId"`
	FromAgent   string `json:"fromAgent"`
	TargetAgent string `json:"toAgent"`
	Step        int    `json:"attempt"`
	Of          int    `json:"of"`
	Minutes     int    `json:"minutes"`
	MessageID   string `json:"messageId,omitempty"` // "" if not posted
	Quiet       bool   `json:"quiet,omitempty"`     // not meant to be posted
	Error       string `json:"errorCode,omitempty"` // a code: why it was not posted
}

// Failed is the data of a2a.collaborate.failed: the request, or a reminder of it, can never be posted.
type Failed struct {
	coordination.Context
	RequestID string `json:"collabId"`
	ThreadID  string `json:"threadId,omitempty"`
	Code      string `json:"errorCode"`
}

func (r *Request) responded(m Message) Event {
	return Event{coordination.TypeA2ACollaborateResponded, r.FromAgent, Responded{Context: r.context(), RequestID: r.ID, ThreadID: r.ThreadID,
		FromAgent: r.FromAgent, TargetAgent: r.TargetAgent, MessageID: m.ID, RespondedAt: m.At, Late: r.Status == StatusEscalated}}
}

// Done returns the event of an action carried out. messageID is the posted message; without one, code says why. A reminder that could
// not be posted is skipped; an escalation is repeated, see MaxEscalate.
func (r *Request) Done(a Action, messageID, code string) Event {
	typ := coordination.TypeCollabReminded
	if a.Kind == Escalate {
		typ = coordination.TypeCollabEscalated
	}
	return Event{typ, r.FromAgent, Notified{Context: r.context(), RequestID: r.ID, ThreadID: r.ThreadID, FromAgent: r.FromAgent, TargetAgent: r.TargetAgent,
		Step: a.Step, Of: a.Of, Minutes: a.Minutes, MessageID: messageID, Quiet: a.Quiet, Error: code}}
}

// Impossible returns the event that nothing can be posted in the thread any more; code says why.
func (r *Request) Impossible(code string) Event {
	return Event{coordination.TypeA2ACollaborateFailed, r.FromAgent, Failed{Context: r.context(), RequestID: r.ID, ThreadID: r.ThreadID, Code: code}}
}

// context is the context of a request's events.
func (r *Request) context() coordination.Context {
	c := r.Context
	c.EventRole = coordination.RoleOrchestration
	return c
}
