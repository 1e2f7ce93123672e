package discord

import (
	"cmp"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
)

// Channel is what Discord is called in session keys, bindings and runs.
const Channel = "discord"

// Where is the place in which somebody speaks with an agent.
type Where struct {
	AccountID string // of the agent's bot
	GuildID   string // "" in conversations
	ChannelID string // of a thread: the thread's own
	UserID    string // who speaks
	Group     bool   // of a conversation: there are more than two in it
}

// Where is the place of the message.
func (in *Inbound) Where() Where {
	m := &in.Message
	return Where{AccountID: in.AccountID, GuildID: m.GuildID, ChannelID: m.ChannelID, UserID: m.Author.ID}
}

// Where is the place of the interaction.
func (i *Interaction) Where() Where {
	return Where{AccountID: i.AccountID, GuildID: i.GuildID, ChannelID: i.ChannelID, UserID: i.User.ID, Group: i.Group}
}

// SessionOf is the session in which an agent speaks at a place: one of each channel and thread, one of each group, and of conversations with one
// person what session.dmScope says, the agent's main session if it says nothing.
func SessionOf(c *config.Config, agent string, at Where) coordination.SessionKey {
	agent = strings.ToLower(agent)
	account := cmp.Or(coordination.NormalizeAgentID(at.AccountID), config.DefaultAccount)
	switch scope := c.Session.DMScope; {
	case at.GuildID != "":
		return coordination.ChannelKey(agent, Channel, at.ChannelID)
	case at.Group:
		return coordination.GroupKey(agent, Channel, at.ChannelID)
	case scope == "per-peer" && at.UserID != "":
		return coordination.DirectKey(agent, "", "", at.UserID)
	case scope == "per-channel-peer" && at.UserID != "":
		return coordination.DirectKey(agent, Channel, "", at.UserID)
	case scope == "per-account-channel-peer" && at.UserID != "":
		return coordination.DirectKey(agent, Channel, account, at.UserID)
	case c.Session.Scope == "global":
		return coordination.SessionKey{Kind: coordination.KeyAlias, ID: "global"}
	}
	return coordination.MainKey(agent)
}
