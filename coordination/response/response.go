// Package response decides what becomes of a request that one agent has put to another in a Discord thread: whether it was answered, when the
// other one is reminded, and when a person is told. It is pure: clock and policy are passed in, and State folds the events that its decisions
// make.
//
//	pending    --a message of the target in the thread, sent after the request-->  responded
//	pending    --5 min-->  reminded 1/3  --5 min-->  reminded 2/3  --5 min-->  escalated
//	escalated  --such a message-->  responded_late
//	pending    --it can never be posted-->  failed
//
// One message answers one request: the one that it replies to, or that has caused it; where none is known to, the oldest of its thread and its target
// that nobody has answered. It does so once, however many bots report it. What the system says itself answers nothing.
//
// When something is due follows from the time of the request alone. Who looks too late, or after a restart, finds the last step that is due, and
// the ones before it are not made up for.
package response

import (
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// Policy says how requests are followed. DefaultPolicy is as specified.
type Policy struct {
	Enabled bool
	After   time.Duration // from one step to the next, the first one counted from the request
	Steps   int           // reminders, and the escalation, which is the last one
	Notify  bool          // the escalation is posted, not only recorded
}

// DefaultPolicy is what holds where nothing is configured.
func DefaultPolicy() Policy {
	return Policy{Enabled: true, After: 5 * time.Minute, Steps: 3, Notify: true}
}

// What is fixed.
const (
	Keep         = 24 * time.Hour // how long a request that is over is remembered, and one that was escalated can be answered late
	EscalateWait = time.Minute    // before an escalation that could not be posted is posted again
	MaxEscalate  = 3              // how often that is tried
	MaxOriginal  = 500            // characters of a request that are kept
)

// Status is how a request stands.
type Status string

const (
	StatusPending       Status = "pending"
	StatusResponded     Status = "responded"
	StatusEscalated     Status = "escalated" // a person was told that nobody has answered; failed, unless an answer comes late
	StatusRespondedLate Status = "responded_late"
	StatusFailed        Status = "failed" // it, or what was to be said about it, can never be posted
)

// Open says whether an answer is still recognised.
func (s Status) Open() bool { return s == StatusPending || s == StatusEscalated }

// Request is what an agent has asked of another one. Times are ms since 1970.
type Request struct {
	coordination.Context
	ID          string `json:"id"`
	ThreadID    string `json:"threadId"`
	FromAgent   string `json:"fromAgentId"`
	FromAccount string `json:"fromAccountId"` // of the bot that has posted it, and reminds of it
	TargetAgent string `json:"targetAgentId"` // the agent's id, whatever name it was asked by
	TargetBot   string `json:"targetBotId"`   // user id in Discord

	MessageIDs []string `json:"messageIds,omitempty"` // in Discord, in order
	Original   string   `json:"originalMessage,omitempty"`
	SentAt     int64    `json:"sentAt"`

	Status        Status   `json:"status"`
	Step          int      `json:"step,omitempty"` // the last one that was reached, from 1
	LastAttemptAt int64    `json:"lastAttemptAt,omitempty"`
	Tries         int      `json:"tries,omitempty"`     // of posting the escalation
	Told          bool     `json:"told,omitempty"`      // the escalation stands, or is not to be posted
	SystemIDs     []string `json:"systemIds,omitempty"` // messages of reminders and of the escalation

	RespondedAt int64  `json:"respondedAt,omitempty"`
	AnswerID    string `json:"answerId,omitempty"` // the message that has answered it
	Reason      string `json:"reason,omitempty"`   // why it has failed: a code
}

// State is the requests that are not forgotten, in the order in which they were sent. Apply folds it; a copy is a State of its own.
type State struct {
	Requests []Request `json:"requests,omitempty"`
}

// Find is a request of the state, nil if there is none.
func (s *State) Find(id string) *Request {
	for i := range s.Requests {
		if s.Requests[i].ID == id {
			return &s.Requests[i]
		}
	}
	return nil
}

// posted says whether a message is a request, or something that the system has said about one.
func (s *State) posted(messageID string) bool { return s.repliedTo(messageID) != nil }

// answered says whether a message has answered a request.
func (s *State) answered(messageID string) bool {
	return slices.ContainsFunc(s.Requests, func(r Request) bool { return r.AnswerID == messageID })
}

// earlier orders messages by their ids in Discord, which grow with time; ids of another kind say nothing.
func earlier(a, b string) (yes, known bool) {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if a == "" || b == "" || strings.Trim(a+b, "0123456789") != "" {
		return false, false
	}
	if len(a) != len(b) {
		return len(a) < len(b), true
	}
	return a < b, true
}
