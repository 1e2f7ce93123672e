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

// localized is a text for people, in each language.
type localized struct{ korean, english string }

func (s localized) in(c *config.Config) string { return c.Language().Say(s.korean, s.english) }

// Reasons for refusals, for people.
var (
	notHere = localized{
		"이곳에서는 아무도 응답하지 않습니다: channels.discord.guilds, channels.discord.collaboration.allowedGuilds 또는 channels.discord.collaboration.allowedChannels에 없거나 닫힌 곳입니다.",
		"No agent answers here: the place is not listed in channels.discord.guilds, channels.discord.collaboration.allowedGuilds or channels.discord.collaboration.allowedChannels, or it is closed."}
	notYou = localized{
		"이 에이전트와 대화할 권한이 없습니다. openclawd 운영자에게 channels.discord.allowFrom 또는 이 서버의 users에 추가해 달라고 하세요.",
		"You may not speak with this agent. Ask the operator of openclawd to list you in channels.discord.allowFrom, or in users of this server."}
	notYours = localized{
		"이 건을 결정할 권한이 없습니다. openclawd 운영자에게 channels.discord.allowFrom 또는 이 서버의 users에 추가해 달라고 하세요.",
		"You may not decide this. Ask the operator of openclawd to list you in channels.discord.allowFrom, or in users of this server."}
	notYourSession = localized{
		"이 세션은 혼자 쓰는 세션이 아닙니다. openclawd 운영자에게 channels.discord.allowFrom에 추가하거나 session.dmScope를 설정해 달라고 하세요.",
		"This session is not yours alone. Ask the operator of openclawd to list you in channels.discord.allowFrom, or to set session.dmScope."}
	notPeople = localized{"사람만 요청할 수 있습니다.", "Only people may do this."}
)

// anybody is the list entry that stands for everyone.
const anybody = "*"

// agentOf is the agent addressed: in a guild the bot's, in a conversation the one its messages are routed to.
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

// maySpeak returns why a person may not address agents here; "" if allowed. The rules are those for messages.
func maySpeak(c *config.Config, i *discord.Interaction) string {
	p, m := discord.PolicyOf(c, i.GuildID), i.Route()
	switch {
	case i.User.Bot:
		return notPeople.in(c)
	case p.Closes(&m) != "":
		return notHere.in(c)
	case p.Bars(&m) != "":
		return notYou.in(c)
	}
	return ""
}

// mayReset returns why a person may not reset a session; "" if allowed. An agent's main session is shared by all its
// direct messages and gateway clients, so it requires the right to decide.
func mayReset(c *config.Config, i *discord.Interaction, key coordination.SessionKey) string {
	if key.Kind != coordination.KeyMain || mayDecide(c, i) == "" {
		return ""
	}
	return notYourSession.in(c)
}

// mayDecide returns why a person may not decide approvals; "" if allowed. Allowed are users in the guild's settings or
// channels.discord.allowFrom, and the recipient of escalations. If none of these is configured, everyone who may
// address agents there.
func mayDecide(c *config.Config, i *discord.Interaction) string {
	if i.User.Bot {
		return notPeople.in(c)
	}
	p, m := discord.PolicyOf(c, i.GuildID), i.Route()
	listed := append(slices.Clone(p.AllowFrom), c.Discord.Collaboration.Escalation.MentionUserID, c.Discord.Retry.EscalationUserID)
	listed = slices.DeleteFunc(listed, func(id string) bool { return id == "" || id == anybody }) // the right to write to agents does not imply this one
	named := i.GuildID != "" && len(p.Users)+len(p.Roles) > 0
	switch {
	case slices.Contains(listed, i.User.ID), named && p.Bars(&m) == "":
		return ""
	case len(listed) == 0 && !named:
		return maySpeak(c, i)
	}
	return notYours.in(c)
}
