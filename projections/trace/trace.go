// Package trace reads what led to what: the runs of agents, the flows that they began, the runs that answered in those, and so on, as a
// tree. It has no table of its own. What our own agents did is read from the tables of runs and flows; of an imported log, which has
// neither, the tree is made of its a2a.* events.
package trace

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/index"
)

// Kind is what an id names.
type Kind string

const (
	WorkSession  Kind = "work_session"
	Conversation Kind = "conversation"
	Flow         Kind = "flow" // a message to another agent, or a delegation; its id is that of a job
	Run          Kind = "run"
	Message      Kind = "message" // an event
	Thread       Kind = "thread"  // messages between two agents that name no conversation; it is found by no id
)

// Roles of a run in its flow.
const (
	RoleAnswer   = "answer"   // the first one
	RoleRetry    = "retry"    // another attempt at it
	RoleTurn     = "turn"     // of ping-pong
	RoleAnnounce = "announce" // what is to be posted
	RoleResult   = "result"   // the parent of a sub-agent hears what came of it
	RoleRepeat   = "repeat"   // of a run that a restart broke off
)

// Trace is a tree, or some. It is also its answer in JSON; times are ms since 1970, lengths of time ms, both absent where there is none.
type Trace struct {
	ID   string `json:"id"` // what was asked for, in full
	Kind Kind   `json:"kind"`
	Now  int64  `json:"now"` // what is open is measured up to here

	Session *Session `json:"workSession,omitempty"` // where one was asked for

	StartedAt  int64 `json:"startedAt,omitempty"`
	LastAt     int64 `json:"lastAt,omitempty"` // Now, where something is open
	DurationMs int64 `json:"durationMs"`

	Flows         int `json:"flows"`
	Runs          int `json:"runs"`
	Conversations int `json:"conversations"` // and threads, that are no flows of ours
	Messages      int `json:"messages"`
	Open          int `json:"open"` // flows, runs and conversations that are not over
	Late          int `json:"late"` // answers that came when their flow was over

	Cut   bool    `json:"cut"` // there is more than was read
	Roots []*Node `json:"roots"`
}

// Session is the work session that was asked for.
type Session struct {
	ID      string               `json:"id"`
	Title   string               `json:"title"`
	Status  coordination.Status  `json:"status"`
	Outcome coordination.Outcome `json:"outcome"`
}

// Node is something that was done, with what it led to.
type Node struct {
	Kind  Kind   `json:"kind"` // run, flow, conversation, thread
	ID    string `json:"id"`
	Seq   int64  `json:"seq"`             // of the event that it begins with
	Asked bool   `json:"asked,omitempty"` // it is what was asked for, or belongs to it

	Role    string `json:"role,omitempty"` // of a run in its flow
	Turn    int    `json:"turn,omitempty"` // of role turn, and of a flow: the one under way, or how many were taken; from 1
	Attempt int    `json:"attempt,omitempty"`
	Of      string `json:"of,omitempty"`      // of a flow: send, spawn
	Missing string `json:"missing,omitempty"` // what it comes from, where that is not known

	Agent              string `json:"agent,omitempty"` // of a run
	From               string `json:"from,omitempty"`  // of everything else
	To                 string `json:"to,omitempty"`
	SessionKey         string `json:"sessionKey,omitempty"`
	WorkSession        string `json:"workSessionId,omitempty"`
	Conversation       string `json:"conversationId,omitempty"`
	ParentConversation string `json:"parentConversationId,omitempty"`
	Task               string `json:"taskId,omitempty"`
	Label              string `json:"label,omitempty"`
	Intent             string `json:"intent,omitempty"`
	Payload            string `json:"payloadType,omitempty"`
	Lane               string `json:"lane,omitempty"`
	Cause              string `json:"cause,omitempty"`
	By                 string `json:"by,omitempty"` // the client that asked

	State      string `json:"state,omitempty"` // of a run: queued, running, ok, error, aborted, timed_out; of a flow: its phase; else open, over
	Outcome    string `json:"outcome,omitempty"`
	Reason     string `json:"reason,omitempty"`
	ErrorClass string `json:"errorClass,omitempty"`
	Open       bool   `json:"open,omitempty"`
	Since      int64  `json:"since,omitempty"` // it has stood as it does, where it is open
	DueAt      int64  `json:"dueAt,omitempty"` // when an open flow is looked after

	At        int64 `json:"at"` // it was asked for
	StartedAt int64 `json:"startedAt,omitempty"`
	EndedAt   int64 `json:"endedAt,omitempty"`

	PermitMs   int64 `json:"permitMs,omitempty"`  // a flow has waited for a permit of its target
	BackoffMs  int64 `json:"backoffMs,omitempty"` // a retry was put off
	QueueMs    int64 `json:"queueMs,omitempty"`   // a run has waited for its turn, apart from that
	RunMs      int64 `json:"runMs,omitempty"`     // a run has run
	DurationMs int64 `json:"durationMs"`          // all of it

	Late   bool  `json:"late,omitempty"` // it has answered, but its flow was over
	LateMs int64 `json:"lateMs,omitempty"`

	Model        string `json:"model,omitempty"`
	ModelCalls   int    `json:"modelCalls,omitempty"`
	ToolCalls    int    `json:"toolCalls,omitempty"`
	InputTokens  int64  `json:"inputTokens,omitempty"`
	OutputTokens int64  `json:"outputTokens,omitempty"`

	Retry    *Retry `json:"retry,omitempty"`    // of role retry
	Question string `json:"question,omitempty"` // how begins what a flow asks for, or a run that belongs to none
	Answer   string `json:"answer,omitempty"`   // and what such a run has said at the end

	Messages []Said  `json:"messages,omitempty"`
	Children []*Node `json:"children,omitempty"`

	parent *Node
	own    own
}

