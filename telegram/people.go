package telegram

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
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

// seatAgain is how long after a failure a membership is requested again.
const seatAgain = time.Minute

// takeSeats requests which of our bots are in a group, as far as that is not known: Telegram tells of a membership when it
// changes, and not again after a restart.
func (b *Bots) takeSeats(ctx context.Context, chat int64) {
	for _, own := range b.all() {
		user := own.user.Load()
		if user == 0 || !b.directory.isUnseated(chat, user, b.o.Now(), seatAgain) {
			continue
		}
		a, refused := own.ask(ctx, "request the bot's membership", placeID(place{chat: chat}), memberForm{chat, user})
		switch {
		case refused == nil:
			if m, err := result[memberShape]("request the bot's membership", own.account, a); err == nil {
				b.directory.sit(chat, user, m)
			}
		case refused.Class == collaborate.ClassForbidden || refused.Class == collaborate.ClassNotFound: // what it is not in, it cannot ask about
			b.directory.sit(chat, user, memberShape{Status: statusLeft})
		case ctx.Err() == nil:
			own.log.Warn("cannot find out whether the bot is in a group; it is taken to be", "err", refused)
		}
	}
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

// maxName is how many characters of a name are shown.
const maxName = 200

// mentions says how users are mentioned in a text that notifies some of them: by a link, or a bot by its username.
// Others are only named, with so many characters at most.
func (b *Bots) mentions(notify []string, most int) func(id string) mention {
	return func(id string) mention {
		name := coordination.Head(b.UserName(id), most)
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
