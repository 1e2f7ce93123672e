// Package route decides what one message of Discord is to each agent: whether the agent handles it, remembers it, or neither. It is pure: what it
// depends on is passed in, time too.
//
// Every bot in a channel is told of every message. Decide is therefore asked once for each message id, for all bots together, and its Decision says
// of every agent whose bot sees the message one of
//
//	handler   the agent is run, and answers
//	observer  the agent is not run; it remembers the message, in short, in every later run of its session there
//	dropped   the message does not exist for it
//
// each with a reason that programs may rely on. What reaches nobody comes first, in this order: no author, a place that is not open, threads and
// posts that only report, what Discord says by itself, what is empty, bots of others, people who may not speak. Then:
//
//	message that mentions agents   those handle it, the first one as the primary
//	thread                         its participants handle it, except the author, whoever is mentioned; with the policy Mentioned they observe what
//	                               mentions others
//	channel                        the agent that is bound to it, else the default agent; what another agent says there calls nobody
//	direct message                 the agent that it is bound to, else that of the bot
//
// and then the loop guard, which turns handlers of what bots write into observers; so does the bound of a chain of agents that cause each other to
// write. A mention counts where the text really mentions somebody: not in
// code, not in what is quoted, and what a message replies to calls nobody.
//
// Decision.Events is what is appended, in one transaction with the runs that follow from it. Participants, Guard, History and Ledger fold those
// events; they are what Decide is given for the next message. Whoever appends says when a message was sent, so that the same messages have the same
// outcome whenever they are read.
//
// Each message is decided about on its own. A long text that an agent posts as several messages is decided about as a whole, with the first one.
package route

import "time"

// Message is a message as Discord tells it. What it replies to is no part of it.
type Message struct {
	ID         string
	GuildID    string // "": a direct message
	ChannelID  string // of a thread: the channel that it hangs below
	ThreadID   string // "" outside of threads
	ThreadName string
	AccountID  string // of a direct message: the bot that it was sent to

	Author      Author
	Text        string
	Names       map[string]string // of the users that Discord says are mentioned, by user id; they call nobody
	Attachments int
	At          int64 // when it was sent, ms since 1970

	Notice bool // Discord says it, of somebody who joins, a pin, a thread
	System bool // openclawd has posted it by itself, in an agent's name: a reminder, an escalation

	Request  bool   // one agent asks another one by it, and was let: how often two may do that is bounded there
	Rest     bool   // openclawd has posted one text as several messages, and it is not the first one, whose Text is all of it
	CausedBy string // of what an agent says: the message that its run was asked by; "" if it was asked by none, or that is not known
	CollabID string // likewise: the request that this message was, or reminded of

	Silent bool // it answers nobody: an answer is waited for to it itself, or it goes on with what an agent has said in the message before
}

// Place is the thread or channel that the message stands in.
func (m *Message) Place() string {
	if m.ThreadID != "" {
		return m.ThreadID
	}
	return m.ChannelID
}

func (m *Message) direct() bool { return m.GuildID == "" }

// Author is who has written a message.
type Author struct {
	ID      string
	Name    string
	Bot     bool
	Webhook bool
	Roles   []string // in the guild
}

// Bot is a bot that speaks for an agent. An agent may have several; it is one agent for all that.
type Bot struct {
	UserID    string
	AccountID string
	Agent     string // agent id, in lower case
	Name      string // of the agent, as people call it; "" is the id
	Blind     bool   // it does not see the message: no access, or not connected
}

// Sinks are where reports go. What is written there concerns no agent.
type Sinks struct {
	Threads []string
	Authors []string // user ids of bots and webhooks that only report
}

// ReportPrefix is what the names of threads begin with that hold reports only.
const ReportPrefix = "[리포트]"

// Who may be heard, as in openclaw.json.
const (
	Open      = "open"
	Allowlist = "allowlist"
	Pairing   = "pairing"
	Disabled  = "disabled"

	ForeignNo       = "no"
	ForeignMentions = "mentions"
	ForeignYes      = "yes"

	Mentioned    = "mentioned"    // who is mentioned in a thread handles the message alone
	Participants = "participants" // participants handle it too, and are told to whom it is addressed
)

// Policy says what is heeded, and how much of it. All durations and limits are set; DefaultPolicy is what holds where nothing is configured.
type Policy struct {
	DefaultAgent string

	Groups   string   // Open, Allowlist or Disabled
	Guilds   []string // that are heeded; none listed is any
	Channels []string // likewise, or threads; with Allowlist none listed is none
	Users    []string // who may speak in guilds; with Roles: either will do, and without both it is everybody
	Roles    []string

	Direct    string   // Open, Allowlist, Pairing or Disabled
	AllowFrom []string // user ids whose direct messages are heeded, those that are paired among them; "*" is anybody

	ForeignBots string // ForeignNo, ForeignMentions or ForeignYes
	RecordBots  bool   // messages of bots of others that are not heeded are observed

	// RequireMention leaves messages in channels that mention no agent to nobody.
	RequireMention bool
	ThreadMention  string // Mentioned or Participants

	ParticipantTTL time.Duration
	Guard          Limits
	MaxHops        int // how often what began with a person may be passed on from agent to agent; 0 is without bound

	// Allowed says whether one agent may have another one run by mentioning it; nil allows all. Who takes part in a thread already was let in by a
	// request or a person.
	Allowed func(from, to string) bool
}

// DefaultPolicy hears everybody in guilds and nobody else.
func DefaultPolicy() Policy {
	return Policy{
		Groups: Open, Direct: Pairing, ForeignBots: ForeignNo, ThreadMention: Participants, ParticipantTTL: 24 * time.Hour, Guard: DefaultLimits(),
	}
}

// Situation is all that a decision depends on. Nothing of it is changed.
type Situation struct {
	Message  Message
	Bots     []Bot     // all there are, in any order
	Bindings []Binding // in the order of the configuration
	Sinks    Sinks
	Policy   Policy

	Participants Attendance // nil: nothing is known, and who is not mentioned in a thread stays silent
	Guard        *Guard     // nil: nothing has happened yet
	Hop          int        // of a message of an agent: how often what began it was passed on; 0 where a person has begun it, or nobody knows
	Earlier      *Decision  // that has been taken about this message id; nil if none has
}
