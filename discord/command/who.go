package command

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/discord"
)

// Why something is not done, for people.
const (
	notHere        = "Nobody is listened to in this place: channels.discord of openclawd's configuration does not list it, or is closed."
	notYou         = "You may not speak with this agent. Ask whoever runs openclawd to list you in channels.discord.allowFrom, or in users of this server."
	notYours       = "You may not decide this. Ask whoever runs openclawd to list you in channels.discord.allowFrom, or in users of this server."
	notYourSession = "This session is not yours alone. Ask whoever runs openclawd to list you in channels.discord.allowFrom, or to set session.dmScope."
	notPeople      = "Only people may ask for this."
)

// anybody is what a list names that is for all.
const anybody = "*"

// agentOf is the agent that is asked: in a guild that of the bot, in a conversation the one that its messages belong to.
func agentOf(c *config.Config, r *discord.Registry, i *discord.Interaction) string {
	usual := strings.ToLower(c.DefaultAgentID())
	own := cmp.Or(i.AgentID, usual)
	if i.GuildID != "" {
		return own
	}
	known := func(agent string) bool {
		_, has := r.Bot(agent)
		return has || agent == usual
	}
	agent, _, _ := route.Recipient(discord.BindingsOf(c), i.AccountID, i.User.ID, known, own)
	return strings.ToLower(agent)
}

// maySpeak says why somebody may not speak with agents where they are; "" if they may. It is what holds of their messages.
func maySpeak(c *config.Config, i *discord.Interaction) string {
	p, m := discord.PolicyOf(c, i.GuildID), i.Route()
	switch {
	case i.User.Bot:
		return notPeople
	case p.Closes(&m) != "":
		return notHere
	case p.Bars(&m) != "":
		return notYou
	}
	return ""
}

// mayReset says why somebody may not have a session begin anew; "" if they may. The main session of an agent is that of everybody who writes to it
// directly, and of clients of the gateway: it is for those who may decide.
func mayReset(c *config.Config, i *discord.Interaction, key coordination.SessionKey) string {
	if key.Kind != coordination.KeyMain || mayDecide(c, i) == "" {
		return ""
	}
	return notYourSession
}

// mayDecide says why somebody may not decide what waits; "" if they may. Those may whom the guild's settings name, or channels.discord.allowFrom, and
// who is told of escalations. Where none of these names anybody, those may who may speak with agents there.
func mayDecide(c *config.Config, i *discord.Interaction) string {
	if i.User.Bot {
		return notPeople
	}
	p, m := discord.PolicyOf(c, i.GuildID), i.Route()
	listed := append(slices.Clone(p.AllowFrom), c.Discord.Collaboration.Escalation.MentionUserID, c.Discord.Retry.EscalationUserID)
	listed = slices.DeleteFunc(listed, func(id string) bool { return id == "" || id == anybody }) // who may write to agents need not be trusted with this
	named := i.GuildID != "" && len(p.Users)+len(p.Roles) > 0
	switch {
	case slices.Contains(listed, i.User.ID), named && p.Bars(&m) == "":
		return ""
	case len(listed) == 0 && !named:
		return maySpeak(c, i)
	}
	return notYours
}
