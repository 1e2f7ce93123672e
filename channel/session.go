package channel

import (
	"cmp"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
)

// Where is the place of a conversation with an agent.
type Where struct {
	AccountID string // account of the agent's bot
	GuildID   string // "" in conversations
	ChannelID string // for a thread, its own
	UserID    string // the user
	Group     bool   // a conversation of more than two
}

// Where returns the message's place.
func (in *Inbound) Where() Where {
	m := &in.Message
	return Where{AccountID: in.AccountID, GuildID: m.GuildID, ChannelID: m.ChannelID, UserID: m.Author.ID, Group: m.Group}
}

// Where returns the interaction's place.
func (i *Interaction) Where() Where {
	return Where{AccountID: i.AccountID, GuildID: i.GuildID, ChannelID: i.ChannelID, UserID: i.User.ID, Group: i.Group}
}

// SessionOf returns an agent's session at a place: one per channel and thread, one per group, and for direct messages
// according to session.dmScope, by default the agent's main session.
func SessionOf(c *config.Config, agent string, at Where) coordination.SessionKey {
	agent = strings.ToLower(agent)
	channel := coordination.ChannelOf(at.ChannelID)
	account := cmp.Or(coordination.NormalizeAgentID(at.AccountID), config.DefaultAccount)
	switch scope := c.Session.DMScope; {
	case at.GuildID != "" || at.Group:
		return coordination.PlaceKey(agent, at.ChannelID, at.Group)
	case scope == "per-peer" && at.UserID != "":
		return coordination.DirectKey(agent, "", "", at.UserID)
	case scope == "per-channel-peer" && at.UserID != "":
		return coordination.DirectKey(agent, channel, "", at.UserID)
	case scope == "per-account-channel-peer" && at.UserID != "":
		return coordination.DirectKey(agent, channel, account, at.UserID)
	case c.Session.Scope == "global":
		return coordination.SessionKey{Kind: coordination.KeyAlias, ID: "global"}
	}
	return coordination.MainKey(agent)
}
