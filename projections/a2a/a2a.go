// Package a2a folds a2a.job.* events into the flows that there are and were, and a2a.send and a2a.response events of our own flows into the
// structured handoffs that wait for an answer. It is a decision table: whether a flow was asked for before, how it stands, and how many its
// target has are read from it in the transaction that appends. Events of an imported log change nothing here. What happens to a flow is
// folded by package coordination/a2a; what an event changes, and what a decision reads, costs the same whatever is over.
package a2a

import (
	decide "github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/handoff"
)

// Row is a flow as lists show it.
type Row struct {
	Seq                 int64
	JobID               string
	Kind                decide.Kind // "" where what was asked for is redacted, as with all that was said with it
	Phase               decide.Phase
	FromAgent, ToAgent  string
	RequesterSessionKey string
	RequesterRunID      string
	TargetSessionKey    string
	ConversationID      string
	ParentConversation  string
	WorkSessionID       string
	TaskID              string
	Label               string
	Preview             string // how the message begins
	Intent              string
	PayloadType         string
	RunID               string // that it waits for, or waited for last
	Attempt, Turn       int
	EffectiveTurns      int
	DueAt               int64 // ms since 1970, as all times; 0 once it is over
	CreatedAt           int64
	ChangedAt           int64
	EndedAt             int64 // 0: it is not over
	Resumed             int
	Outcome             string // once it is over: ok, no_reply, blocked, failed, abandoned, cancelled, killed, timeout
	Reason              string
	Said                []decide.Said
}

// Tally is how many flows there are of one sort.
type Tally struct {
	Kind    decide.Kind
	Phase   decide.Phase
	Outcome string // of Over
	Flows   int64
}

// Handoff is a structured handoff: what was delegated or asked, and what came back. Between two agents one at most is open of a kind about
// one subject: who asks for something else about it replaces what was asked before.
type Handoff struct {
	Seq            int64 // of the a2a.send
	JobID          string
	RunID          string
	From, To       string
	Type           handoff.Type // task_delegation, question
	Subject        string       // taskId or questionId
	Hash           string       // of the payload
	ConversationID string
	WorkSessionID  string
	At             int64  // ms since 1970
	State          string // one of the states below
	Status         string // of a delegation: as last reported
	AnsweredSeq    int64  // of the a2a.send or a2a.response that answered it; 0: none has
	AnsweredAt     int64
}

// States of handoffs.
const (
	HandoffOpen     = "open"
	HandoffAnswered = "answered" // by a payload of the other side, or a question by the answer in an exchange that ended well
	HandoffFailed   = "failed"   // its exchange did, before it was answered
	HandoffReplaced = "replaced" // a later one says something else about the same subject
)
