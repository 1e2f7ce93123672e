package response

import (
	"github.com/pronto-lab/openclawd/coordination"
)

// Event is what is appended. Data is of one of the types below.
type Event struct {
	Type    string
	AgentID string // the agent who has asked
	Data    any
}

// Sent is of a2a.collaborate.sent, as far as it is read here: a request stands in a thread. SentAt is ms since 1970, 0 for the event's time.
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
	Tracked     bool     `json:"tracked"` // an answer is waited for
}

// Responded is of a2a.collaborate.responded.
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

// Told is of collab.reminder.sent and collab.escalated.
type Told struct {
	coordination.Context
	RequestID   string `json:"collabId"`
	ThreadID    string `json:"threadId"`
	FromAgent   string `json:"fromAgent"`
	TargetAgent string `json:"toAgent"`
	Step        int    `json:"attempt"`
	Of          int    `json:"of"`
	Minutes     int    `json:"minutes"`
	MessageID   string `json:"messageId,omitempty"` // "" if it was not posted
	Quiet       bool   `json:"quiet,omitempty"`     // it was not to be
	Error       string `json:"errorCode,omitempty"` // a code: why it was not
}

// Failed is of a2a.collaborate.failed: the request, or what was to be said about it, can never be posted.
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

// Done is the event that an action has been carried out. messageID is what Discord calls the message; code says why there is none. A reminder
// that could not be posted is not repeated, the next one follows; an escalation is, see MaxEscalate.
func (r *Request) Done(a Action, messageID, code string) Event {
	typ := coordination.TypeCollabReminded
	if a.Kind == Escalate {
		typ = coordination.TypeCollabEscalated
	}
	return Event{typ, r.FromAgent, Told{Context: r.context(), RequestID: r.ID, ThreadID: r.ThreadID, FromAgent: r.FromAgent, TargetAgent: r.TargetAgent,
		Step: a.Step, Of: a.Of, Minutes: a.Minutes, MessageID: messageID, Quiet: a.Quiet, Error: code}}
}

// Impossible is the event that nothing can be posted in the thread any more. code says why.
func (r *Request) Impossible(code string) Event {
	return Event{coordination.TypeA2ACollaborateFailed, r.FromAgent, Failed{Context: r.context(), RequestID: r.ID, ThreadID: r.ThreadID, Code: code}}
}

// context is where events of a request belong.
func (r *Request) context() coordination.Context {
	c := r.Context
	c.EventRole = coordination.RoleOrchestration
	return c
}
