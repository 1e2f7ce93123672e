package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// seat is where an app is a member, as far as Slack has said.
type seat struct {
	mu     sync.Mutex
	member map[string]bool // by conversation
}

func (s *seat) set(chat string, in bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	put(s.member, chat, in)
}

// blind reports whether an app is known not to be in a conversation.
func (s *seat) blind(chat string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, known := s.member[chat]
	return known && !in
}

// askAgain is how long after a failure a conversation or user is requested again.
const askAgain = time.Minute

// known are the conversations that any app has received in a list.
func (b *Apps) known() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.listed))
}

// addKnown records the conversations of a list.
func (b *Apps) addKnown(chats []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, chat := range chats {
		put(b.listed, chat, true)
	}
}

// Sight implements channel.People. An app that is connecting or disconnected is not blind: it reads missed messages
// later, and can post without a connection.
func (b *Apps) Sight(guildID, channelID, threadID string) []route.Bot {
	all := b.Registry().ForRoute()
	b.mu.Lock()
	apps := maps.Clone(b.apps)
	b.mu.Unlock()
	p, _ := parsePlace(cmp.Or(threadID, channelID))
	for i := range all {
		own := apps[all[i].AccountID]
		all[i].Blind = own == nil || own.refused() || guildID != "" && own.seat.blind(p.chat) // a direct conversation belongs to one app, known to route
	}
	return all
}

// Known implements channel.People.
func (b *Apps) Known(id string) (collaborate.Place, bool) { return b.directory.place(id) }

// ChannelName implements channel.People.
func (b *Apps) ChannelName(id string) string {
	p, _ := b.directory.place(id)
	return p.Name
}

// UserName implements channel.People.
func (b *Apps) UserName(id string) string {
	u, _ := b.directory.user(id)
	return firstOf(b.Registry().Name(id), u.name())
}

// Resolve implements channel.People.
func (b *Apps) Resolve(text string) string {
	if !strings.Contains(text, "<@") {
		return text
	}
	return userMark.ReplaceAllStringFunc(text, func(mark string) string {
		if name := b.UserName(strings.Trim(mark, "<@>")); name != "" {
			return "@" + name
		}
		return mark
	})
}

// Kinds of conversations, as the channel_type of an event.
const (
	kindDirect = "im"
	kindGroup  = "mpim"
)

// conversation is a conversation as a place, and whether it is one of several people. An unknown one is requested. If that
// fails, kind tells what matters most; the failure is no answer, and a later message asks again. sure is false if it
// fails for now and kind is "".
func (a *app) conversation(chat, kind string) (p collaborate.Place, group, sure bool) {
	id := place{chat: chat}.id()
	if p, known := a.apps.directory.place(id); known {
		return p, a.apps.directory.isGroup(id), true
	}
	request := a.own.ID + " " + chat
	if a.apps.directory.mayAsk(request, a.apps.o.Now(), askAgain) {
		c, refused := a.info(a.ctx, "request a conversation", chat)
		if refused == nil {
			return a.apps.directory.addChannel(c, a.team()), c.IsMPIM, true
		}
		a.apps.directory.refuse(request, !passing(refused.Class))
	}
	sure = a.team() != "" && (kind != "" || strings.HasPrefix(chat, "D") || a.apps.directory.isRefused(request))
	c := channelShape{ID: chat, IsIM: kind == kindDirect || kind == "" && strings.HasPrefix(chat, "D"), IsMPIM: kind == kindGroup}
	return c.place(a.team()), c.IsMPIM, sure
}

func (a *app) info(ctx context.Context, deed, chat string) (c channelShape, refused *channel.Error) {
	got, refused := a.ask(ctx, deed, place{chat: chat}.id(), "conversations.info", url.Values{"channel": {chat}})
	if refused != nil {
		return c, refused
	}
	var said struct {
		Channel channelShape `json:"channel"`
	}
	if err := json.Unmarshal(got.body, &said); err != nil || said.Channel.ID == "" {
		return c, unreadable(deed, a.own.ID, place{chat: chat}.id(), err)
	}
	return said.Channel, nil
}

// Place implements channel.Finder.
func (b *Apps) Place(ctx context.Context, account, id string) (p collaborate.Place, ok bool, err error) {
	const deed = "request a conversation"
	own, in, err := b.at(deed, account, id)
	if err != nil {
		return p, false, err
	}
	if own.team() == "" {
		return p, false, channel.NoBot(b.Name(), deed, account, id)
	}
	c, refused := own.info(ctx, deed, in.chat)
	if refused == nil && in.thread != "" {
		_, refused = own.ask(ctx, deed, id, "conversations.replies", url.Values{"channel": {in.chat}, "ts": {in.thread}, "limit": {"1"}})
	}
	switch {
	case refused == nil:
	case refused.Class == collaborate.ClassNotFound || refused.Class == collaborate.ClassForbidden:
		return p, false, nil
	default:
		return p, false, refused
	}
	p = b.directory.addChannel(c, own.team())
	if in.thread != "" {
		p = b.directory.addThread(in, &p, "")
	}
	return p, true, nil
}

// errNoPlace is the error of an id that is not one of a conversation or thread.
var errNoPlace = errors.New("this is no conversation in Slack")

// at is an account's app, and a place.
func (b *Apps) at(deed, account, id string) (own *app, in place, err error) {
	in, ok := parsePlace(id)
	if !ok {
		return nil, in, channel.Local(deed, account, id, http.StatusBadRequest, errNoPlace, "name a channel like slack:c0123456789")
	}
	if own = b.app(account); own == nil {
		return nil, in, b.absent(deed, account, id)
	}
	return own, in, nil
}
