package config

// Messages are the settings of messages in all channels.
type Messages struct {
	// Ack is the emoji with which a bot acknowledges a message that its agent handles; "" for none. In Slack it is translated to the
	// emoji's name there, or is that name.
	Ack      string
	AckScope string // which messages: one of the constants below
	// RemoveAck: the acknowledgement is removed after the answer.
	RemoveAck bool
}

// Scopes of acknowledgements, as in OpenClaw.
const (
	AckMentions = "group-mentions" // messages in channels that mention the agent
	AckGroups   = "group-all"      // all messages in channels
	AckDirect   = "direct"         // direct messages
	AckAll      = "all"
)

// Acks reports whether a message is acknowledged.
func (m *Messages) Acks(direct, mentioned bool) bool {
	switch {
	case m.Ack == "":
		return false
	case m.AckScope == AckAll:
		return true
	case direct:
		return m.AckScope == AckDirect
	}
	return m.AckScope == AckGroups || m.AckScope == AckMentions && mentioned
}

// maxEmoji limits an emoji, or its name, in bytes.
const maxEmoji = 64

func (c *Config) decodeMessages(f *fields) {
	m := &c.Messages
	m.Ack = f.text("ackReaction", "")
	if len(m.Ack) > maxEmoji {
		f.invalid(f.get("ackReaction"), f.at.member("ackReaction"), "is too long for an emoji", "give one emoji, such as 👀")
		m.Ack = ""
	}
	m.AckScope = f.choice("ackReactionScope", AckMentions, AckGroups, AckDirect, AckAll, "off", "none")
	m.RemoveAck = f.flag("removeAckAfterReply", false)
	f.others("queue", "inbound", "messagePrefix", "responsePrefix", "visibleReplies", "groupChat", "tts", "usageTemplate", "responseUsage")
	f.aside("statusReactions", "suppressToolErrors")
	f.done()
}
