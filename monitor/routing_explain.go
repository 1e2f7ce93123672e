package monitor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

func because(mode route.Mode, reason route.Reason) string {
	if reason == route.ForeignBot && mode == route.Observer {
		return "It was written by a bot of no agent here, and channels.discord.historyIncludeBots keeps such messages."
	}
	return cmp.Or(reasonSentence(reason), "The reason is "+string(reason)+".")
}

func reasonSentence(reason route.Reason) string {
	switch reason {
	case route.ByMention:
		return "The message mentions it."
	case route.ByParticipation:
		return "It participates in the thread."
	case route.ByBinding:
		return "A binding routes messages from here to it."
	case route.ByDefault:
		return "It is the default agent, and no binding routes messages from here to another one."
	case route.OthersMentioned:
		return "Other agents are mentioned, and it is not."
	case route.NotParticipant:
		return "It does not participate in the thread; a mention would call it."
	case route.MentionOnly:
		return "The thread is older than the log and its participants are unknown: agents answer there only if mentioned."
	case route.NotOwner:
		return "Another agent answers in this channel; a mention would call this one."
	case route.NobodyOwns:
		return "No agent answers in this channel: neither the agent bound to it nor the default agent sees it."
	case route.NeedsMention:
		return "With channels.discord.requireMention, messages without a mention are handled by no agent."
	case route.SiblingSpeaks:
		return "It was written by another agent in a channel and mentions no one."
	case route.SystemText:
		return "It was posted by openclawd itself, and calls only the agents it mentions."
	case route.Suspended:
		return "Bots are suspended here because of a loop: their messages call no agent until the suspension ends. Messages of people do."
	case route.PairLimited:
		return "Its author and this agent have exchanged too many messages in a short time."
	case route.HopLimit:
		return "Agents have triggered each other too often in a row; a person's message resets the count."
	case route.AgentNotAllowed:
		return "The agent-to-agent policy does not let its author call this one: see tools.agentToAgent."
	case route.OwnMessage:
		return "It wrote the message itself."
	case route.InternalError:
		return "The decision failed; see the server's log."
	}
	return dropSentence(reason)
}

func dropSentence(reason route.Reason) string {
	switch reason {
	case route.NoAuthor:
		return "Discord gave no author."
	case route.ChannelsDisabled:
		return "channels.discord.groupPolicy is disabled: messages in channels are ignored."
	case route.GuildNotAllowed:
		return "The server is not allowed: channels.discord.collaboration.allowedGuilds applies if not empty, and with groupPolicy allowlist channels.discord.guilds."
	case route.ChannelNotAllowed:
		return "The channel is not allowed: channels.discord.guilds applies if it lists channels of the server, else channels.discord.collaboration.allowedChannels with defaultChannel."
	case route.DirectDisabled:
		return "channels.discord.dmPolicy is disabled: direct messages are ignored."
	case route.DirectNotAllowed:
		return "Its author is not in channels.discord.allowFrom and may not send direct messages to the bot."
	case route.DirectNotPaired:
		return "channels.discord.dmPolicy is pairing, and its author is neither approved nor in channels.discord.allowFrom: openclawd pairing list shows who waits."
	case route.SinkThread:
		return "The thread is for reports only."
	case route.SinkPost:
		return "It was written by a bot or webhook that only reports."
	case route.DiscordNotice:
		return "It is a system message of Discord, about a join, a pin or a thread."
	case route.Interaction:
		return "It is a command or the answer to a form: it was carried out, and no agent is told."
	case route.Continuation:
		return "It continues a text that an agent posted as several messages; the decision was made for the first one."
	case route.NoBot:
		return "No bot of an agent sees it."
	case route.EmptyText:
		return "It has no text and no attachment, or the bot may not read it: see GET /api/discord/bots."
	case route.ForeignBot:
		return "It was written by a bot of no agent here, and channels.discord.allowBots ignores such messages."
	case route.AuthorNotAllowed:
		return "Its author is not among the users of channels.discord.guilds and has none of the roles."
	}
	return ""
}

