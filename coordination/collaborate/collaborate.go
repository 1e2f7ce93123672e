// Package collaborate decides about an agent's request to another one in a thread of a channel: whether it is refused and
// why, in which thread it is posted, by which bot, and with what text; and what happens when the service does not accept
// it. It is pure: clock and policy are passed in, and so is everything that is read for it in the transaction that
// appends its decision.
//
// Decide checks in a fixed order, and the first reason found is the answer:
//
//	the request itself, the agent asking itself, the policy between agents, the bots of the two, the channel, whether this was asked before,
//	how often it was passed on, how often the two have asked each other, and then the thread
//
// A request goes to the thread that it names, else to the one that the two are in already (as a plain message), else
// to one that was opened recently for the same two, in the same direction and about the same topic, else to a new one.
// A named channel that is not allowed is refused: nothing is created anywhere else instead.
//
// Messages are never shortened. A text that does not fit into one message of the service is split by ChunksFor.
package collaborate

import (
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// Policy is the configuration. DefaultPolicy has the defaults of docs/operations/discord.md.
type Policy struct {
	DefaultChannel  string        // used if no other rule selects a channel
	AllowedChannels []string      // besides DefaultChannel, which is always allowed; none is no other one
	AllowedGuilds   []string      // none is any
	Reuse           time.Duration // from its last use until a thread is not reused any more; at most a week
	PairLimit       int           // requests between two agents, in both directions, within PairWindow
	PairWindow      time.Duration // an hour at most
	DefaultAccount  string        // account of the bot that posts by default; ""
	MaxHops         int           // how often something may be passed on between agents; 0 is unlimited
}

// Fixed limits, the same for all channels. Discord counts characters as code points: its API is written in Python 3 and says so
// (discord-api-docs, issue 1315).
const (
	MaxMessage    = 2000 // characters of a request, and of a message in Discord
	MaxThreadName = 100  // characters of a thread's name in Discord
	MaxTopic      = 30   // characters of a message that name its thread
	MaxID         = 128  // bytes of what names something in a request
	MaxOriginal   = 500  // characters of a request that are kept
	SameRequest   = 5 * time.Minute
)

// Request is what an agent asks for. Only From, Target and Message are required.
type Request struct {
	From       string `json:"from"`   // agent
	Target     string `json:"target"` // an agent's id, or the id of an account, or a mention of a bot
	Message    string `json:"message"`
	ThreadID   string `json:"threadId,omitempty"`
	ChannelID  string `json:"channelId,omitempty"`
	ThreadName string `json:"threadName,omitempty"` // also the topic
	AccountID  string `json:"accountId,omitempty"`  // whose bot speaks
	Key        string `json:"key,omitempty"`        // equal for equal requests; "": derived from the content
}

// Agent is one that is configured.
type Agent struct {
	ID      string
	Name    string
	Account string // of the binding that gives it an account in the channel; ""
}

// Bot is an account that is connected.
type Bot struct {
	AccountID string
	UserID    string
	Agent     string // that its messages are routed to; ""
}

// Session is the session of the requesting agent.
type Session struct {
	Key       string   `json:"key"`
	RunID     string   `json:"runId,omitempty"`     // in which it asks; "" outside of runs
	Hop       int      `json:"hop,omitempty"`       // how often the origin of the run was passed on between agents
	AccountID string   `json:"accountId,omitempty"` // in the channel of the request; "" if the session is elsewhere
	ChannelID string   `json:"channelId,omitempty"` // likewise: the place or thread
	Together  []string `json:"together,omitempty"`  // participating agents, for a thread
}

// Kind is the kind of a place.
type Kind string

const (
	Text   Kind = "text"  // a channel in which threads are opened, announcements included
	Forum  Kind = "forum" // one in which a thread begins with its first message
	Thread Kind = "thread"
	Direct Kind = "direct" // messages between people; there are no threads
	Other  Kind = "other"  // e.g. a category
)

// Place is a place or thread as the service has it.
type Place struct {
	ID       string
	Kind     Kind
	Name     string
	ParentID string // of a thread
	GuildID  string
	Archived bool // it continues when a message is posted
	Locked   bool // it does not
}

// Verdict is what the policy between agents says.
type Verdict struct {
	Allowed bool
	Why     string
	Hint    string
}

// Situation is everything that a decision depends on besides the request.
type Situation struct {
	Channel string // the service in which the request is posted; "" is Discord
	Policy  Policy
	Agents  []Agent
	Bots    []Bot
	Session Session
	Judge   func(from, target string) Verdict // by the agents' ids
	Cut     *Refusal                          // why the chain of causes forbids the request; nil if it does not

	// Places are the existing places among those returned by RequiredPlaces, and the channels of threads among them. Places that
	// are missing do not exist.
	Places []Place
	State  State
}

// Parties returns the ids of the two agents of a request, whatever it calls them.
func (s *Situation) Parties(r Request) (from, target string) {
	return s.agent(r.From).ID, s.agent(r.Target).ID
}

// RequiredPlaces returns the ids that Places must contain for a request, without duplicates.
func (s *Situation) RequiredPlaces(r Request) (ids []string) {
	named := []string{r.ThreadID, r.ChannelID, s.Session.ChannelID, s.Policy.DefaultChannel}
	from, target := s.agent(r.From), s.agent(r.Target)
	if kept, ok := s.State.Threads[s.reuseKey(from.ID, target.ID, topic(r.ThreadName))]; ok {
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

// Reaches reports whether both agents of a request have a bot, and the account that the request names is connected.
func (s *Situation) Reaches(r Request) bool {
	from, target := s.agent(r.From), s.agent(r.Target)
	_, asks := s.botOf(from)
	_, answers := s.botOf(target)
	_, speaks := s.bot(strings.TrimSpace(r.AccountID))
	return answers && (speaks || asks && strings.TrimSpace(r.AccountID) == "")
}

// traits are those of the channel.
func (s *Situation) traits() coordination.Channel {
	c, _ := coordination.ChannelNamed(s.Channel)
	return c
}

func (s *Situation) place(id string) (Place, bool) {
	for _, p := range s.Places {
		if p.ID == id && id != "" {
			return p, true
		}
	}
	return Place{}, false
}
