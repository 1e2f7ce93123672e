package route

// Mode is what a message is to an agent.
type Mode string

const (
	Handler  Mode = "handler"
	Observer Mode = "observer"
	Dropped  Mode = "dropped"
)

// Order ranks the handlers of a message that mentions several agents: the first one leads.
type Order string

const (
	Primary   Order = "primary"
	Secondary Order = "secondary"
)

// Reason is a stable code.
type Reason string

// Reasons of handlers.
const (
	ByMention       Reason = "mentioned"
	ByParticipation Reason = "participant"
	ByBinding       Reason = "binding"
	ByDefault       Reason = "default_agent"
)

// Reasons of observers.
const (
	OthersMentioned Reason = "other_mentioned"  // another agent is meant
	NotParticipant  Reason = "not_participant"  // of a thread
	MentionOnly     Reason = "mention_only"     // the participants of the thread are unknown
	NotOwner        Reason = "not_owner"        // another agent answers for the channel
	NobodyOwns      Reason = "nobody_owns"      // no agent answers for the channel
	NeedsMention    Reason = "mention_required" // by policy
	SiblingSpeaks   Reason = "sibling_message"  // another agent speaks in a channel and mentions no agent
	SystemText      Reason = "system_text"      // openclawd's own posts call only mentioned agents
	Suspended       Reason = "thread_suspended" // too many messages of bots here
	PairLimited     Reason = "pair_limited"     // too many messages between the author and this agent
	HopLimit        Reason = "hop_limit"        // chain of agents that cause each other's messages too long
	AgentNotAllowed Reason = "a2a_not_allowed"  // the author is an agent that may not run this one
)

// Reasons of dropped messages.
const (
	NoAuthor          Reason = "author_missing"
	ChannelsDisabled  Reason = "channels_disabled"
	GuildNotAllowed   Reason = "guild_not_allowed"
	ChannelNotAllowed Reason = "channel_not_allowed"
	DirectDisabled    Reason = "dm_disabled"
	DirectNotAllowed  Reason = "dm_not_allowed"
	DirectNotPaired   Reason = "dm_not_paired"
	SinkThread        Reason = "sink_thread"
	SinkPost          Reason = "sink_post"
	DiscordNotice     Reason = "discord_notice"
	Interaction       Reason = "interaction"  // a command, or the answer to a form: it is carried out, and no text for agents
	Continuation      Reason = "continuation" // of a message decided before
	EmptyText         Reason = "empty"
	ForeignBot        Reason = "foreign_bot" // of observers too, with Policy.RecordBots
	AuthorNotAllowed  Reason = "author_not_allowed"
	OwnMessage        Reason = "own_message" // the agent's own message
	NoBot             Reason = "no_bot"      // no agent's bot sees it
	InternalError     Reason = "internal_error"
)

// Verdict is what a message is to one agent.
type Verdict struct {
	Agent     string
	BotUserID string // that sees it for the agent, and answers
	AccountID string
	Mode      Mode
	Reason    Reason
	Order     Order
	Hints     []string // of handlers: lines for the model besides the message
	RunID     string   // of handlers: lines for the model besides the message
}

// Turn is the loop guard's view of a message.
type Turn string

const (
	NoTurn    Turn = ""
	BotTurn   Turn = "bot"
	HumanTurn Turn = "human"
)

// Suspension is the start of a suspension.
type Suspension struct {
	Place  string
	Reason Reason // BotRate or BotTurns
	Until  int64  // ms since 1970
}

// Reasons of suspensions.
const (
	BotRate  Reason = "bot_rate"  // too many messages of bots within the window
	BotTurns Reason = "bot_turns" // too many messages of bots in a row
)

// Enrolment is an agent that becomes a participant of a thread.
type Enrolment struct {
	Agent     string
	BotUserID string
	Reason    Reason
}

// Reasons of enrolments.
const (
	EnrolCollaborate Reason = "collaborate"
	EnrolMentioned   Reason = "mentioned"
	EnrolPosted      Reason = "posted"
)

// Warning is a code for the operator.
type Warning string

const (
	WarnParticipantsUnknown Warning = "participants_unknown" // agents answer only mentions in this thread
	WarnNobodyOwns          Warning = "nobody_owns"          // neither the bound agent nor the default one sees the channel
	WarnOwnerAbsent         Warning = "owner_absent"         // the default agent replaces a bound one that is absent or unknown
	WarnMentionedAbsent     Warning = "mentioned_absent"     // the bot of a called agent does not see the message
	WarnNoBot               Warning = "no_bot"               // the account of a direct message has no bot
)

// Decision is what a message is to all agents whose bots see it.
type Decision struct {
	// Verdicts has one entry for each of these agents, by agent id. A direct message has one: of the agent it belongs to, which may be
	// another than the bot's.
	Verdicts  []Verdict
	Mentioned []string // agents in the order of the text, without the author
	Author    string   // the author's agent; "" for none
	Record    Record   // kept by observers
	Turn      Turn
	Answers   bool // may answer a request to its author: an agent's own message in a thread
	Touches   bool // keeps the participants of its thread

	Enrol    []Enrolment // of the thread, by agent id
	Lapsed   []string    // participants that expired after silence
	Suspend  *Suspension
	Release  bool // the suspension of the place is over
	Warnings []Warning

	// Again: the message was decided before. Verdicts repeats that decision; there are no events.
	Again bool

	at     Message
	hop    int
	sender string // display name of the author
}

// Of returns an agent's verdict; ok is false if its bot does not see the message.
func (d *Decision) Of(agent string) (v Verdict, ok bool) {
	for i := range d.Verdicts {
		if d.Verdicts[i].Agent == agent {
			return d.Verdicts[i], true
		}
	}
	return Verdict{}, false
}

// Handlers lists the agents to run, by agent id.
func (d *Decision) Handlers() (agents []string) {
	for i := range d.Verdicts {
		if d.Verdicts[i].Mode == Handler {
			agents = append(agents, d.Verdicts[i].Agent)
		}
	}
	return agents
}