// own is what of a node's row or events its answer does not show.
type own struct {
	job       string // of a run: the flow that waits for it, or ''
	retryOf   string
	parentRun string
	overSeq   int64  // of the event that ended a run or flow; 0: none has
	requester string // of a flow: the run that began it
	heard     []*heard
}

// Retry is why a first answer was tried again.
type Retry struct {
	Attempt   int    `json:"attempt"`
	Category  string `json:"category,omitempty"` // transient, unknown
	Code      string `json:"code,omitempty"`
	Reason    string `json:"reason,omitempty"`
	BackoffMs int64  `json:"backoffMs"`
}

// Said is an a2a.* event of a flow or conversation.
type Said struct {
	Seq      int64  `json:"seq"`
	ID       string `json:"id"`
	At       int64  `json:"at"`
	Type     string `json:"type"`
	From     string `json:"from,omitempty"`
	To       string `json:"to,omitempty"`
	Turn     int    `json:"turn,omitempty"`
	Outcome  string `json:"outcome,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Preview  string `json:"preview,omitempty"` // one line
	Asked    bool   `json:"asked,omitempty"`   // it is what was asked for
	Redacted bool   `json:"redacted,omitempty"`
}

// Bounds of a trace.
const (
	DefaultNodes    = 2_000
	DefaultMessages = 5_000
	previewLength   = 160 // characters
)

// Options of Of.
type Options struct {
	Now      int64              // ms since 1970
	Rules    coordination.Rules // "" is RulesV2
	Nodes    int                // at most, about; 0 is DefaultNodes
	Messages int                // likewise; 0 is DefaultMessages
	// Events reads events with payloads that were archived; nil: those are shown as redacted.
	Events func(ctx context.Context, tx *sql.Tx, seqs []int64) ([]eventstore.Event, error)
}

// Of is the trace of what an id names: of a work session, a conversation, a flow (by its job), a run, or an event by its id or seq. The
// beginning of an id will do where nothing else begins so. Of a work session everything is in it; else what was asked for, what that
// led to, and what it comes from, up to the run that somebody else than an agent asked for. An id that nobody has is *NotFoundError.
//
// It reads by indexes alone: its cost grows with what it shows, not with the log.
func Of(ctx context.Context, tx *sql.Tx, id string, o Options) (*Trace, error) {
	if o.Rules == "" {
		o.Rules = coordination.RulesV2
	}
	if o.Nodes <= 0 {
		o.Nodes = DefaultNodes
	}
	if o.Messages <= 0 {
		o.Messages = DefaultMessages
	}
	roster, err := index.Roster(ctx, tx)
	if err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, tx: tx, rules: o.Rules, roster: roster, archived: o.Events}
	found, err := r.find(id)
	if err != nil {
		return nil, err
	}
	g := newGrowth(r, o)
	if err := g.grow(found); err != nil {
		return nil, fmt.Errorf("trace %s %s: %w", found.kind, found.id, err)
	}
	t := &Trace{ID: found.id, Kind: found.kind, Now: o.Now, Cut: g.cut, Roots: plant(g.inOrder())}
	if found.kind == WorkSession {
		if t.Session, err = r.session(found.id, o.Now); err != nil {
			return nil, err
		}
	}
	t.judge()
	return t, nil
}
