package telegram

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// Sight implements channel.People. Blind are bots that are disabled, rejected by Telegram, or no longer in the group. A
// bot in privacy mode is not blind: what it does not receive itself, the others and the log tell it.
func (b *Bots) Sight(guildID, channelID, _ string) []route.Bot {
	all := b.Registry().ForRoute()
	at, err := parsePlace(guildID)
	if guildID == "" {
		at, err = parsePlace(channelID)
	}
	running := b.all()
	for i := range all {
		n := slices.IndexFunc(running, func(own *bot) bool { return own.account == all[i].AccountID })
		all[i].Blind = n < 0 || running[n].refused() || err == nil && running[n].outside(b.directory.current(at.chat), at.bot)
	}
	return all
}

// outside reports whether the bot is known not to be in a chat. owner is the bot of a private chat.
func (b *bot) outside(chat, owner int64) bool {
	user := b.user.Load()
	if owner != 0 {
		return user != 0 && user != owner
	}
	m, known := b.bots.directory.seat(chat, user)
	return known && m.gone()
}

// Known implements channel.People.
func (b *Bots) Known(id string) (collaborate.Place, bool) { return b.directory.place(id) }

// ChannelName implements channel.People.
func (b *Bots) ChannelName(id string) string {
	p, _ := b.directory.place(id)
	return p.Name
}

// UserName implements channel.People.
func (b *Bots) UserName(id string) string {
	if name := b.Registry().Name(id); name != "" {
		return name
	}
	return b.directory.user(id).Name
}

// Resolve implements channel.People.
func (b *Bots) Resolve(text string) string {
	if !strings.Contains(text, "<@") {
		return text
	}
	return anyMention.ReplaceAllStringFunc(text, func(m string) string {
		if name := b.UserName(strings.Trim(m, "<@!>")); name != "" {
			return "@" + name
		}
		return m
	})
}

// userOf is what is known of a user.
func (b *Bots) userOf(id string) channel.User {
	u := b.directory.user(id)
	u.ID, u.Name = id, b.UserName(id)
	if _, ours := b.Registry().User(id); ours {
		u.Bot = true
	}
	return u
}

// mentions says how users are mentioned in a text that notifies some of them: by a link, or a bot by its username.
// Others are only named.
func (b *Bots) mentions(notify []string) func(id string) mention {
	return func(id string) mention {
		name := b.UserName(id)
		if name == "" {
			name = id
		}
		if n, err := strconv.ParseInt(id, 10, 64); err != nil || n <= 0 || !slices.Contains(notify, id) {
			return mention{markdown: escape(name), plain: name}
		}
		if handle := b.directory.handle(id); handle != "" && b.userOf(id).Bot {
			return mention{markdown: "@" + escape(handle), plain: "@" + handle}
		}
		return mention{markdown: "[" + escape(name) + "](tg://user?id=" + id + ")", plain: name}
	}
}
