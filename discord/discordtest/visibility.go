package discordtest

import (
	"slices"
	"strconv"
)

// Permission is a set of Discord's permission bits.
type Permission uint64

// Permissions checked here.
const (
	Administrator        Permission = 1 << 3
	ManageChannels       Permission = 1 << 4
	AddReactions         Permission = 1 << 6
	ViewChannel          Permission = 1 << 10
	SendMessages         Permission = 1 << 11
	ManageMessages       Permission = 1 << 13
	EmbedLinks           Permission = 1 << 14
	AttachFiles          Permission = 1 << 15
	ReadMessageHistory   Permission = 1 << 16
	MentionEveryone      Permission = 1 << 17
	ManageWebhooks       Permission = 1 << 29
	UseCommands          Permission = 1 << 31
	ManageThreads        Permission = 1 << 34
	CreatePublicThreads  Permission = 1 << 35
	CreatePrivateThreads Permission = 1 << 36
	SendInThreads        Permission = 1 << 38

	everything Permission = 1<<53 - 1
)

// Everyone's permissions in a new guild.
const Everyone = AddReactions | ViewChannel | SendMessages | EmbedLinks | AttachFiles | ReadMessageHistory | UseCommands | CreatePublicThreads |
	CreatePrivateThreads | SendInThreads

func (p Permission) has(all Permission) bool { return p&all == all }

func (p Permission) String() string { return strconv.FormatUint(uint64(p), 10) }

// may returns a user's permissions in a channel, computed like Discord does: the guild's roles, then overwrites of
// everyone, of roles, of the member. A thread has its parent's permissions; a private one is visible to its members
// and to those with ManageThreads.
func (s *Server) may(a *account, c *channel) Permission {
	if c.Type == DirectMessages {
		if slices.ContainsFunc(c.pair, func(u *account) bool { return u == a }) {
			return ViewChannel | SendMessages | EmbedLinks | AttachFiles | ReadMessageHistory | AddReactions | UseCommands
		}
		return 0
	}
	g := c.guild
	m := g.member(a.ID)
	if m == nil {
		return 0
	}
	if c.IsThread() {
		parent := s.channels[c.parent()]
		if parent == nil {
			return 0
		}
		p := s.may(a, parent)
		if c.Type == PrivateThread && !p.has(ManageThreads) && c.follower(a.ID) == nil {
			return 0
		}
		return p
	}
	p := g.permissions(m)
	if p.has(Administrator) || g.info.OwnerID == a.ID {
		return everything
	}
	p = apply(p, c.Overwrites, func(o Overwrite) bool { return o.ID == g.info.ID })
	p = apply(p, c.Overwrites, func(o Overwrite) bool { return o.Type == 0 && slices.Contains(m.Roles, o.ID) })
	p = apply(p, c.Overwrites, func(o Overwrite) bool { return o.Type == 1 && o.ID == a.ID })
	if !p.has(ViewChannel) {
		return 0
	}
	return p
}

// apply denies and then allows the union of the selected overwrites.
func apply(p Permission, all []Overwrite, chosen func(Overwrite) bool) Permission {
	var allow, deny Permission
	for _, o := range all {
		if chosen(o) {
			allow, deny = allow|o.Allow, deny|o.Deny
		}
	}
	return p&^deny | allow
}

// need refuses with Discord's code: 50001 if not visible, 50013 if not permitted.
func (s *Server) need(a *account, c *channel, p Permission) *Error {
	switch have := s.may(a, c); {
	case !have.has(ViewChannel):
		return missingAccess()
	case !have.has(p):
		return missingPermissions()
	}
	return nil
}

// Intents of a gateway session.
const (
	intentGuilds          = 1 << 0
	intentMembers         = 1 << 1
	intentGuildMessages   = 1 << 9
	intentGuildReactions  = 1 << 10
	intentGuildTyping     = 1 << 11
	intentDirectMessages  = 1 << 12
	intentDirectReactions = 1 << 13
	intentDirectTyping    = 1 << 14
	intentMessageContent  = 1 << 15
)

// readable reports whether the bot may read a message of another author: it is mentioned, the message is in a
// conversation with it, or it has the intent; or it is the author.
func readable(a *account, m *message, mayAll bool) bool {
	return mayAll || !a.Bot || m.author == a || m.channel.Type == DirectMessages ||
		slices.ContainsFunc(m.Mentions, func(u User) bool { return u.ID == a.ID }) || m.ApplicationID == a.ID
}

// hide removes unreadable content from a message.
func hide(m *Message) {
	m.Content, m.Embeds, m.Components, m.Attachments = "", nothing(m.Embeds), nothing(m.Components), nothing(m.Attachments)
	if m.ReferencedMessage != nil {
		hidden := *m.ReferencedMessage
		hide(&hidden)
		m.ReferencedMessage = &hidden
	}
}

func nothing[T any](of []T) []T { return of[:0:0] }
