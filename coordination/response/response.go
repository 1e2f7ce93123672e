// Package response follows requests from one agent to another in a thread of a channel: whether one was answered, when the target is
// reminded, and when a person is notified. It is pure: time and policy are passed in, and State folds the resulting events.
//
//	pending    --a later message of the target in the thread-->  responded
//	pending    --5 min-->  reminded 1/3  --5 min-->  reminded 2/3  --5 min-->  escalated
//	escalated  --such a message-->  responded_late
//	pending    --it can never be posted-->  failed
//
// One message answers one request: its reply target, or the request that caused it; if neither is known, the oldest unanswered one of
// its thread and target. It does so once, however many bots report it. openclawd's own messages do not count as answers.
//
// Due times depend only on the time of the request. A late check, for example after a restart, takes the last step that is due and skips
// earlier ones.
package response

import (
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// Policy bounds reminders.
type Policy struct {
	Enabled bool
	After   time.Duration // between steps, the first one counted from the request
	Steps   int           // reminders and the final escalation
	Notify  bool          // post the escalation, not only record it
}

// Fixed limits.
const (
	Keep         = 24 * time.Hour // how long an ended request is kept, and an escalated one can be answered late
	EscalateWait = time.Minute    // before an escalation that could not be posted is repeated
	MaxEscalate  = 3              // posting attempts of an escalation
	MaxOriginal  = 500            // kept characters of a request
)

// Status is the state of a request.
type Status string

const (
	StatusPending       Status = "pending"
	StatusResponded     Status = "responded"
	StatusEscalated     Status = "escalated" // a person was notified; failed unless a late answer comes
	StatusRespondedLate Status = "responded_late"
	StatusFailed        Status = "failed" // it, or a reminder of it, can never be posted
)

// Open reports whether an answer would still be matched.
func (s Status) Open() bool { return s == StatusPending || s == StatusEscalated }

// Request is a request from one agent to another. Times are ms since 1970.
type Request struct {
	coordination.Context
	ID          string `json:"id"`
	ThreadID    string `json:"threadId"`
	FromAgent   string `json:"fromAgentId"`
	FromAccount string `json:"fromAccountId"` // of the bot that posted it, and posts reminders
	TargetAgent string `json:"targetAgentId"` // agent id, whatever name was used
	TargetBot   string `json:"targetBotId"`   // Discord user id

	MessageIDs []string `json:"messageIds,omitempty"` // Discord ids, in order
	Original   string   `json:"originalMessage,omitempty"`
	SentAt     int64    `json:"sentAt"`

	Status        Status   `json:"status"`
	Step          int      `json:"step,omitempty"` // last step reached, from 1
	LastAttemptAt int64    `json:"lastAttemptAt,omitempty"`
	Tries         int      `json:"tries,omitempty"`     // of posting the escalation
	Told          bool     `json:"told,omitempty"`      // the escalation was posted, or is not to be
	SystemIDs     []string `json:"systemIds,omitempty"` // reminders and escalations

	RespondedAt int64  `json:"respondedAt,omitempty"`
	AnswerID    string `json:"answerId,omitempty"` // the answer
	Reason      string `json:"reason,omitempty"`   // a code: why it failed
}

// State holds the kept requests, in sending order. Apply folds it; copies are independent.
type State struct {
	Requests []Request `json:"requests,omitempty"`
}

// Find returns a request, nil for none.
func (s *State) Find(id string) *Request {
	for i := range s.Requests {
		if s.Requests[i].ID == id {
			return &s.Requests[i]
		}
	}
	return nil
}

// posted reports whether a message is a request, or a reminder or escalation of one.
func (s *State) posted(messageID string) bool { return s.repliedTo(messageID) != nil }

// answered reports whether a message has answered a request.
func (s *State) answered(messageID string) bool {
	return slices.ContainsFunc(s.Requests, func(r Request) bool { return r.AnswerID == messageID })
}

// precedes compares messages of one place by their ids, which grow with time; known is false for ids of two places, and for those that
// tell no order.
func precedes(a, b string) (yes, known bool) {
	x, _ := coordination.ParseChatID(a)
	y, _ := coordination.ParseChatID(b)
	if x.Channel == coordination.Discord && y.Channel == coordination.Discord {
		return smaller(a, b)
	}
	if x.Channel != y.Channel || x.Chat != y.Chat {
		return false, false
	}
	a, a2, isA := strings.Cut(x.Message, ".") // of Slack: seconds, and a fraction of six digits
	b, b2, isB := strings.Cut(y.Message, ".")
	switch yes, known = smaller(a, b); {
	case isA != isB || len(a2) != len(b2):
		return false, false
	case !known || a != b || !isA:
		return yes, known
	}
	return a2 < b2, strings.Trim(a2+b2, digits) == ""
}

const digits = "0123456789"

// smaller compares numbers.
func smaller(a, b string) (yes, known bool) {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if a == "" || b == "" || strings.Trim(a+b, digits) != "" {
		return false, false
	}
	if len(a) != len(b) {
		return len(a) < len(b), true
	}
	return a < b, true
}
