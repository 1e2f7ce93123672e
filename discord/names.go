package discord

import (
	"strings"
)

// Resolve replaces <@id>, <#id> and <@&id> in a text by @name, #name and @name: agents' names for our bots, then
// channels.discord.mentions, then what the bots have received. It makes no requests. Unknown ids stay.
func (b *Bots) Resolve(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "<")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		token, rest, closed := strings.Cut(after, ">")
		if name := b.nameOf(token); closed && name != "" {
			out.WriteString(name)
			text = rest
			continue
		}
		out.WriteByte('<')
		text = after
	}
}

// UserName is a user's name, "" if unknown.
func (b *Bots) UserName(id string) string {
	if name := b.Registry().Name(id); name != "" {
		return name
	}
	b.directory.mu.RLock()
	defer b.directory.mu.RUnlock()
	return b.directory.users[id]
}

// ChannelName is a channel's or thread's name, "" if unknown.
func (b *Bots) ChannelName(id string) string {
	b.directory.mu.RLock()
	defer b.directory.mu.RUnlock()
	return b.directory.places[id].Name
}

// nameOf is the replacement for the text between < and >, "" if there is none.
func (b *Bots) nameOf(token string) string {
	if len(token) < 2 {
		return ""
	}
	mark, name := "@", ""
	switch {
	case strings.HasPrefix(token, "@&"):
		b.directory.mu.RLock()
		name = b.directory.roles[token[2:]]
		b.directory.mu.RUnlock()
		name = strings.TrimPrefix(name, "@") // @everyone is the role's name
	case token[0] == '@':
		name = b.UserName(strings.TrimPrefix(token[1:], "!"))
	case token[0] == '#':
		mark, name = "#", b.ChannelName(token[1:])
	}
	if name == "" {
		return ""
	}
	return mark + name
}
