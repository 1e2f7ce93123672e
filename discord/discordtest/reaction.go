package discordtest

import (
	"slices"
	"strings"
)

type reaction struct {
	emoji Emoji
	by    []*account
}

func (s *Server) reactionRoutes() []route {
	const one = "/channels/{channel}/messages/{message}/reactions/{emoji}"
	return []route{
		{name: "PUT " + one + "/@me", do: func(c *call) (any, *Error) {
			m, refusal := s.messageIn(c, ReadMessageHistory)
			if refusal != nil {
				return nil, refusal
			}
			return nil, s.react(c.by, m, c.path("emoji"))
		}},
		{name: "DELETE " + one + "/{user}", do: func(c *call) (any, *Error) {
			p := ManageMessages
			if userIn(c) == c.by.ID {
				p = 0
			}
			m, refusal := s.messageIn(c, p)
			if refusal != nil {
				return nil, refusal
			}
			a := s.accounts[userIn(c)]
			if a == nil {
				return nil, notFound(CodeUnknownUser, "User")
			}
			return nil, s.unreact(a, m, c.path("emoji"))
		}},
		{name: "GET " + one, do: func(c *call) (any, *Error) {
			m, refusal := s.messageIn(c, ReadMessageHistory)
			if refusal != nil {
				return nil, refusal
			}
			limit, refusal := limitIn(c, 1, 100, 25)
			if refusal != nil {
				return nil, refusal
			}
			users := []User{}
			if r := m.reaction(emojiOf(c.path("emoji"))); r != nil {
				for _, a := range r.by {
					users = append(users, a.User)
				}
			}
			return users[:min(limit, len(users))], nil
		}},
	}
}

// emojiOf parses "name:id", or a Unicode emoji.
func emojiOf(text string) Emoji {
	if name, id, custom := strings.Cut(text, ":"); custom && isSnowflake(id) {
		return Emoji{ID: &id, Name: name}
	}
	return Emoji{Name: text}
}

func (m *message) reaction(e Emoji) *reaction {
	for _, r := range m.reactions {
		if r.emoji.Name == e.Name && (r.emoji.ID == nil) == (e.ID == nil) && (e.ID == nil || *e.ID == *r.emoji.ID) {
			return r
		}
	}
	return nil
}

type reacted struct {
	UserID    string  `json:"user_id"`
	ChannelID string  `json:"channel_id"`
	MessageID string  `json:"message_id"`
	GuildID   string  `json:"guild_id,omitempty"`
	Member    *Member `json:"member,omitempty"`
	Emoji     Emoji   `json:"emoji"`
	Author    string  `json:"message_author_id,omitempty"`
	Burst     bool    `json:"burst"`
	Type      int     `json:"type"`
}

func (s *Server) react(a *account, m *message, emoji string) *Error {
	if emoji == "" || strings.ContainsAny(emoji, " <>") {
		return badRequest(CodeUnknownEmoji, "Unknown Emoji")
	}
	e := emojiOf(emoji)
	r := m.reaction(e)
	p := ReadMessageHistory
	if r == nil {
		p |= AddReactions
	}
	if refusal := s.need(a, m.channel, p); refusal != nil {
		return refusal
	}
	if m.channel.IsThread() && m.channel.Thread.Archived {
		return badRequest(CodeThreadArchived, "Thread is archived")
	}
	if r == nil {
		r = &reaction{emoji: e}
		m.reactions = append(m.reactions, r)
	}
	if slices.Contains(r.by, a) {
		return nil
	}
	r.by = append(r.by, a)
	s.sendReaction("MESSAGE_REACTION_ADD", a, m, e)
	return nil
}

func (s *Server) unreact(a *account, m *message, emoji string) *Error {
	r := m.reaction(emojiOf(emoji))
	if r == nil || !slices.Contains(r.by, a) {
		return nil
	}
	r.by = slices.DeleteFunc(r.by, func(other *account) bool { return other == a })
	m.reactions = slices.DeleteFunc(m.reactions, func(r *reaction) bool { return len(r.by) == 0 })
	s.sendReaction("MESSAGE_REACTION_REMOVE", a, m, r.emoji)
	return nil
}

func (s *Server) sendReaction(kind string, a *account, m *message, e Emoji) {
	told := reacted{UserID: a.ID, ChannelID: m.ChannelID, MessageID: m.ID, GuildID: m.channel.GuildID, Emoji: e, Author: m.Author.ID}
	if kind == "MESSAGE_REACTION_ADD" && m.channel.guild != nil {
		if member := m.channel.guild.member(a.ID); member != nil {
			copied := *member
			told.Member = &copied
		}
	}
	s.publish(event{kind, m.channel.intent(intentGuildReactions, intentDirectReactions), m.channel}, func(*gatewaySession) any { return told })
	s.happened()
}
