// Package routing folds what was decided about messages in Discord, and what happened in its threads and channels: which agent handled a message,
// which observed it, and why; who takes part in which thread; what agents have observed and not been told of; how much bots have talked; what
// agents have posted. It is a decision table: the next message is decided about by what is read here, within the transaction that appends.
package routing

import (
	"context"
	"database/sql"
	"time"

	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Name of the projection.
const Name = "routing"

// Definition describes the projection "routing".
func Definition() projections.Definition { panic("stub") }

// Earlier is what was decided about a message, nil if nothing was.
func Earlier(tx eventstore.Tx, messageID string) (*route.Decision, error) { panic("stub") }

// Attendance is who takes part in a thread. It is nil where that is not known: a thread that is older than the log, and in which nothing has
// happened since that the log knows of.
func Attendance(tx eventstore.Tx, threadID string) (route.Attendance, error) { panic("stub") }

// Guard is how much bots have talked in a place, and, of the pairs that the author of a message makes with other agents, how much these have
// handled of each other. author is the agent that has written the message, "" if none has.
func Guard(tx eventstore.Tx, place, author string) (*route.Guard, error) { panic("stub") }

// History is what these agents have observed in a place and not been told of: at most limit records of each, none older than ttl at a time.
func History(tx eventstore.Tx, place string, agents []string, limit int, ttl time.Duration, at int64) (*route.History, error) {
	panic("stub")
}

// Post is a message that openclawd has posted.
type Post struct {
	MessageID string
	PlaceID   string // channel or thread
	ThreadID  string
	AgentID   string // in whose name; "" if in nobody's
	AccountID string
	Purpose   string // of coordination/delivery
	EffectID  string
	RunID     string // that has said it; ""
	CollabID  string // likewise
	System    bool
	At        int64 // ms since 1970
	Seq       int64
}

// PostOf is a message that openclawd has posted; found is false for all others.
func PostOf(tx eventstore.Tx, messageID string) (p Post, found bool, err error) { panic("stub") }

// IsReport says whether a thread was opened for reports.
func IsReport(tx eventstore.Tx, threadID string) (bool, error) { panic("stub") }

// ReportOf is the thread that was opened for the reports about a conversation in a channel, "" if none was.
func ReportOf(tx eventstore.Tx, conversationID, channelID string) (threadID string, err error) { panic("stub") }

// Place is a channel or thread of which the log knows.
type Place struct {
	ID        string
	GuildID   string // "" in direct messages
	ChannelID string // of a thread: the channel that it hangs below; else ID
	Thread    bool
	Name      string // of a thread; "" if it is not known
	Kind      string // of a thread that was opened here: collab, report; ""
	AccountID string // of a direct message
	LastID    string // the last message that was decided about; ""
	LastAt    int64  // when somebody last spoke there, or was registered, ms since 1970

	SuspendedUntil int64 // ms since 1970; 0: it is not
	SuspendedFor   string
}

// Places lists what is known, the last spoken in first. Zero values select all.
func Places(ctx context.Context, tx *sql.Tx, q PlaceQuery) ([]Place, error) { panic("stub") }

// PlaceQuery selects places.
type PlaceQuery struct {
	ID      string
	Threads bool // only threads
	Agent   string // only threads that this agent takes part in, or has
	Before  int64 // LastAt of the last one that is known already
	Limit   int   // 0: all
}

// Participant is an agent in a thread.
type Participant struct {
	ThreadID  string
	AgentID   string
	BotUserID string
	Reason    string // collaborate, mentioned, posted
	Since     int64  // ms since 1970
	Left      int64  // when an event said that it takes part no more; 0: none has
	LastAt    int64  // when somebody last spoke in the thread
}

// Participants are all that took part in a thread, in the order in which they were registered.
func Participants(ctx context.Context, tx *sql.Tx, threadID string) ([]Participant, error) { panic("stub") }

// Message is a message and what it was to each agent.
type Message struct {
	ID, PlaceID, ChannelID, ThreadID, GuildID string
	AuthorID, AuthorName, AuthorAgent         string
	Text                                      string // of a handled message; else what observers keep of it
	Mentioned                                 []string
	At                                        int64 // ms since 1970
	Seq                                       int64 // of the first event about it
	System                                    bool
	Verdicts                                  []Verdict // by agent
}

// Verdict is what a message was to one agent.
type Verdict struct {
	AgentID   string
	AccountID string
	Mode      route.Mode
	Reason    route.Reason
	Order     route.Order
	RunID     string // of a handler: the run that was asked for; ""
	Seq       int64
}

// MessageQuery selects messages.
type MessageQuery struct {
	ID, PlaceID, Agent string
	Mode               route.Mode // with Agent
	Before             int64      // Seq of the last one that is known already
	Limit              int        // 0: all
}

// Messages lists messages, the newest first.
func Messages(ctx context.Context, tx *sql.Tx, q MessageQuery) ([]Message, error) { panic("stub") }

// Observed is what an agent has observed in a place and not been told of.
type Observed struct {
	AgentID string
	Record  route.Record
}

// ObservedQuery selects records.
type ObservedQuery struct {
	Agent, PlaceID string
	Since          int64 // ms since 1970: none older
	Limit          int   // 0: all
}

// ObservedRecords lists what agents have observed and not been told of, the newest first.
func ObservedRecords(ctx context.Context, tx *sql.Tx, q ObservedQuery) ([]Observed, error) { panic("stub") }

// Posts lists what openclawd has posted, the newest first.
func Posts(ctx context.Context, tx *sql.Tx, q PostQuery) ([]Post, error) { panic("stub") }

// PostQuery selects posts.
type PostQuery struct {
	MessageID, PlaceID, Agent, Purpose, EffectID string
	Before                                       int64 // Seq
	Limit                                        int
}

// Suspended are the places whose suspension is over at a time and of which no event says so, and when the next one is; 0 if there is none.
func Suspended(tx eventstore.Tx, at int64) (places []string, next int64, err error) { panic("stub") }
