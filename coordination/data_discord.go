package coordination

// DiscordInbound is the data of the discord.inbound types: what one message is to an agent, or to several. A message is decided about once for all
// bots that see it. The time of the event is when the message was sent.
type DiscordInbound struct {
	Context
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

	// Agents are whose decision it is, where it is the same for several: one event of observed and of dropped tells of all whose reason is the same.
	Agents     []string `json:"agents,omitempty"`
	AuthorName string   `json:"authorName,omitempty"`
	AccountID  string   `json:"accountId,omitempty"` // of handled: the bot that answers; of direct messages: the bot that was written to
	System     bool     `json:"system,omitempty"`    // openclawd has posted it in an agent's name: a reminder, an escalation

	// Turn says what the message is to the loop guard: bot or human. At most one event of a message has it.
	Turn string `json:"turn,omitempty"`
	// Answers: the message may answer a request to its author. At most one event of a message has it.
	Answers bool `json:"answers,omitempty"`
	// Observed are, of handled in logs of before 2026-11-23, the ids of the messages that the agent had observed and was told of with this one. Now it is
	// told of all that it remembers when a run begins, whatever has caused that.
	Observed []string `json:"observed,omitempty"`
	RunID    string   `json:"runId,omitempty"` // of handled: the run that was asked for
	Hop      int      `json:"hop,omitempty"`   // of a message of an agent: how often what began it was passed on before

	// CausedBy is, of a message of an agent, the message that the run was asked by which has said it, and CollabID the request that this one was, or
	// reminded of. Both are "" where it was said for another reason, or that is not known.
	CausedBy string `json:"causedBy,omitempty"`
	CollabID string `json:"collabId,omitempty"`

	// What is kept of an observed message: at most 50 characters of its text, and what stands out in it.
	Summary  string   `json:"summary,omitempty"`
	Mentions []string `json:"mentions,omitempty"` // ids of users
	URLs     []string `json:"urls,omitempty"`
	PRs      []int    `json:"prNumbers,omitempty"`
	CodeRefs []string `json:"codeRefs,omitempty"`
}

// CollabMessage is the data of collab.message: what was said in a thread in which agents ask each other, for whoever reads it as a conversation. Its time
// is when the message was sent.
type CollabMessage struct {
	Context
	ThreadID  string `json:"threadId"`
	ChannelID string `json:"channelId,omitempty"`
	MessageID string `json:"messageId"`
	CollabID  string `json:"collabId,omitempty"` // the newest request of the thread, or the one that the message is
	FromAgent string `json:"fromAgent"`          // who has written it: an agent, or the name of a person
	ToAgent   string `json:"toAgent,omitempty"`  // to whom it is a request, or an answer
	Message   string `json:"message"`            // with names for ids, secrets masked; in short where no agent handles it
}

// DiscordOutbound is the data of discord.sent, discord.send_failed and discord.delivery_unknown: what became of a step of a delivery. They lie in
// the stream of the work that it is.
type DiscordOutbound struct {
	Context
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
	RunID      string `json:"runId,omitempty"` // that has said it
	CollabID   string `json:"collabId,omitempty"`
	ApprovalID string `json:"approvalId,omitempty"`
	System     bool   `json:"system,omitempty"` // openclawd says it by itself
	Found      bool   `json:"found,omitempty"`  // of sent: it stood there already
	ErrorClass string `json:"errorClass,omitempty"`
	ErrorCode  string `json:"errorCode,omitempty"`
	Error      string `json:"error,omitempty"`
	Forgets    string `json:"forgets,omitempty"` // the reuse key whose thread is no more; report/<conversation> of one for reports
	Escalate   bool   `json:"escalate,omitempty"`
}

// IdentityBot is the data of the identity types.
type IdentityBot struct {
	Context
	AgentID   string `json:"agentId"`
	AccountID string `json:"accountId"`
	BotUserID string `json:"botUserId"`
}

// Thread is the data of thread.created, thread.suspended and thread.released. A channel can be suspended too: ThreadID is its id then.
type Thread struct {
	Context
	ThreadID  string `json:"threadId"`
	ChannelID string `json:"channelId,omitempty"`
	Name      string `json:"name,omitempty"`
	GuildID   string `json:"guildId,omitempty"`
	Kind      string `json:"kind,omitempty"`     // collab, report
	EffectID  string `json:"effectId,omitempty"` // of created: the delivery that has opened it
	CollabID  string `json:"collabId,omitempty"` // likewise: the request that it was opened for
	ReuseKey  string `json:"reuseKey,omitempty"` // likewise: under which it is kept
	ReportOf  string `json:"reportOf,omitempty"` // likewise: the conversation between agents that it is about
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

// SinkAdvanced is the data of sink.advanced: what tells people has read the log up to Seq, and what there was to tell is asked for. It is appended
// with what it asks for.
type SinkAdvanced struct {
	Context
	SinkID   string `json:"sinkId"`             // of gateway.conversationSinks; or approvals, escalations
	Seq      int64  `json:"seq"`                // of the last event that was read
	EffectID string `json:"effectId,omitempty"` // the work that was asked for with it
	Subject  string `json:"subject,omitempty"`  // of escalations: what people were told of, so that they are not told again at once
	Stopped  bool   `json:"stopped,omitempty"`  // nobody wants to be told any more: the next one begins anew
}