// explained says in a sentence which agents handle a message, or why none does.
func explained(a *Routing) string {
	var handlers, others []string
	reasons := map[route.Reason]bool{}
	observe := 0
	for i := range a.Agents {
		v := &a.Agents[i].RoutedVerdict
		if v.Mode == route.Handler {
			handlers = append(handlers, v.name())
			continue
		}
		if v.Mode == route.Observer {
			observe++
		}
		if v.Reason != route.OwnMessage && !reasons[v.Reason] {
			reasons[v.Reason] = true
			others = append(others, v.Explanation)
		}
	}
	switch {
	case len(handlers) == 1:
		return handlers[0] + " handles it. " + a.Agents[0].Explanation
	case len(handlers) > 1:
		said := enumerated(handlers) + " handle it."
		if first := &a.Agents[0]; first.Order == route.Primary {
			said += " " + first.name() + " is mentioned first and leads."
			if slices.ContainsFunc(a.Agents, func(r RoutedAgent) bool { return r.Mode == route.Handler && r.Reason == route.ByParticipation }) {
				said += " The thread's participants handle it too, and are told that it is addressed to others."
			}
		}
		return said
	case len(a.Agents) == 0:
		return "No agent handles it: no bot of an agent sees it, or the decision failed; the server's log tells which."
	case len(others) == 0: // only its author has received it
		return "No agent handles it: no other bot sees it."
	case observe == 0:
		return "No agent handles or remembers it. " + strings.Join(others, " ")
	}
	return "No agent handles it. " + strings.Join(others, " ")
}

func (v *RoutedVerdict) name() string { return cmp.Or(v.AgentName, v.AgentID) }

func enumerated(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Codes of warnings.
const (
	warnRunRefused = "run_refused"
	warnRunFailed  = "run_failed"
	warnUnposted   = "reply_unposted"
	warnNoReply    = "no_reply"
)

// warned returns the warnings about a decision and its consequences.
func warned(a *Routing, w *Wording) (list []RoutedWarning) {
	for _, agent := range a.Mentioned {
		if !slices.ContainsFunc(a.Agents, func(r RoutedAgent) bool { return r.AgentID == agent }) {
			list = append(list, RoutedWarning{string(route.WarnMentionedAbsent), agent, w.agent(agent) + " is mentioned, but its bot does not see the message: " +
				"check openclawd discord bots, and the bot's permission to view the channel"})
		}
	}
	for i := range a.Agents {
		if at := a.Agents[i].warning(); at != nil {
			list = append(list, *at)
		}
	}
	for _, code := range []struct {
		reason route.Reason
		code   route.Warning
		text   string
	}{
		{route.MentionOnly, route.WarnParticipantsUnknown, "the participants of this thread are unknown: mention the agents once, or have one ask another there"},
		{route.NobodyOwns, route.WarnNobodyOwns, "no agent that sees the channel answers in it: invite the bot of the default agent, or bind an agent that is there"},
	} {
		if slices.ContainsFunc(a.Agents, func(r RoutedAgent) bool { return r.Reason == code.reason }) {
			list = append(list, RoutedWarning{Code: string(code.code), Text: code.text})
		}
	}
	return list
}

// warning returns the warning about one agent; nil if none.
func (a *RoutedAgent) warning() *RoutedWarning {
	switch {
	case a.Mode != route.Handler:
		return nil
	case a.RunID == "":
		return &RoutedWarning{warnRunRefused, a.AgentID, a.name() + " was to handle it, but its run was refused: the queue was full, or the session was closed"}
	case a.Run == nil, a.Run.EndedAt == nil:
		return nil
	case a.Unposted != nil && a.Unposted.State == workqueue.Dead:
		return &RoutedWarning{warnUnposted, a.AgentID, "what " + a.name() + " has said was given up: " + cmp.Or(a.Unposted.Error, "the reason is unknown") +
			"; openclawd work resend " + a.Unposted.EffectID + " posts it again, unless it is there already"}
	case a.Unposted != nil:
		return &RoutedWarning{warnUnposted, a.AgentID, "what " + a.name() + " has said is not posted yet; see openclawd work"}
	case a.Run.State != string(run.OK):
		return &RoutedWarning{warnRunFailed, a.AgentID, fmt.Sprintf("the run of %s ended with %s; see openclawd runs show %s", a.name(), a.Run.State, a.Run.RunID)}
	case len(a.Replies) == 0:
		return &RoutedWarning{warnNoReply, a.AgentID, a.name() + " had nothing to say: its run ended without a text to post"}
	}
	return nil
}
