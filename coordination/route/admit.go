package route

import (
	"slices"
	"strings"
)

// holds says whether a report is all that the message can be: by where it stands, or else by who has written it.
func (s *Sinks) holds(m *Message) Reason {
	switch {
	case m.ThreadID != "" && (slices.Contains(s.Threads, m.ThreadID) || strings.HasPrefix(m.ThreadName, ReportPrefix)):
		return SinkThread
	case slices.Contains(s.Authors, m.Author.ID):
		return SinkPost
	}
	return ""
}

// refuses says why a message is for no agent at all; "" if it may be for some. Bots of others are judged by heeds.
func (p *Policy) refuses(m *Message, sinks *Sinks) Reason {
	if m.Author.ID == "" {
		return NoAuthor
	}
	if reason := p.Closes(m); reason != "" {
		return reason
	}
	if reason := sinks.holds(m); reason != "" {
		return reason
	}
	switch {
	case m.Notice:
		return DiscordNotice
	case m.Rest:
		return Continuation
	case m.Attachments == 0 && strings.TrimSpace(m.Text) == "":
		return EmptyText
	}
	return ""
}

// Closes says why nothing is heeded where a message stands; "" if something is.
func (p *Policy) Closes(m *Message) Reason {
	if m.direct() {
		if p.Direct == Disabled {
			return DirectDisabled
		}
		return ""
	}
	switch {
	case p.Groups == Disabled:
		return ChannelsDisabled
	case len(p.Guilds) > 0 && !slices.Contains(p.Guilds, m.GuildID):
		return GuildNotAllowed
	case len(p.Channels) == 0 && p.Groups != Allowlist:
		return ""
	case !slices.Contains(p.Channels, m.ChannelID) && (m.ThreadID == "" || !slices.Contains(p.Channels, m.ThreadID)):
		return ChannelNotAllowed
	}
	return ""
}

// heeds says whether a bot of somebody else is listened to. calls: its message mentions an agent.
func (p *Policy) heeds(calls bool) bool {
	return p.ForeignBots == ForeignYes || p.ForeignBots == ForeignMentions && calls
}

// Bars says why the person who has written a message may not speak to agents there; "" if they may.
func (p *Policy) Bars(m *Message) Reason {
	if !m.direct() {
		open := len(p.Users) == 0 && len(p.Roles) == 0
		byRole := slices.ContainsFunc(m.Author.Roles, func(r string) bool { return slices.Contains(p.Roles, r) })
		if open || byRole || slices.Contains(p.Users, m.Author.ID) {
			return ""
		}
		return AuthorNotAllowed
	}
	switch {
	case p.Direct == Open, slices.Contains(p.AllowFrom, m.Author.ID), slices.Contains(p.AllowFrom, "*"):
		return ""
	case p.Direct == Pairing:
		return DirectNotPaired
	}
	return DirectNotAllowed
}
