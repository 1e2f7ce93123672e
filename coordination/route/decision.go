package route

// Mode is what a message is to an agent.
type Mode string

const (
	Handler  Mode = "handler"
	Observer Mode = "observer"
	Dropped  Mode = "dropped"
)

// Order is the part of an agent that is mentioned in a message which several handle: the first one leads. Otherwise there is none.
type Order string

const (
	Primary   Order = "primary"
	Secondary Order = "secondary"
)

// Reason is why. It is a code: programs may rely on it.
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
	MentionOnly     Reason = "mention_only"     // who takes part in the thread is not known
	NotOwner        Reason = "not_owner"        // another agent answers for the channel
	NobodyOwns      Reason = "nobody_owns"      // no agent answers for the channel
	NeedsMention    Reason = "mention_required" // as the policy has it
	SiblingSpeaks   Reason = "sibling_message"  // another agent speaks in a channel, to nobody
	SystemText      Reason = "system_text"      // what openclawd posts itself calls only whom it mentions
	Suspended       Reason = "thread_suspended" // bots talk too much here
	PairLimited     Reason = "pair_limited"     // the author and this agent talk too much
	HopLimit        Reason = "hop_limit"        // agents have caused each other to write too often in a row
	AgentNotAllowed Reason = "a2a_not_allowed"  // the author is an agent that may not have this one run
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
	Continuation      Reason = "continuation" // of what was decided about with the message before
	EmptyText         Reason = "empty"
	ForeignBot        Reason = "foreign_bot" // of observers too, where the policy says so
	AuthorNotAllowed  Reason = "author_not_allowed"
	OwnMessage        Reason = "own_message" // the agent has written it: it is no news
	NoBot             Reason = "no_bot"      // no bot that speaks for an agent sees it
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
	Hints     []string // of handlers: what the model is told besides the message, each a line
	RunID     string   // of handlers: the run that is asked for; whoever asks for it fills it in
}

// Turn is what a message is to the loop guard.
type Turn string

const (
	NoTurn    Turn = ""
	BotTurn   Turn = "bot"
	HumanTurn Turn = "human"
)

// Suspension is the beginning of one.
type Suspension struct {
	Place  string
	Reason Reason // BotRate or BotTurns
	Until  int64  // ms since 1970
}

// Reasons of suspensions.
const (
	BotRate  Reason = "bot_rate"  // too many messages of bots in a short time
	BotTurns Reason = "bot_turns" // too many messages of bots without one of a human
)

// Enrolment is an agent that takes part in a thread from now on.
type Enrolment struct {
	Agent     string
	BotUserID string
	Reason    Reason
}

// Reasons of enrolments, the three that there are.
const (
	EnrolCollaborate Reason = "collaborate"
	EnrolMentioned   Reason = "mentioned"
	EnrolPosted      Reason = "posted"
)

// Warning is a code of something that an operator should know.
type Warning string

const (
	WarnParticipantsUnknown Warning = "participants_unknown" // agents of this thread answer only where they are mentioned
	WarnNobodyOwns          Warning = "nobody_owns"          // neither the agent that is bound nor the default one sees the channel
	WarnOwnerAbsent         Warning = "owner_absent"         // the default agent stands in for one that is bound, but absent or not known
	WarnMentionedAbsent     Warning = "mentioned_absent"     // an agent is meant whose bot does not see the message
	WarnNoBot               Warning = "no_bot"               // no bot is known for the account of a direct message
)

// Decision is what a message is to all agents whose bot sees it.
type Decision struct {
	// Verdicts are one for each of these agents, by agent id. Of a direct message there is one: that of the agent it belongs to, which need not be
	// the bot's.
	Verdicts  []Verdict
	Mentioned []string // agents, in the order of the text, the author not among them
	Author    string   // the agent that has written it; "" if none has
	Record    Record   // what observers keep
	Turn      Turn
	Answers   bool // it may answer a request to its author: a text of an agent's own, in a thread
	Touches   bool // it keeps the participants of its thread

	Enrol    []Enrolment // in the thread, by agent id
	Lapsed   []string    // agents that no longer take part in the thread, since nobody spoke for so long
	Suspend  *Suspension
	Release  bool // the suspension of the place is over
	Warnings []Warning

	// Again: the message has been decided about before. The verdicts are those of then; nothing follows from them any more.
	Again bool

	at     Message
	hop    int
	sender string // how the author is called
}

// Of is what the message is to an agent; ok is false if its bot does not see the message.
func (d *Decision) Of(agent string) (v Verdict, ok bool) {
	for i := range d.Verdicts {
		if d.Verdicts[i].Agent == agent {
			return d.Verdicts[i], true
		}
	}
	return Verdict{}, false
}

// Handlers are the agents that are run, by agent id.
func (d *Decision) Handlers() (agents []string) {
	for i := range d.Verdicts {
		if d.Verdicts[i].Mode == Handler {
			agents = append(agents, d.Verdicts[i].Agent)
		}
	}
	return agents
}
