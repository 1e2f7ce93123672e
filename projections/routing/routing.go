// Package routing folds what was decided about messages in Discord, and what happened in its threads and channels: which agent handled a message,
// which observed it, and why; who takes part in which thread; what agents have observed; how much bots have talked; what
// agents have posted. It is a decision table: the next message is decided about by what is read here, within the transaction that appends.
package routing

import "github.com/pronto-lab/openclawd/coordination/route"

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
	CausedBy, CollabID                        string    // of Answers: the message that an agent has answered by it, and the request that this one was
}

// Verdict is what a message was to one agent.
type Verdict struct {
	AgentID   string // "" where no agent was concerned, or it is not known any more who
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

// PlaceQuery selects places.
type PlaceQuery struct {
	ID      string
	Threads bool   // only threads
	Agent   string // only threads that this agent takes part in, or has
	Before  int64  // LastAt of the last one that is known already
	Place   string // likewise its ID; "": none of that LastAt is wanted
	Limit   int    // 0: all
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

// Observed is what an agent has observed in a place.
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

// PostQuery selects posts.
type PostQuery struct {
	MessageID, PlaceID, Agent, Purpose, EffectID string
	Before                                       int64 // Seq
	Limit                                        int
}
