package command

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/discord"
)

// Why something is not done, for people.
const (
	notHere   = "Nobody is listened to in this place: channels.discord of openclawd's configuration does not list it, or is closed."
	notYou    = "You may not speak with this agent. Ask whoever runs openclawd to list you in channels.discord.allowFrom, or in users of this server."
	notYours  = "You may not decide this. Ask whoever runs openclawd to list you in channels.discord.allowFrom, or in users of this server."
	notPeople = "Only people may ask for this."
)

// anybody is what a list names that is for all.
const anybody = "*"

// agentOf is the agent that is asked: in a guild that of the bot, in a conversation the one that its messages belong to, as coordination/route has it.
func agentOf(c *config.Config, r *discord.Registry, i *discord.Interaction) string {
	usual := strings.ToLower(c.DefaultAgentID())
	own := cmp.Or(i.AgentID, usual)
	if i.GuildID != "" {
		return own
	}
	var bindings []route.Binding
	for j := range c.Bindings {
		b := &c.Bindings[j]
		bindings = append(bindings, route.Binding{Agent: b.AgentID, Channel: b.Channel, Account: b.AccountID,
			Peer: route.Peer{Kind: b.PeerKind, ID: b.PeerID}, Guild: b.GuildID, Roles: b.Roles, Team: b.TeamID})
	}
	known := func(agent string) bool {
		_, has := r.Bot(agent)
		return has || agent == usual
	}
	spot := route.Spot{Channel: discord.Channel, Accounts: []string{i.AccountID}, Peer: route.Peer{Kind: "direct", ID: i.User.ID}, Direct: true}
	agent, _, _ := route.Resolve(bindings, &spot, known, own)
	return strings.ToLower(agent)
}

// maySpeak says why somebody may not speak with agents where they are; "" if they may. It is what holds of their messages.
func maySpeak(c *config.Config, i *discord.Interaction) string {
	d := &c.Discord
	if i.User.Bot {
		return notPeople
	}
	if i.GuildID == "" {
		allowed := users(d.AllowFrom)
		switch {
		case d.DMPolicy == route.Disabled:
			return notHere
		case d.DMPolicy == route.Open, slices.Contains(allowed, i.User.ID), slices.Contains(allowed, anybody):
			return ""
		}
		return notYou
	}
	guild := guildOf(d, i.GuildID)
	guilds := d.Collaboration.AllowedGuilds
	var channels []string
	if guild != nil {
		channels = guild.Channels
	}
	if len(channels) == 0 && len(d.Collaboration.AllowedChannels) > 0 {
		channels = append(slices.Clone(d.Collaboration.AllowedChannels), d.Collaboration.DefaultChannel)
	}
	heeded := len(channels) == 0 || slices.Contains(channels, i.ChannelID) || i.ParentID != "" && slices.Contains(channels, i.ParentID)
	switch {
	case d.GroupPolicy == route.Disabled, d.GroupPolicy == route.Allowlist && guild == nil, len(guilds) > 0 && !slices.Contains(guilds, i.GuildID), !heeded:
		return notHere
	case guild != nil && named(guild) && !lists(guild, i):
		return notYou
	}
	return ""
}

// mayDecide says why somebody may not decide what waits; "" if they may. Those may whom the guild's settings name, or channels.discord.allowFrom, and
// who is told of escalations. Where none of these names anybody, those may who may speak with agents there.
func mayDecide(c *config.Config, i *discord.Interaction) string {
	d := &c.Discord
	if i.User.Bot {
		return notPeople
	}
	var listed []string
	for _, id := range append(users(d.AllowFrom), d.Collaboration.Escalation.MentionUserID, d.Retry.EscalationUserID) {
		if id != "" && id != anybody { // who may write to agents need not be trusted with this
			listed = append(listed, id)
		}
	}
	guild := guildOf(d, i.GuildID)
	switch {
	case slices.Contains(listed, i.User.ID), guild != nil && named(guild) && lists(guild, i):
		return ""
	case len(listed) == 0 && (guild == nil || !named(guild)):
		return maySpeak(c, i)
	}
	return notYours
}

func guildOf(d *config.Discord, id string) *config.DiscordGuild {
	i := slices.IndexFunc(d.Guilds, func(g config.DiscordGuild) bool { return g.ID == id && id != "" })
	if i < 0 {
		return nil
	}
	return &d.Guilds[i]
}

// named says whether a guild's settings name people; without, it is everybody.
func named(g *config.DiscordGuild) bool {
	return len(g.Users)+len(g.Roles) > 0 && !slices.Contains(g.Users, anybody)
}

// lists says whether a guild's settings name somebody, by themselves or by a role.
func lists(g *config.DiscordGuild, i *discord.Interaction) bool {
	return slices.Contains(users(g.Users), i.User.ID) || slices.ContainsFunc(i.Roles, func(r string) bool { return slices.Contains(g.Roles, r) })
}

// users are the ids of users however they are written: 42, discord:42, user:42, <@42>.
func users(written []string) (ids []string) {
	for _, id := range written {
		id = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(id), "discord:"), "user:")
		if inner, mention := strings.CutPrefix(id, "<@"); mention {
			id = strings.TrimPrefix(strings.TrimSuffix(inner, ">"), "!")
		}
		ids = append(ids, id)
	}
	return ids
}
