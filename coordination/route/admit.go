package route

import (
	"slices"
	"strings"
)

// holds returns the reason if the message is a report, by its place or by its author.
func (s *Sinks) holds(m *Message) Reason {
	switch {
	case m.ThreadID != "" && (slices.Contains(s.Threads, m.ThreadID) || strings.HasPrefix(m.ThreadName, ReportPrefix)):
		return SinkThread
	case slices.Contains(s.Authors, m.Author.ID):
		return SinkPost
	}
	return ""
}

// refuses returns why no agent gets the message; "" if one may. Foreign bots are judged by acceptsBots.
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
	case m.Interaction:
		return Interaction
	case m.Rest:
		return Continuation
	case m.Attachments == 0 && strings.TrimSpace(m.Text) == "":
		return EmptyText
	}
	return ""
}

// Closes returns why messages in this place are ignored; "" if they are not.
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

// acceptsBots reports whether messages of foreign bots are accepted. calls: the message mentions an agent.
func (p *Policy) acceptsBots(calls bool) bool {
	return p.ForeignBots == ForeignYes || p.ForeignBots == ForeignMentions && calls
}

// Bars returns why the author may not speak to agents here; "" if they may.
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
