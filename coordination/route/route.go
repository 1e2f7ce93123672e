// Package route decides what a message in a channel is to each agent: whether the agent handles it, observes it, or never sees it. It is
// pure: time and all other inputs are passed in.
//
// Every bot in a channel receives every message, so Decide is called once for each message id, for all bots together. Its Decision has,
// for every agent whose bot sees the message, one of
//
//	handler   the agent is run, and answers
//	observer  the agent is not run; later runs of its session there see a short record of the message
//	dropped   the agent never learns of the message
//
// each with a stable reason. These reach no agent, checked in this order: messages without an author, closed places, threads and posts
// of sinks, Discord's system messages, commands and answers to forms, empty messages, foreign bots, people who may not speak. Then:
//
//	mentions of agents   those handle it, the first one as the primary
//	thread               its participants except the author handle it too; with the policy Mentioned they observe messages that mention others
//	channel              the bound agent, else the default one; another agent's message there calls none
//	direct message       the bound agent, else the bot's own
//
// Finally the loop guard, and the limit of a chain of agents, turn handlers of bots' messages into observers. Only mentions in the text
// itself count: not those in code and quotes, nor the reply target.
//
// Decision.Events are appended in one transaction with the runs that follow. Attendance, Guard, History and Ledger fold those events and
// are inputs of the next Decide. Events carry the time the message was sent, so that the outcome does not depend on when messages are
// read.
//
// Each message is decided on its own. A long text that openclawd posts as several messages is decided as a whole, with the first one.
package route

import "time"

// Message is a Discord message, without the one it replies to.
type Message struct {
	ID         string
	GuildID    string // "" for a direct message
	Group      bool   // in a conversation of several people, of a service whose places are channels
	ChannelID  string // the parent channel of a thread
	ThreadID   string // "" outside of threads
	ThreadName string
	AccountID  string // of a direct message: the receiving bot's account

	Author      Author
	Text        string
	Names       map[string]string // of the users Discord reports as mentioned, by user id; for names only
	Attachments int
	Files       []File // of a post of openclawd's, with those that follow it
	At          int64  // when sent, ms since 1970

	Notice      bool // Discord's own, such as a join, a pin or a new thread
	Interaction bool // a command, or the answer to a form
	System      bool // posted by openclawd in an agent's name: a reminder, an escalation

	Request  bool   // a request to another agent, already accepted by the pair limit
	Rest     bool   // a later part of one text that openclawd posted as several messages; the first part's Text has all of it
	CausedBy string // of an agent's message: the message that its run answers; "" for none or unknown
	CollabID string // likewise: the request that this message was, or reminded of

	Silent bool // not an answer: a request itself, or the continuation of an agent's previous message
}

// File is a file that lies beside the log.
type File struct{ Name, SHA256 string }

// Place is the thread or channel of the message.
func (m *Message) Place() string {
	if m.ThreadID != "" {
		return m.ThreadID
	}
	return m.ChannelID
}

func (m *Message) direct() bool { return m.GuildID == "" }

// Author is the author of a message.
type Author struct {
	ID      string
	Name    string
	Bot     bool
	Webhook bool
	Roles   []string // in the guild
}

// Bot is a bot that speaks for an agent. An agent may have several.
type Bot struct {
	UserID    string
	AccountID string
	Agent     string // agent id, lower case
	Name      string // display name of the agent; "" for the id
	Blind     bool   // does not see the message: no access, or not connected
	Bars      Reason // why settings of its own refuse the message; "" if they do not
}

// Sinks are the targets of reports. Messages there concern no agent.
type Sinks struct {
	Threads []string
	Authors []string // user ids of bots and webhooks that only post reports
}

// ReportPrefix begins the names of threads for reports.
const ReportPrefix = "[리포트]"

// Values of the policy, as in openclaw.json.
const (
	Open      = "open"
	Allowlist = "allowlist"
	Pairing   = "pairing"
	Disabled  = "disabled"

	ForeignNo       = "no"
	ForeignMentions = "mentions"
	ForeignYes      = "yes"

	Mentioned    = "mentioned"    // only mentioned agents handle a message with mentions
	Participants = "participants" // participants handle it too, with a hint about who is addressed
)

// Policy says which messages are accepted, and how many. All durations and limits must be set; see DefaultPolicy.
type Policy struct {
	DefaultAgent string

	Groups   string   // Open, Allowlist or Disabled
	Guilds   []string // accepted guilds; empty is any
	Channels []string // likewise, or threads; with Allowlist, empty is none
	Users    []string // who may speak in guilds; either this or Roles suffices; everybody if both are empty
	Roles    []string

	Direct    string   // Open, Allowlist, Pairing or Disabled
	AllowFrom []string // user ids allowed to send direct messages, paired ones included; "*" is anyone

	ForeignBots string // ForeignNo, ForeignMentions or ForeignYes
	RecordBots  bool   // observe unaccepted messages of foreign bots

	// RequireMention ignores channel messages that mention no agent.
	RequireMention bool
	ThreadMention  string // Mentioned or Participants

	ParticipantTTL time.Duration
	Guard          Limits
	MaxHops        int // maximum hops from agent to agent after a person's message; 0 is unlimited

	// Allowed reports whether one agent may run another by mentioning it; nil allows all. Thread participants were admitted by a request
	// or a person before.
	Allowed func(from, to string) bool
}

// DefaultPolicy accepts everyone in guilds and no direct messages.
func DefaultPolicy() Policy {
	return Policy{
		Groups: Open, Direct: Pairing, ForeignBots: ForeignNo, ThreadMention: Participants, ParticipantTTL: 24 * time.Hour, Guard: DefaultLimits(),
	}
}

// Situation is the input of Decide, which does not change it.
type Situation struct {
	Message  Message
	Bots     []Bot     // all, in any order
	Bindings []Binding // in the order of the configuration
	Sinks    Sinks
	Policy   Policy

	Participants Attendance // nil: unknown; agents not mentioned in a thread stay silent
	Guard        *Guard     // nil: empty
	Hop          int        // of an agent's message: hops since a person's message; 0 if unknown
	Earlier      *Decision  // about this message id; nil for none
}
