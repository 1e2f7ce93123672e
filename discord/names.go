package discord

import (
	"strings"
)

// Resolve writes <@id>, <#id> and <@&id> of a text as @name, #name and @name, as far as the names are known: those of our bots are their agents',
// then come channels.discord.mentions and what the bots have been told. Nothing is asked for. What is not known stays as it is.
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

// UserName is how a user is called, "" if that is not known.
func (b *Bots) UserName(id string) string {
	if name := b.Registry().names[id]; name != "" {
		return name
	}
	b.directory.mu.RLock()
	defer b.directory.mu.RUnlock()
	return b.directory.users[id]
}

// ChannelName is how a channel or thread is called, "" if that is not known.
func (b *Bots) ChannelName(id string) string {
	b.directory.mu.RLock()
	defer b.directory.mu.RUnlock()
	return b.directory.places[id].Name
}

// nameOf is what stands for what is between < and >, "" if nothing does.
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
		name = strings.TrimPrefix(name, "@") // @everyone is called so
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
