package channel

import (
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// noGuild is never a guild's id.
const noGuild = "-"

// PolicyOf returns a channel's configured policy for a message in its place, or for direct messages. account is that which
// receives it; "" is for settings of the channel only: those of an account replace them.
//
// Guilds: with groupPolicy allowlist those of the channel's guilds, else all; if collaboration.allowedGuilds is not
// empty, only those. Channels: those listed in the guild's settings; if none, those of collaboration.allowedChannels
// with its defaultChannel; if none there either, all. A thread is allowed if its channel is. A channel's or topic's own
// settings replace those of its guild. collaboration.loopGuard limits requests, not messages: those are limited by
// coordination/route.
func PolicyOf(c *config.Config, channel, account string, m *route.Message) route.Policy {
	d, p := c.Channel(channel), route.DefaultPolicy()
	access := d.AccessOf(account)
	p.DefaultAgent = c.DefaultAgentID()
	p.Groups = access.GroupPolicy
	p.Direct, p.AllowFrom = access.DMPolicy, userIDs(channel, access.AllowFrom)
	p.ForeignBots, p.RecordBots = d.AllowBots, d.HistoryIncludeBots
	p.RequireMention = d.RequireMention
	p.ThreadMention, p.ParticipantTTL = d.Collaboration.ThreadMention, d.Collaboration.ParticipantTTL
	p.MaxHops = c.Defaults.LoopGuard.Hops
	p.Guilds = guildsOf(access, d.Collaboration.AllowedGuilds)
	own := guildOf(access, m.GuildID)
	if own != nil {
		if p.Groups == route.Allowlist {
			p.Groups = route.Open // the guild is listed
		}
		p.Channels = own.Channels
		restrict(&p, channel, own.Users, own.Roles, own.RequireMention)
	}
	if len(p.Channels) == 0 && len(d.Collaboration.AllowedChannels) > 0 {
		p.Channels = append(slices.Clone(d.Collaboration.AllowedChannels), d.Collaboration.DefaultChannel)
	}
	if room := roomOf(own, channel, m); room != nil {
		if room.Closed {
			p.Channels = []string{config.NoChannel}
		}
		restrict(&p, channel, room.Users, room.Roles, room.RequireMention)
	}
	return p
}

// restrict replaces who may speak, and whether that needs a mention, where that is set.
func restrict(p *route.Policy, channel string, users, roles []string, requireMention *bool) {
	switch {
	case slices.Contains(users, "*"):
		p.Users, p.Roles = nil, nil
	case len(users)+len(roles) > 0:
		p.Users, p.Roles = userIDs(channel, users), roles
	}
	if requireMention != nil {
		p.RequireMention = *requireMention
	}
}

// Narrow applies settings that accounts have of their own to a message outside of direct ones: a bot whose account
// refuses it says why, and the others decide. people says that a person has written it.
func Narrow(c *config.Config, channel string, s *route.Situation, people bool) {
	m, d := &s.Message, c.Channel(channel)
	if m.GuildID == "" || !slices.ContainsFunc(d.Accounts, func(a config.Account) bool { return a.Own != nil }) {
		return
	}
	s.Bots = slices.Clone(s.Bots)
	admitted := false
	for i := range s.Bots {
		b := &s.Bots[i]
		p := PolicyOf(c, channel, b.AccountID, m)
		if b.Bars = p.Closes(m); b.Bars == "" && people {
			b.Bars = p.Bars(m)
		}
		admitted = admitted || b.Bars == "" && b.Agent != "" && !b.Blind
	}
	if admitted { // the bots' own policies have decided that
		s.Policy.Groups, s.Policy.Guilds, s.Policy.Channels, s.Policy.Users, s.Policy.Roles = route.Open, nil, nil, nil, nil
	}
}

// guildsOf are the allowed guilds; empty means all.
func guildsOf(access *config.Access, allowed []string) (ids []string) {
	if access.GroupPolicy != route.Allowlist {
		return allowed
	}
	for i := range access.Guilds {
		if id := access.Guilds[i].ID; len(allowed) == 0 || slices.Contains(allowed, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return []string{noGuild}
	}
	return ids
}

// guildOf returns the settings of a guild: its own, else those of all that are not listed; nil if there are none.
func guildOf(access *config.Access, id string) (own *config.Guild) {
	for i := range access.Guilds {
		switch g := &access.Guilds[i]; {
		case id == "":
		case g.ID == id:
			return g
		case g.ID == config.EveryGuild:
			own = g
		}
	}
	return own
}

// roomOf returns the settings of a message's thread, of its channel, else those of all that are not listed; nil if there are
// none. In Telegram a thread is a topic, which has none of the place's: those are the topic General's.
func roomOf(g *config.Guild, channel string, m *route.Message) (own *config.Room) {
	if g == nil {
		return nil
	}
	rank := 0 // of what was found
	for i := range g.Rooms {
		r := &g.Rooms[i]
		end, any := strings.CutPrefix(r.ID, "*")
		now := 0
		switch {
		case r.ID == m.ThreadID && m.ThreadID != "":
			now = 4
		case r.ID == m.ChannelID && (m.ThreadID == "" || channel != coordination.Telegram):
			now = 3
		case any && end != "" && strings.HasSuffix(m.ThreadID, end):
			now = 2
		case any && end == "":
			now = 1
		}
		if now > rank {
			own, rank = r, now
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
