package monitor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	routes "github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections/work"
)

// because says in a sentence why a message is what it is to an agent.
func because(mode routes.Mode, reason routes.Reason) string {
	if reason == routes.ForeignBot && mode == routes.Observer {
		return "A bot that speaks for none of our agents has written it, and channels.discord.historyIncludeBots has that remembered."
	}
	return cmp.Or(reasonSentence(reason), "The reason is "+string(reason)+".")
}

func reasonSentence(reason routes.Reason) string {
	switch reason {
	case routes.ByMention:
		return "The message mentions it."
	case routes.ByParticipation:
		return "It takes part in the thread."
	case routes.ByBinding:
		return "A binding gives messages from here to it."
	case routes.ByDefault:
		return "It is the default agent, and no binding gives messages from here to another one."
	case routes.OthersMentioned:
		return "Other agents are mentioned, and it is not."
	case routes.NotParticipant:
		return "It does not take part in the thread; a mention would call it."
	case routes.MentionOnly:
		return "Nobody knows who takes part in this thread, which is older than the log: agents answer there only where they are mentioned."
	case routes.NotOwner:
		return "Another agent answers in this channel; a mention would call this one."
	case routes.NobodyOwns:
		return "Nobody answers in this channel: neither the agent that is bound to it nor the default agent sees it."
	case routes.NeedsMention:
		return "channels.discord.requireMention leaves messages that mention no agent to nobody."
	case routes.SiblingSpeaks:
		return "Another agent has written it in a channel, and mentions nobody."
	case routes.SystemText:
		return "openclawd has posted it by itself, and it calls only whom it mentions."
	case routes.Suspended:
		return "Bots have talked too much here: what they write calls nobody until the suspension is over. What people write does."
	case routes.PairLimited:
		return "Its author and this agent have written to each other too often in a short time."
	case routes.HopLimit:
		return "Agents have caused each other to write too often in a row; what a person writes begins anew."
	case routes.AgentNotAllowed:
		return "The policy between agents does not let its author call this one: see tools.agentToAgent."
	case routes.OwnMessage:
		return "It has written the message itself."
	case routes.InternalError:
		return "openclawd could not decide about it; the server's log tells why."
	}
	return dropSentence(reason)
}

// dropSentence says why a message does not exist for an agent.
func dropSentence(reason routes.Reason) string {
	switch reason {
	case routes.NoAuthor:
		return "Discord has told no author."
	case routes.ChannelsDisabled:
		return "channels.discord.groupPolicy is disabled: nothing in channels is heeded."
	case routes.GuildNotAllowed:
		return "The server is not listed: channels.discord.collaboration.allowedGuilds counts where it lists any, and with groupPolicy allowlist channels.discord.guilds."
	case routes.ChannelNotAllowed:
		return "The channel is not listed: channels.discord.guilds counts where it lists channels of the server, else channels.discord.collaboration.allowedChannels with defaultChannel."
	case routes.DirectDisabled:
		return "channels.discord.dmPolicy is disabled: direct messages are not heeded."
	case routes.DirectNotAllowed:
		return "Its author is not in channels.discord.allowFrom, and may not write to the bot directly."
	case routes.DirectNotPaired:
		return "channels.discord.dmPolicy is pairing, nobody is paired here, and its author is not in channels.discord.allowFrom: only those may write to the bot directly."
	case routes.SinkThread:
		return "The thread holds reports only."
	case routes.SinkPost:
		return "A bot or webhook has written it that only reports."
	case routes.DiscordNotice:
		return "Discord says it by itself, of somebody who joins, a pin or a thread."
	case routes.Continuation:
		return "It goes on with a text that an agent has posted as several messages, which was decided about with the first one."
	case routes.NoBot:
		return "No bot that speaks for an agent sees it."
	case routes.EmptyText:
		return "It has neither text nor attachment, or the bot may not read it: see GET /api/discord/bots."
	case routes.ForeignBot:
		return "A bot that speaks for none of our agents has written it, and channels.discord.allowBots does not heed it."
	case routes.AuthorNotAllowed:
		return "Its author is none of the users of channels.discord.guilds, and has none of the roles."
	}
	return ""
}

