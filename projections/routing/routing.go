// Package routing folds the decisions about messages in Discord, and the state of its threads and channels: which
// agent handled a message, which observed it, and why; the participants of each thread; what agents have observed; how
// much bots have talked; what agents have posted. It is a decision table: the next message is decided from it, within
// the transaction that appends.
package routing

import "github.com/pronto-lab/openclawd/coordination/route"

// Message is a message with its verdicts for each agent.
type Message struct {
	ID, PlaceID, ChannelID, ThreadID, GuildID string
	AuthorID, AuthorName, AuthorAgent         string
	Text                                      string // of a handled message; otherwise the text that observers keep
	Mentioned                                 []string
	At                                        int64 // ms since 1970
	Seq                                       int64 // seq of the first event about it
	System                                    bool
	Verdicts                                  []Verdict // by agent
	CausedBy, CollabID                        string    // for Answers: the message that the agent answered with it, and the request that this one was
}

// Verdict is the decision about a message for one agent.
type Verdict struct {
	AgentID   string // "" if no agent was concerned, or it is unknown which
	AccountID string
	Mode      route.Mode
	Reason    route.Reason
	Order     route.Order
	RunID     string // for a handler: the requested run; ""
	Seq       int64
}

// MessageQuery selects messages.
type MessageQuery struct {
	ID, PlaceID, Agent string
	Channel            string     // "": of all channels
	Mode               route.Mode // with Agent
	Before             int64      // Seq of the last known one
	Limit              int        // 0: all
}

// Place is a channel or thread known to the log.
type Place struct {
	ID        string
	GuildID   string // "" in direct messages
	ChannelID string // of a thread: its channel; otherwise ID
	Thread    bool
	Name      string // of a thread; "" if unknown
	Kind      string // of a thread opened by openclawd: collab, report; ""
	AccountID string // of a direct message
	LastID    string // last message that was decided about; ""
	LastAt    int64  // last message or registration there, ms since 1970

	SuspendedUntil int64 // ms since 1970; 0 if not suspended
	SuspendedFor   string
}

// PlaceQuery selects places.
type PlaceQuery struct {
	ID      string
	Channel string // "": of all channels
	Threads bool   // only threads
	Agent   string // only threads in which this agent takes or took part
	Before  int64  // LastAt of the last known one
	Place   string // likewise its ID; "" excludes all with that LastAt
	Limit   int    // 0: all
}

// Participant is an agent in a thread.
type Participant struct {
	ThreadID  string
	AgentID   string
	BotUserID string
	Reason    string // collaborate, mentioned, posted
	Since     int64  // ms since 1970
	Left      int64  // when an event recorded that it left; 0 if none
	LastAt    int64  // last message in the thread
}

// Observed is a message that an agent has observed in a place.
type Observed struct {
	AgentID string
	Record  route.Record
}

// ObservedQuery selects records.
type ObservedQuery struct {
	Agent, PlaceID string
	Channel        string // "": of all channels
	Since          int64  // ms since 1970: lower bound
	Limit          int    // 0: all
}

// Post is a message posted by openclawd.
type Post struct {
	MessageID string
	PlaceID   string // channel or thread
	ThreadID  string
	AgentID   string // agent in whose name; ""
	AccountID string
	Purpose   string // kind in coordination/delivery
	EffectID  string
	RunID     string // run that produced it; ""
	CollabID  string // likewise
	System    bool
	At        int64 // ms since 1970
	Seq       int64
}

// PostQuery selects posts.
type PostQuery struct {
	MessageID, PlaceID, Agent, Purpose, EffectID string
	Channel                                      string // "": of all channels
	Before                                       int64  // Seq
	Limit                                        int
}
