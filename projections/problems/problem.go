// Package problems decides which agents, conversations, tasks and parts of the program are stuck, since when, why, and
// what people can do about it. Decide is pure: Read reads what it needs from the tables of several projections, and the
// program passes in what is not in the log.
package problems

import (
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections/continuations"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Kind is the kind of a problem.
type Kind string

const (
	NotReady    Kind = "not_ready"    // a reason of /readyz that is an error
	Dead        Kind = "dead"         // queued work that was given up
	Blocked     Kind = "blocked"      // a conversation that was not delivered, or failed
	NoReply     Kind = "no_reply"     // a conversation that was delivered, but not answered
	TaskBlocked Kind = "task_blocked" // an open task that waits for help
	Escalated   Kind = "escalated"    // a request in a channel, or a task, that was passed on to people
	Backoff     Kind = "backoff"      // an agent whose last prompts failed
	StuckRun    Kind = "stuck_run"    // a run that takes too long, or that does not start although it could
	Overdue     Kind = "overdue"      // an answer that should have arrived
	Suspended   Kind = "suspended"    // a place in which bots do not trigger agents, because of a loop
	BotDown     Kind = "bot_down"     // a bot that is not connected to its channel
	Warning     Kind = "warning"      // a reason of /readyz that is a warning
)

// Kinds are all kinds, most urgent first.
func Kinds() []Kind {
	return []Kind{NotReady, Dead, Blocked, NoReply, TaskBlocked, Escalated, Backoff, StuckRun, Overdue, Suspended, BotDown, Warning}
}

// Code is a code of problems whose source has none.
type Code string

const (
	RunsLong    Code = "running_long" // StuckRun: it has been running for more than RunningLong
	LaneFree    Code = "lane_free"    // StuckRun: its lane has room, but it has not been started for ReadyLong
	Reminded    Code = "reminded"     // Overdue: the answerer was reminded
	CheckMissed Code = "check_missed" // Overdue: the flow should have been checked DueGrace ago
)

// Action is something that can be done through the API, or through the gateway.
type Action string

const (
	Resend       Action = "resend"        // POST /api/work/:effectId/resend
	Cancel       Action = "cancel"        // POST /api/work/:effectId/cancel
	CancelFlow   Action = "cancel_flow"   // POST /api/a2a/jobs/:jobId/cancel
	RewriteTasks Action = "rewrite_tasks" // POST /api/tasks/rewrite
	BackUp       Action = "back_up"       // POST /api/backups
	Unblock      Action = "unblock"       // POST /api/tasks/:id/unblock
	Message      Action = "message"       // chat.send to the agent
)

// Problem is one problem. Texts are as stored: without masks and names.
type Problem struct {
	ID       string          `json:"id"` // kind:subject; the same as long as the problem lasts
	Kind     Kind            `json:"kind"`
	Severity health.Severity `json:"severity"` // error: does not go on by itself; warning: it does, or is tried again

	AgentID   string   `json:"agentId,omitempty"`   // the agent that is stuck
	AgentName string   `json:"agentName,omitempty"` // absent: its id is used
	SinceMs   *int64   `json:"sinceMs"`             // ms since 1970; null: unknown
	Code      string   `json:"code"`                // of the source, a coordination.ReasonCode, or a Code
	Reason    string   `json:"reason,omitempty"`    // why, as a text
	Title     string   `json:"title,omitempty"`     // of the work session, task, request or place
	Fields    Fields   `json:"fields"`
	Refs      Refs     `json:"refs"`
	Actions   []Action `json:"actions"`
}

// Fields are what sentences about problems need; absent where unknown, or of another kind. Times are ms since 1970.
type Fields struct {
	Subject    string   `json:"subject,omitempty"` // of not_ready, warning: the projection or bot
	Hint       string   `json:"hint,omitempty"`    // likewise, and of bot_down: what to do
	From       string   `json:"from,omitempty"`    // the agent that asked
	FromName   string   `json:"fromName,omitempty"`
	To         string   `json:"to,omitempty"` // the agent that is to answer
	ToName     string   `json:"toName,omitempty"`
	Effect     string   `json:"effect,omitempty"` // of dead: the kind of work
	Lane       string   `json:"lane,omitempty"`
	Attempt    int      `json:"attempt,omitempty"`
	Helpers    []string `json:"helpers,omitempty"`    // of task_blocked: agents that can help
	Wanted     string   `json:"wanted,omitempty"`     // likewise: what they are to do
	Requests   int      `json:"requests,omitempty"`   // likewise: how often they were asked
	Failures   int      `json:"failures,omitempty"`   // of backoff: failed prompts in a row
	UntilMs    int64    `json:"untilMs,omitempty"`    // of backoff, suspended, bot_down: when it is tried again
	DueMs      int64    `json:"dueMs,omitempty"`      // of overdue
	Step       int      `json:"step,omitempty"`       // of overdue, escalated: the last reminder or the escalation, from 1
	State      string   `json:"state,omitempty"`      // of bot_down: its connection's; of overdue: the flow's phase
	Dependency string   `json:"dependency,omitempty"` // of escalated: the task that cannot be completed
}

// Refs say where to look; absent where there is nothing.
type Refs struct {
	WorkSession string `json:"ws,omitempty"`
	Thread      string `json:"thread,omitempty"` // id of the conversation within the work session
	Task        string `json:"task,omitempty"`
	Seq         int64  `json:"seq,omitempty"` // of the event that caused it
	EffectID    string `json:"effectId,omitempty"`
	CollabID    string `json:"collabId,omitempty"`
	MessageID   string `json:"messageId,omitempty"` // in a channel, as what follows
	PlaceID     string `json:"placeId,omitempty"`
	AccountID   string `json:"accountId,omitempty"`
	Channel     string `json:"channel,omitempty"` // of the account
	RunID       string `json:"runId,omitempty"`
	JobID       string `json:"jobId,omitempty"`
}

// List is a list of problems.
type List struct {
	Problems []Problem    `json:"problems"` // by kind in the order of Kinds, then newest first
	Total    int          `json:"total"`    // regardless of limit and filter, as Counts
	Counts   map[Kind]int `json:"counts"`   // kinds without problems are absent
}

// Able says which actions exist.
type Able struct {
	Work, Flows, TaskFiles, Backup bool
	Tasks                          bool                    // they can be changed
	Message                        func(agent string) bool // nil: no agent
}

// Facts is the input of Decide. Lists without a number are complete.
type Facts struct {
	Now  int64 // ms since 1970
	Able Able
	Name func(agent string) string // an agent's display name, or its id; nil: the id

	Reasons []health.Reason
	Bots    []health.Bot

	Dead  []DeadWork // the newest
	DeadN int

	Threads           []conversations.Stuck // the newest of each outcome
	BlockedN, SilentN int

	Tasks  []BlockedTask // the most recently active
	TasksN int
	// Blocked tasks that only imported events tell of, the newest.
	Imported  []conversations.BlockedTask
	ImportedN int
	Told      []ToldTask

	Escalated  []responses.Row // the newest
	EscalatedN int
	Pending    []responses.Row // the newest whose answerers were reminded
	PendingN   int

	Continuations []continuations.Row
	Running       []run.Result
	Startable     []Startable
	Flows         []flows.Row // open ones, latest due first
	FlowsN        int         // of those that are overdue
	Places        []Suspension
}

// DeadWork is given up work with the event that says so.
type DeadWork struct {
	workqueue.Item
	Last
}

// BlockedTask is a blocked task with the event that says so.
type BlockedTask struct {
	tasks.Row
	Last
}

// ToldTask is a blocked or unstartable task that was escalated, with the event that says so.
type ToldTask struct {
	AgentID, TaskID, WorkSessionID, Title string
	Reason                                string
	To                                    string // the agent that was told; "" for people only
	Dependency                            string
	Last
}

// Startable is the first queued run of a session, whose time has come.
type Startable struct {
	run.Result
	ReadySince int64 // ms since 1970
	Running    int   // runs of its lane
	Capacity   int   // of its lane; 0: unknown
}

// Suspension is a suspended place with the event that says so.
type Suspension struct {
	routing.Place
	Last
}

// Last is an event; its zero value is none.
type Last struct {
	LastSeq int64
	LastAt  int64 // ms since 1970
}
