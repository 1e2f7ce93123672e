// Package collaborate decides what becomes of the wish of an agent to ask another one in a Discord thread: what is refused and why, in which
// thread the request is put, which bot puts it there, and with what words; and what is done when Discord does not take it. It is pure: clock and
// policy are passed in, and so is all that is read for it in the transaction that appends what it decides.
//
// Decide looks at things in one order, and what it finds first is what it says:
//
//	the request itself, the agent asking itself, the policy between agents, the bots of the two, the channel, whether this was asked before,
//	how often it was passed on, how often the two have asked each other, and then where it goes
//
// A request goes to the thread that is named, else to the one that the two are in already (as a plain message), else to one that was opened for
// the same two, in the same direction and about the same topic, not long ago, else to a new one. A channel that is named and not allowed is
// refused: nothing is created anywhere else instead.
//
// Nothing of a message is cut. What does not fit into one message of Discord is divided by Chunks.
package collaborate

import (
	"strings"
	"time"
)

// Policy is what is configured. DefaultPolicy is as specified.
type Policy struct {
	DefaultChannel  string        // where nothing else says which channel
	AllowedChannels []string      // besides DefaultChannel, which is always allowed; none is no other one
	AllowedGuilds   []string      // none is any
	Reuse           time.Duration // since its last use, until a thread is not taken again; a week at most
	PairLimit       int           // requests between two agents, in both directions, within PairWindow
	PairWindow      time.Duration // an hour at most
	DefaultAccount  string        // whose bot speaks where nothing else says which; ""
	MaxHops         int           // how often something may be passed on between agents; 0 is any number of times
}

// DefaultPolicy is what holds where nothing is configured.
func DefaultPolicy() Policy {
	return Policy{Reuse: 6 * time.Hour, PairLimit: 10, PairWindow: 5 * time.Minute}
}

// What is fixed. Discord counts characters as code points: its API is written in Python 3 and says so (discord-api-docs, issue 1315).
const (
	MaxMessage    = 2000 // characters of a message in Discord
	MaxThreadName = 100  // likewise
	MaxTopic      = 30   // characters of a message that name its thread
	MaxID         = 128  // bytes of what names something in a request
	MaxOriginal   = 500  // characters of a request that are kept
	SameRequest   = 5 * time.Minute
)

// Request is what an agent asks for. Only From, Target and Message have to be there.
type Request struct {
	From       string `json:"from"`   // agent
	Target     string `json:"target"` // an agent's id, or the id of an account, or a mention of a bot
	Message    string `json:"message"`
	ThreadID   string `json:"threadId,omitempty"`
	ChannelID  string `json:"channelId,omitempty"`
	ThreadName string `json:"threadName,omitempty"` // also the topic
	AccountID  string `json:"accountId,omitempty"`  // whose bot speaks
	Key        string `json:"key,omitempty"`        // the same one for the same request; "" is made of what it says
}

// Agent is one that is configured.
type Agent struct {
	ID      string
	Name    string
	Account string // of the binding that gives it an account in Discord; ""
}

// Bot is an account that is connected.
type Bot struct {
	AccountID string
	UserID    string
	Agent     string // that its messages are routed to; ""
}

// Session is that of the agent who asks.
type Session struct {
	Key       string   `json:"key"`
	RunID     string   `json:"runId,omitempty"`     // in which it asks; "" outside of runs
	Hop       int      `json:"hop,omitempty"`       // how often what began the run was passed on between agents
	AccountID string   `json:"accountId,omitempty"` // in Discord; "" elsewhere
	ChannelID string   `json:"channelId,omitempty"` // the channel or thread; "" elsewhere
	Together  []string `json:"together,omitempty"`  // agents that take part, where it is a thread
}

// Kind is what a place in Discord is.
type Kind string

const (
	Text   Kind = "text"  // a channel in which threads are opened, announcements included
	Forum  Kind = "forum" // one in which a thread begins with its first message
	Thread Kind = "thread"
	Direct Kind = "direct" // messages between people; there are no threads
	Other  Kind = "other"  // e.g. a category
)

// Place is a channel or thread as Discord has it.
type Place struct {
	ID       string
	Kind     Kind
	Name     string
	ParentID string // of a thread
	GuildID  string
	Archived bool // it goes on when somebody writes
	Locked   bool // it does not
}

// Verdict is what the policy between agents says.
type Verdict struct {
	Allowed bool
	Why     string
	Mend    string
}

// Situation is all that a decision depends on besides the request.
type Situation struct {
	Policy  Policy
	Agents  []Agent
	Bots    []Bot
	Session Session
	Judge   func(from, target string) Verdict // by the agents' ids
	Cut     *Refusal                          // what the chain of causes has against it that the agent asks; nil for nothing

	// Places are those that there are, of the ones that Look names, and the channels of those that are threads. What is not among them does not
	// exist.
	Places []Place
	State  State
}

// Parties are the ids of the agents that a request is of and to, whatever it calls them.
func (s *Situation) Parties(r Request) (from, target string) {
	return s.agent(r.From).ID, s.agent(r.Target).ID
}

// Look is the ids that Places has to know about for a request, none of them twice.
func (s *Situation) Look(r Request) (ids []string) {
	named := []string{r.ThreadID, r.ChannelID, s.Session.ChannelID, s.Policy.DefaultChannel}
	from, target := s.agent(r.From), s.agent(r.Target)
	if kept, ok := s.State.Threads[reuseKey(from.ID, target.ID, topic(r.ThreadName))]; ok {
		named = append(named, kept.ThreadID)
	}
	seen := map[string]bool{"": true}
	for _, id := range named {
		if id = strings.TrimSpace(id); !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *Situation) place(id string) (Place, bool) {
	for _, p := range s.Places {
		if p.ID == id && id != "" {
			return p, true
		}
	}
	return Place{}, false
}
