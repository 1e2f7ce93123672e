// Package trace reads causal trees: the runs of agents, the flows that they began, the runs that answered in those,
// and so on. It has no table of its own. For our own agents it reads the tables of runs and flows; an imported log has
// neither, so its tree is built from its a2a.* events.
package trace

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/index"
)

// Kind is the kind of object that an id names.
type Kind string

const (
	WorkSession  Kind = "work_session"
	Conversation Kind = "conversation"
	Flow         Kind = "flow" // a message to another agent, or a delegation; its id is the job's
	Run          Kind = "run"
	Message      Kind = "message" // an event
	Thread       Kind = "thread"  // messages between two agents without a conversation; not found by an id
)

// Roles of a run in its flow.
const (
	RoleAnswer   = "answer"   // first attempt
	RoleRetry    = "retry"    // retry
	RoleTurn     = "turn"     // ping-pong turn
	RoleAnnounce = "announce" // text to be posted
	RoleResult   = "result"   // informs the parent of a sub-agent of its result
	RoleRepeat   = "repeat"   // repeats a run that a restart interrupted
)

// Trace is one or more trees, and their JSON; times are ms since 1970, durations ms, both absent if there is none.
type Trace struct {
	ID   string `json:"id"` // the full id
	Kind Kind   `json:"kind"`
	Now  int64  `json:"now"` // durations of open nodes end here

	Session *Session `json:"workSession,omitempty"` // if a work session was requested

	StartedAt  int64 `json:"startedAt,omitempty"`
	LastAt     int64 `json:"lastAt,omitempty"` // Now, if something is open
	DurationMs int64 `json:"durationMs"`

	Flows         int `json:"flows"`
	Runs          int `json:"runs"`
	Conversations int `json:"conversations"` // and threads, that are not flows of ours
	Messages      int `json:"messages"`
	Open          int `json:"open"` // open flows, runs and conversations
	Late          int `json:"late"` // answers after their flow was over

	Cut   bool    `json:"cut"` // there is more than was read
	Roots []*Node `json:"roots"`
}

// Session is the requested work session.
type Session struct {
	ID      string               `json:"id"`
	Title   string               `json:"title"`
	Status  coordination.Status  `json:"status"`
	Outcome coordination.Outcome `json:"outcome"`
}

// Node is a run, flow or conversation, with what it caused.
type Node struct {
	Kind  Kind   `json:"kind"` // run, flow, conversation, thread
	ID    string `json:"id"`
	Seq   int64  `json:"seq"`             // of its first event
	Asked bool   `json:"asked,omitempty"` // requested, or part of it

	Role    string `json:"role,omitempty"` // of a run in its flow
	Turn    int    `json:"turn,omitempty"` // of role turn, and of a flow: the current turn, or how many there were; from 1
	Attempt int    `json:"attempt,omitempty"`
	Of      string `json:"of,omitempty"`      // of a flow: send, spawn
	Missing string `json:"missing,omitempty"` // its parent, if that is unknown

	Agent              string `json:"agent,omitempty"` // of a run
	From               string `json:"from,omitempty"`  // of other kinds
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
	By                 string `json:"by,omitempty"` // the client that requested it

	State      string `json:"state,omitempty"` // of a run: queued, running, ok, error, aborted, timed_out; of a flow: its phase; otherwise open, over
	Outcome    string `json:"outcome,omitempty"`
	Reason     string `json:"reason,omitempty"`
	ErrorClass string `json:"errorClass,omitempty"`

	Code coordination.ReasonCode `json:"reasonCode,omitempty"` // why it failed

	Open  bool  `json:"open,omitempty"`
	Since int64 `json:"since,omitempty"` // when it entered its state, if open
	DueAt int64 `json:"dueAt,omitempty"` // when an open flow will be checked

	At        int64 `json:"at"` // when it was requested
	StartedAt int64 `json:"startedAt,omitempty"`
	EndedAt   int64 `json:"endedAt,omitempty"`

	PermitMs   int64 `json:"permitMs,omitempty"`  // wait of a flow for its target's permit
	BackoffMs  int64 `json:"backoffMs,omitempty"` // delay before a retry
	QueueMs    int64 `json:"queueMs,omitempty"`   // wait of a run for its turn, without the delay
	RunMs      int64 `json:"runMs,omitempty"`     // running time of a run
	DurationMs int64 `json:"durationMs"`          // total

	Late   bool  `json:"late,omitempty"` // it answered after its flow was over
	LateMs int64 `json:"lateMs,omitempty"`

	Model        string `json:"model,omitempty"`
	ModelCalls   int    `json:"modelCalls,omitempty"`
	ToolCalls    int    `json:"toolCalls,omitempty"`
	InputTokens  int64  `json:"inputTokens,omitempty"`
	OutputTokens int64  `json:"outputTokens,omitempty"`

	Retry    *Retry `json:"retry,omitempty"`    // of role retry
	Question string `json:"question,omitempty"` // beginning of the request of a flow, or of a run without a flow
	Answer   string `json:"answer,omitempty"`   // final text of such a run

	Messages []TracedMessage `json:"messages,omitempty"`
	Children []*Node         `json:"children,omitempty"`

	parent *Node
	own    own
}

