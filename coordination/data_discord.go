package coordination

// DiscordInbound is the data of the discord.inbound types, for messages of all channels: what a message is to one or several agents. It is decided once for all bots
// that see it. The event's time is when the message was sent.
type DiscordInbound struct {
	Context
	Channel         string   `json:"channel,omitempty"` // absent: discord
	MessageID       string   `json:"messageId"`
	ChannelID       string   `json:"channelId"`
	ThreadID        string   `json:"threadId,omitempty"`
	GuildID         string   `json:"guildId,omitempty"`
	AuthorID        string   `json:"authorId"`
	AuthorAgent     string   `json:"authorAgent,omitempty"`
	Decision        string   `json:"decision"` // handler, observer, dropped
	Reason          string   `json:"reason"`
	Order           string   `json:"order,omitempty"`           // primary, secondary
	Text            string   `json:"text,omitempty"`            // handled messages only
	MentionedAgents []string `json:"mentionedAgents,omitempty"` // in the order of the text

	// Agents are the agents that share the decision: one event of observed or dropped covers all with the same reason.
	Agents     []string `json:"agents,omitempty"`
	AuthorName string   `json:"authorName,omitempty"`
	AccountID  string   `json:"accountId,omitempty"` // of handled: the bot that answers; of direct messages: the receiving bot
	System     bool     `json:"system,omitempty"`    // posted by openclawd in an agent's name: a reminder, an escalation

	// Turn is bot or human, for the loop guard. At most one event of a message has it.
	Turn string `json:"turn,omitempty"`
	// Answers: the message may answer a request to its author. At most one event of a message has it.
	Answers bool `json:"answers,omitempty"`
	// Observed lists, in handled of logs before 2026-11-23, the observed messages that the agent saw with this one. Since then runs read
	// what the agent observed when they start.
	Observed []string `json:"observed,omitempty"`
	RunID    string   `json:"runId,omitempty"` // of handled: the queued run
	Hop      int      `json:"hop,omitempty"`   // of an agent's message: earlier hops

	// CausedBy is, of an agent's message, the message that its run answers, and CollabID the request that this one was, or reminded of.
	// Both are "" otherwise, or if unknown.
	CausedBy string `json:"causedBy,omitempty"`
	CollabID string `json:"collabId,omitempty"`

	// Kept of an observed message: at most 50 characters of its text, and its tokens.
	Summary  string   `json:"summary,omitempty"`
	Mentions []string `json:"mentions,omitempty"` // ids of users
	URLs     []string `json:"urls,omitempty"`     // first those of posted files
	PRs      []int    `json:"prNumbers,omitempty"`
	CodeRefs []string `json:"codeRefs,omitempty"`
}

// DiscordChange is the data of discord.inbound.edited and discord.inbound.deleted, for all channels: what happened to a message after the
// decision about it. The event's time is when it was edited, as far as the service says so.
type DiscordChange struct {
	Context
	Channel   string `json:"channel,omitempty"` // absent: discord
	MessageID string `json:"messageId"`
	ChannelID string `json:"channelId"`
	ThreadID  string `json:"threadId,omitempty"`
	GuildID   string `json:"guildId,omitempty"`
	AuthorID  string `json:"authorId,omitempty"` // of edited
	Text      string `json:"text,omitempty"`     // of edited: the new text, if an agent handles the message
	Summary   string `json:"summary,omitempty"`  // of edited: what observers keep of it
}

// DiscordReaction is the data of discord.reaction, for all channels: a person's reaction to a post of an agent.
type DiscordReaction struct {
	Context
	Channel   string `json:"channel,omitempty"` // absent: discord
	MessageID string `json:"messageId"`
	ChannelID string `json:"channelId"` // the place or thread of the post
	UserID    string `json:"userId"`
	UserName  string `json:"userName,omitempty"`
	Emoji     string `json:"emoji"`
	Removed   bool   `json:"removed,omitempty"`
	RunID     string `json:"runId,omitempty"` // the run that wrote the post
}

