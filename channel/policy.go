package channel

import (
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// noGuild is never a guild's id.
const noGuild = "-"

// PolicyOf returns a channel's configured policy for messages in a guild, or for direct messages if "".
//
// Guilds: with groupPolicy allowlist those of the channel's guilds, else all; if collaboration.allowedGuilds is not
// empty, only those. Channels: those listed in the guild's settings; if none, those of collaboration.allowedChannels
// with its defaultChannel; if none there either, all. A thread is allowed if its channel is. collaboration.loopGuard
// limits requests, not messages: those are limited by coordination/route.
func PolicyOf(c *config.Config, channel, guildID string) route.Policy {
	d, p := c.Channel(channel), route.DefaultPolicy()
	p.DefaultAgent = c.DefaultAgentID()
	p.Groups = d.GroupPolicy
	p.Direct, p.AllowFrom = d.DMPolicy, userIDs(channel, d.AllowFrom)
	p.ForeignBots, p.RecordBots = d.AllowBots, d.HistoryIncludeBots
	p.RequireMention = d.RequireMention
	p.ThreadMention, p.ParticipantTTL = d.Collaboration.ThreadMention, d.Collaboration.ParticipantTTL
	p.MaxHops = c.Defaults.LoopGuard.Hops
	p.Guilds = guildsOf(d)
	if own := guildOf(d, guildID); own != nil {
		if p.Groups == route.Allowlist {
			p.Groups = route.Open // the guild is listed
		}
		p.Channels = own.Channels
		if own.RequireMention != nil {
			p.RequireMention = *own.RequireMention
		}
		if !slices.Contains(own.Users, "*") {
			p.Users, p.Roles = userIDs(channel, own.Users), own.Roles
		}
	}
	if len(p.Channels) == 0 && len(d.Collaboration.AllowedChannels) > 0 {
		p.Channels = append(slices.Clone(d.Collaboration.AllowedChannels), d.Collaboration.DefaultChannel)
	}
	return p
}

// guildsOf are the allowed guilds; empty means all.
func guildsOf(d *config.Channel) (ids []string) {
	allowed := d.Collaboration.AllowedGuilds
	if d.GroupPolicy != route.Allowlist {
		return allowed
	}
	for i := range d.Guilds {
		if id := d.Guilds[i].ID; len(allowed) == 0 || slices.Contains(allowed, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return []string{noGuild}
	}
	return ids
}

// guildOf returns the settings of a guild: its own, else those of all that are not listed; nil if there are none.
func guildOf(d *config.Channel, id string) (own *config.Guild) {
	for i := range d.Guilds {
		switch g := &d.Guilds[i]; {
		case id == "":
		case g.ID == id:
			return g
		case g.ID == config.EveryGuild:
			own = g
		}
	}
	return own
}

// userIDs normalizes user ids: 42, discord:42 with the channel's name, user:42, <@42>.
func userIDs(channel string, written []string) (ids []string) {
	for _, id := range written {
		id = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(id), channel+":"), "user:")
		if inner, mention := strings.CutPrefix(id, "<@"); mention {
			id = strings.TrimPrefix(strings.TrimSuffix(inner, ">"), "!")
		}
		ids = append(ids, id)
	}
	return ids
}

// BindingsOf returns the configured bindings, in order.
func BindingsOf(c *config.Config) []route.Binding {
	bindings := make([]route.Binding, 0, len(c.Bindings))
	for i := range c.Bindings {
		b := &c.Bindings[i]
		bindings = append(bindings, route.Binding{
			Agent: b.AgentID, Channel: b.Channel, Account: b.AccountID, Peer: route.Peer{Kind: b.PeerKind, ID: b.PeerID}, Guild: b.GuildID,
			Roles: b.Roles, Team: b.TeamID,
		})
	}
	return bindings
}