// own is data of a node that its JSON does not include.
type own struct {
	job       string // of a run: the flow that waits for it, or ""
	retryOf   string
	parentRun string
	overSeq   int64  // of the event that ended a run or flow; 0 if open
	requester string // of a flow: the run that began it
	heard     []*messageEvent
}

// Retry is why a first answer was retried.
type Retry struct {
	Attempt   int    `json:"attempt"`
	Category  string `json:"category,omitempty"` // transient, unknown
	Code      string `json:"code,omitempty"`
	Reason    string `json:"reason,omitempty"`
	BackoffMs int64  `json:"backoffMs"`

	ReasonCode coordination.ReasonCode `json:"reasonCode,omitempty"`
}

// TracedMessage is an a2a.* event of a flow or conversation.
type TracedMessage struct {
	Seq     int64  `json:"seq"`
	ID      string `json:"id"`
	At      int64  `json:"at"`
	Type    string `json:"type"`
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
	Turn    int    `json:"turn,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	Reason  string `json:"reason,omitempty"`

	Code coordination.ReasonCode `json:"reasonCode,omitempty"` // why it failed

	Preview  string `json:"preview,omitempty"` // one line
	Asked    bool   `json:"asked,omitempty"`   // it was requested
	Redacted bool   `json:"redacted,omitempty"`
}

// Bounds of a trace.
const (
	DefaultNodes    = 2_000
	DefaultMessages = 5_000
	previewLength   = 160 // characters
)

// Options configure Of.
type Options struct {
	Now      int64              // ms since 1970
	Rules    coordination.Rules // "" is RulesV2
	Nodes    int                // approximate maximum; 0 is DefaultNodes
	Messages int                // likewise; 0 is DefaultMessages
	// Events reads events with archived payloads; nil: those are shown as redacted.
	Events func(ctx context.Context, tx *sql.Tx, seqs []int64) ([]eventstore.Event, error)
}

// Of returns the trace of an object: a work session, a conversation, a flow (by its job), a run, or an event by its id
// or seq. A unique prefix of an id is enough. The trace of a work session contains everything in it; other traces
// contain the object, what it caused, and its causes, up to the run that was not requested by an agent. An unknown id
// is a *NotFoundError.
//
// It reads by indexes only: its cost grows with the result, not with the log.
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
	g := newCollector(r, o)
	if err := g.collect(found); err != nil {
		return nil, fmt.Errorf("trace %s %s: %w", found.kind, found.id, err)
	}
	t := &Trace{ID: found.id, Kind: found.kind, Now: o.Now, Cut: g.cut, Roots: buildTree(g.inOrder())}
	if found.kind == WorkSession {
		if t.Session, err = r.session(found.id, o.Now); err != nil {
			return nil, err
		}
	}
	t.judge()
	return t, nil
}