// CollabMessage is the data of collab.message: a message in a collaboration thread, for reading it as a conversation. The event's time
// is when the message was sent.
type CollabMessage struct {
	Context
	ThreadID  string `json:"threadId"`
	ChannelID string `json:"channelId,omitempty"`
	MessageID string `json:"messageId"`
	CollabID  string `json:"collabId,omitempty"` // the newest request of the thread, or the message's own
	FromAgent string `json:"fromAgent"`          // author: an agent, or a person's name
	ToAgent   string `json:"toAgent,omitempty"`  // recipient of a request or answer
	Message   string `json:"message"`            // names for ids, secrets masked; shortened where no agent handles it
}

// DiscordOutbound is the data of discord.sent, discord.send_failed and discord.delivery_unknown, for all channels: the result of a delivery's step, in the
// stream of its work.
type DiscordOutbound struct {
	Context
	Channel    string `json:"channel,omitempty"` // absent: discord
	EffectID   string `json:"effectId,omitempty"`
	ChannelID  string `json:"channelId"`
	ThreadID   string `json:"threadId,omitempty"`
	GuildID    string `json:"guildId,omitempty"`
	MessageID  string `json:"messageId,omitempty"`
	AccountID  string `json:"accountId,omitempty"`
	Nonce      string `json:"nonce,omitempty"`
	Purpose    string `json:"purpose,omitempty"`
	Step       string `json:"step,omitempty"`  // open, post, look
	Index      int    `json:"index,omitempty"` // of the message, from 0
	Attempt    int    `json:"attempt,omitempty"`
	RunID      string `json:"runId,omitempty"` // that produced it
	CollabID   string `json:"collabId,omitempty"`
	ApprovalID string `json:"approvalId,omitempty"`
	System     bool   `json:"system,omitempty"` // posted by openclawd itself
	Found      bool   `json:"found,omitempty"`  // of sent: found, not posted again
	ErrorClass string `json:"errorClass,omitempty"`
	ErrorCode  string `json:"errorCode,omitempty"`
	Error      string `json:"error,omitempty"`
	Forgets    string `json:"forgets,omitempty"` // the reuse key whose thread is gone; report/<conversation> for reports
	Escalate   bool   `json:"escalate,omitempty"`
}

// IdentityBot is the data of the identity types.
type IdentityBot struct {
	Context
	Channel   string `json:"channel,omitempty"` // absent: discord
	AgentID   string `json:"agentId"`
	AccountID string `json:"accountId"`
	BotUserID string `json:"botUserId"`
}

// Thread is the data of thread.created, thread.suspended and thread.released. For a suspended channel, ThreadID is the channel's id.
type Thread struct {
	Context
	ThreadID  string `json:"threadId"`
	ChannelID string `json:"channelId,omitempty"`
	Name      string `json:"name,omitempty"`
	GuildID   string `json:"guildId,omitempty"`
	Kind      string `json:"kind,omitempty"`     // collab, report
	EffectID  string `json:"effectId,omitempty"` // of created: the delivery that opened it
	CollabID  string `json:"collabId,omitempty"` // likewise: the request it was opened for
	ReuseKey  string `json:"reuseKey,omitempty"` // likewise: under which it is reused
	ReportOf  string `json:"reportOf,omitempty"` // likewise: the conversation that it reports on
	FromAgent string `json:"fromAgent,omitempty"`
	ToAgent   string `json:"toAgent,omitempty"`
	Reason    string `json:"reason,omitempty"`  // of suspended: bot_rate, bot_turns
	UntilMs   int64  `json:"untilMs,omitempty"` // of suspended
}

// ThreadParticipant is the data of the thread.participant types.
type ThreadParticipant struct {
	Context
	ThreadID  string `json:"threadId"`
	AgentID   string `json:"agentId"`
	BotUserID string `json:"botUserId,omitempty"`
	Reason    string `json:"reason,omitempty"` // of registered: collaborate, mentioned, posted; of expired: silence
}

// SinkAdvanced is the data of sink.advanced: a sink has read the log up to Seq and scheduled its notifications, in the same transaction.
type SinkAdvanced struct {
	Context
	SinkID   string `json:"sinkId"`             // a sink of gateway.conversationSinks, or approvals, escalations
	Seq      int64  `json:"seq"`                // of the last event read
	EffectID string `json:"effectId,omitempty"` // work scheduled with it
	Subject  string `json:"subject,omitempty"`  // of escalations: already notified, not repeated at once
	Stopped  bool   `json:"stopped,omitempty"`  // notification was switched off: the next one starts over
}
