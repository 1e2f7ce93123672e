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

// said is a text for people, in each language.
type said struct{ korean, english string }

func (s said) in(c *config.Config) string { return c.Language().Say(s.korean, s.english) }

// Why something is not done, for people.
var (
	notHere = said{
		"이곳에서는 아무도 응답하지 않습니다: channels.discord.guilds, channels.discord.collaboration.allowedGuilds 또는 channels.discord.collaboration.allowedChannels에 없거나 닫힌 곳입니다.",
		"No agent answers in this place: channels.discord.guilds, channels.discord.collaboration.allowedGuilds or channels.discord.collaboration.allowedChannels does not list it, or it is closed."}
	notYou = said{
		"이 에이전트와 대화할 권한이 없습니다. openclawd 운영자에게 channels.discord.allowFrom 또는 이 서버의 users에 추가해 달라고 하세요.",
		"You may not speak with this agent. Ask the operator of openclawd to list you in channels.discord.allowFrom, or in users of this server."}
	notYours = said{
		"이 건을 결정할 권한이 없습니다. openclawd 운영자에게 channels.discord.allowFrom 또는 이 서버의 users에 추가해 달라고 하세요.",
		"You may not decide this. Ask the operator of openclawd to list you in channels.discord.allowFrom, or in users of this server."}
	notYourSession = said{
		"이 세션은 혼자 쓰는 세션이 아닙니다. openclawd 운영자에게 channels.discord.allowFrom에 추가하거나 session.dmScope를 설정해 달라고 하세요.",
		"This session is not yours alone. Ask the operator of openclawd to list you in channels.discord.allowFrom, or to set session.dmScope."}
	notPeople = said{"사람만 요청할 수 있습니다.", "Only people may ask for this."}
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
		return notPeople.in(c)
	case p.Closes(&m) != "":
		return notHere.in(c)
	case p.Bars(&m) != "":
		return notYou.in(c)
	}
	return ""
}

// mayReset says why somebody may not have a session begin anew; "" if they may. The main session of an agent is that of everybody who writes to it
// directly, and of clients of the gateway: it is for those who may decide.
func mayReset(c *config.Config, i *discord.Interaction, key coordination.SessionKey) string {
	if key.Kind != coordination.KeyMain || mayDecide(c, i) == "" {
		return ""
	}
	return notYourSession.in(c)
}

// mayDecide says why somebody may not decide what waits; "" if they may. Those may whom the guild's settings name, or channels.discord.allowFrom, and
// who is told of escalations. Where none of these names anybody, those may who may speak with agents there.
func mayDecide(c *config.Config, i *discord.Interaction) string {
	if i.User.Bot {
		return notPeople.in(c)
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
	return notYours.in(c)
}
