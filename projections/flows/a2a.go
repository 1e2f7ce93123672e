// Package flows folds a2a.job.* events into current and past flows, and the a2a.send and a2a.response events of our
// own flows into the structured handoffs that wait for an answer. It is a decision table: whether a flow was requested
// before, its state, and the number of its target's flows are read from it in the transaction that appends. Events of
// an imported log change nothing here. Package coordination/a2a folds the state of a flow; the cost of an event and of
// a decision does not depend on the number of finished flows.
package flows

import (
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/handoff"
)

// Row is a flow for lists.
type Row struct {
	Seq                 int64
	JobID               string
	Kind                a2a.Kind // "" if the request is redacted, as are all texts
	Phase               a2a.Phase
	FromAgent, ToAgent  string
	RequesterSessionKey string
	RequesterRunID      string
	TargetSessionKey    string
	ConversationID      string
	ParentConversation  string
	WorkSessionID       string
	TaskID              string
	Label               string
	Preview             string // beginning of the message
	Intent              string
	PayloadType         string
	RunID               string // the one it waits for, or waited for last
	Attempt, Turn       int
	EffectiveTurns      int
	DueAt               int64 // ms since 1970, as all times; 0 once it is over
	CreatedAt           int64
	ChangedAt           int64
	EndedAt             int64 // 0: open
	Resumed             int
	Outcome             string // when over: ok, no_reply, blocked, failed, abandoned, cancelled, killed, timeout
	Reason              string
	Said                []a2a.AnswerPreview
}

// Tally is the number of flows of one kind and state.
type Tally struct {
	Kind    a2a.Kind
	Phase   a2a.Phase
	Outcome string // see Over
	Flows   int64
}

// Handoff is a structured handoff: what was delegated or asked, and the result. At most one of a kind is open between
// two agents about one subject: a newer one replaces it.
type Handoff struct {
	Seq            int64 // seq of the a2a.send
	JobID          string
	RunID          string
	From, To       string
	Type           handoff.Type // task_delegation, question
	Subject        string       // taskId or questionId
	Hash           string       // hash of the payload
	ConversationID string
	WorkSessionID  string
	At             int64  // ms since 1970
	State          string // one of the states below
	Status         string // of a delegation, as last reported
	AnsweredSeq    int64  // seq of the a2a.send or a2a.response that answered it; 0 if none has
	AnsweredAt     int64
}

// States of handoffs.
const (
	HandoffOpen     = "open"
	HandoffAnswered = "answered" // answered by a payload of the other side, or, for a question, by the answer in an exchange that succeeded
	HandoffFailed   = "failed"   // its exchange failed before it was answered
	HandoffReplaced = "replaced" // replaced by a later one about the same subject
)