// explained says in a sentence who handles a message, or why nobody does.
func explained(a *Routing) string {
	var handlers, others []string
	reasons := map[routes.Reason]bool{}
	observe := 0
	for i := range a.Agents {
		v := &a.Agents[i].RoutedVerdict
		if v.Mode == routes.Handler {
			handlers = append(handlers, v.name())
			continue
		}
		if v.Mode == routes.Observer {
			observe++
		}
		if v.Reason != routes.OwnMessage && !reasons[v.Reason] {
			reasons[v.Reason] = true
			others = append(others, v.Explanation)
		}
	}
	switch {
	case len(handlers) == 1:
		return handlers[0] + " handles it. " + a.Agents[0].Explanation
	case len(handlers) > 1:
		said := enumerated(handlers) + " handle it."
		if first := &a.Agents[0]; first.Order == routes.Primary {
			said += " " + first.name() + " is mentioned first, and leads."
			if slices.ContainsFunc(a.Agents, func(r RoutedAgent) bool { return r.Mode == routes.Handler && r.Reason == routes.ByParticipation }) {
				said += " Who takes part in the thread handles it too, and is told that it is addressed to others."
			}
		}
		return said
	case len(a.Agents) == 0:
		return "No agent handles it: no bot that speaks for an agent sees it, or it could not be decided about; the server's log tells which."
	case len(others) == 0: // only its author has heard of it
		return "No agent handles it: no other bot of ours sees it."
	case observe == 0:
		return "No agent handles or remembers it. " + strings.Join(others, " ")
	}
	return "No agent handles it. " + strings.Join(others, " ")
}

func (v *RoutedVerdict) name() string { return cmp.Or(v.AgentName, v.AgentID) }

// enumerated joins names as a sentence does.
func enumerated(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Codes of warnings about a decision.
const (
	warnRunRefused = "run_refused"
	warnRunFailed  = "run_failed"
	warnUnposted   = "reply_unposted"
	warnNoReply    = "no_reply"
)

// warned is what an operator should know about a decision and what has followed from it.
func warned(a *Routing, w *Wording) (list []RoutedWarning) {
	for _, agent := range a.Mentioned {
		if !slices.ContainsFunc(a.Agents, func(r RoutedAgent) bool { return r.AgentID == agent }) {
			list = append(list, RoutedWarning{string(routes.WarnMentionedAbsent), agent, w.agent(agent) + " is mentioned, but its bot does not see the message: " +
				"openclawd discord bots says how it stands, and Discord's permissions what it may view"})
		}
	}
	for i := range a.Agents {
		if at := a.Agents[i].warning(); at != nil {
			list = append(list, *at)
		}
	}
	for _, code := range []struct {
		reason routes.Reason
		code   routes.Warning
		text   string
	}{
		{routes.MentionOnly, routes.WarnParticipantsUnknown, "the log does not know who takes part in this thread: mention the agents once, or have one ask another there"},
		{routes.NobodyOwns, routes.WarnNobodyOwns, "no agent that sees the channel answers for it: invite the bot of the default agent, or bind one that is there"},
	} {
		if slices.ContainsFunc(a.Agents, func(r RoutedAgent) bool { return r.Reason == code.reason }) {
			list = append(list, RoutedWarning{Code: string(code.code), Text: code.text})
		}
	}
	return list
}

// warning is what should be known of one agent; nil for nothing.
func (a *RoutedAgent) warning() *RoutedWarning {
	switch {
	case a.Mode != routes.Handler:
		return nil
	case a.RunID == "":
		return &RoutedWarning{warnRunRefused, a.AgentID, a.name() + " was to handle it, but no run was taken on: too many waited, or the session was not open"}
	case a.Run == nil, a.Run.EndedAt == nil:
		return nil
	case a.Unposted != nil && a.Unposted.State == work.Dead:
		return &RoutedWarning{warnUnposted, a.AgentID, "what " + a.name() + " has said was given up: " + cmp.Or(a.Unposted.Error, "nobody knows why") +
			"; openclawd work resend " + a.Unposted.EffectID + " posts it again, where it does not stand there already"}
	case a.Unposted != nil:
		return &RoutedWarning{warnUnposted, a.AgentID, "what " + a.name() + " has said is not posted yet; openclawd work tells what waits"}
	case a.Run.State != string(run.OK):
		return &RoutedWarning{warnRunFailed, a.AgentID, fmt.Sprintf("the run of %s has ended with %s; openclawd runs show %s tells more", a.name(), a.Run.State, a.Run.RunID)}
	case len(a.Replies) == 0:
		return &RoutedWarning{warnNoReply, a.AgentID, a.name() + " had nothing to say: its run has ended without words that are posted"}
	}
	return nil
}
