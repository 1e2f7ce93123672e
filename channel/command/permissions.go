package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// localized is a text for people, in each language. %[1]s is the channel.
type localized struct{ korean, english string }

func (d *Handler) says(c *config.Config, s localized) string {
	return fmt.Sprintf(c.Language().Say(s.korean, s.english), d.o.Bots.Name())
}

// Reasons for refusals, for people.
var (
	notHere = localized{
		"이곳에서는 아무도 응답하지 않습니다: channels.%[1]s.guilds, channels.%[1]s.collaboration.allowedGuilds 또는 channels.%[1]s.collaboration.allowedChannels에 없거나 닫힌 곳입니다.",
		"No agent answers here: the place is not listed in channels.%[1]s.guilds, channels.%[1]s.collaboration.allowedGuilds or channels.%[1]s.collaboration.allowedChannels, or it is closed."}
	notYou = localized{
		"이 에이전트와 대화할 권한이 없습니다. openclawd 운영자에게 channels.%[1]s.allowFrom 또는 이 서버의 users에 추가해 달라고 하세요.",
		"You may not speak with this agent. Ask the operator of openclawd to list you in channels.%[1]s.allowFrom, or in users of this server."}
	notYours = localized{
		"이 건을 결정할 권한이 없습니다. openclawd 운영자에게 channels.%[1]s.allowFrom 또는 이 서버의 users에 추가해 달라고 하세요.",
		"You may not decide this. Ask the operator of openclawd to list you in channels.%[1]s.allowFrom, or in users of this server."}
	notListed = localized{
		"이 건을 결정할 권한이 없습니다. openclawd 운영자에게 channels.%[1]s.allowFrom에 추가해 달라고 하세요.",
		"You may not decide this. Ask the operator of openclawd to list you in channels.%[1]s.allowFrom."}
	notYourSession = localized{
		"이 세션은 혼자 쓰는 세션이 아닙니다. openclawd 운영자에게 channels.%[1]s.allowFrom에 추가하거나 session.dmScope를 설정해 달라고 하세요.",
		"This session is not yours alone. Ask the operator of openclawd to list you in channels.%[1]s.allowFrom, or to set session.dmScope."}
)

// notPeople refuses bots.
func notPeople(c *config.Config) string {
	return c.Language().Say("사람만 요청할 수 있습니다.", "Only people may do this.")
}

// anybody is the list entry that stands for everyone.
const anybody = "*"

// agentOf is the agent addressed: in a guild the bot's, in a conversation the one its messages are routed to.
func (d *Handler) agentOf(c *config.Config, i *channel.Interaction) string {
	usual := strings.ToLower(c.DefaultAgentID())
	own := cmp.Or(i.AgentID, usual)
	if i.GuildID != "" {
		return own
	}
	known := func(agent string) bool {
		_, has := d.o.Bots.Registry().Bot(agent)
		return has || agent == usual
	}
	agent, _, _ := route.Recipient(channel.BindingsOf(c), d.o.Bots.Name(), i.AccountID, i.User.ID, known, own)
	return strings.ToLower(agent)
}

// maySpeak returns why a person may not address agents here; "" if allowed. The rules are those for messages.
func (d *Handler) maySpeak(ctx context.Context, c *config.Config, i *channel.Interaction) string {
	m := i.Route()
	p := channel.PolicyOf(c, d.o.Bots.Name(), i.AccountID, &m)
	if !i.User.Bot && p.Bars(&m) == route.DirectNotPaired && d.o.Paired(ctx, i.User.ID) {
		p.AllowFrom = append(p.AllowFrom, i.User.ID)
	}
	return d.speaks(c, &p, i)
}

// speaks is maySpeak by the given policy.
func (d *Handler) speaks(c *config.Config, p *route.Policy, i *channel.Interaction) string {
	m := i.Route()
	switch {
	case i.User.Bot:
		return notPeople(c)
	case p.Closes(&m) != "":
		return d.says(c, notHere)
	case p.Bars(&m) != "":
		return d.says(c, notYou)
	}
	return ""
}

// mayReset returns why a person may not reset a session; "" if allowed. An agent's main session is shared by all its
// direct messages and gateway clients, so it requires the right to decide.
func (d *Handler) mayReset(c *config.Config, i *channel.Interaction, key coordination.SessionKey) string {
	if key.Kind != coordination.KeyMain || d.mayDecide(c, i) == "" {
		return ""
	}
	return d.says(c, notYourSession)
}

// mayDecide returns why a person may not decide approvals; "" if allowed. Allowed are those in the channel's allowFrom, and
// the recipient of escalations; in Discord also users and roles in the guild's settings, and if none of these is configured,
// everyone who may address agents there. Elsewhere what a button sends can be made up, and the settings of groups say only
// who may write there. Paired people may write to agents, but decide nothing.
func (d *Handler) mayDecide(c *config.Config, i *channel.Interaction) string {
	if i.User.Bot {
		return notPeople(c)
	}
	m := i.Route()
	p := channel.PolicyOf(c, d.o.Bots.Name(), i.AccountID, &m)
	own := c.Channel(d.o.Bots.Name())
	listed := append(slices.Clone(p.AllowFrom), own.Collaboration.Escalation.MentionUserID, own.Retry.EscalationUserID)
	listed = slices.DeleteFunc(listed, func(id string) bool { return id == "" || id == anybody }) // the right to write to agents does not imply this one
	discord := d.o.Bots.Name() == coordination.Discord
	named := discord && i.GuildID != "" && len(p.Users)+len(p.Roles) > 0
	switch {
	case slices.Contains(listed, i.User.ID), named && p.Bars(&m) == "":
		return ""
	case !discord:
		return d.says(c, notListed)
	case len(listed) == 0 && !named:
		return d.speaks(c, &p, i)
	}
	return d.says(c, notYours)
}
