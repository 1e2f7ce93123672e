package telegram

import (
	"context"
	"errors"
	"net/http"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// StartThread implements channel.Poster: it opens a topic of a forum, and in a supergroup without topics a chain of replies.
// Opening.MessageID is ignored, because topics are not attached to messages. Opening.Starter is posted as the topic's first message.
func (b *Bots) StartThread(ctx context.Context, o channel.Opening) (channel.Thread, error) {
	const deed = "open a topic"
	own, at, err := b.at(deed, o.AccountID, o.ChannelID)
	if err != nil {
		return channel.Thread{}, err
	}
	switch topics, err := b.hasTopics(ctx, deed, own, at.chat); {
	case err != nil:
		return channel.Thread{}, err
	case !topics:
		return b.startChain(ctx, deed, own, at, &o)
	}
	leave, err := b.enter(ctx, deed, own, at, o.ChannelID)
	if err != nil {
		return channel.Thread{}, err
	}
	a, refused := own.ask(ctx, deed, o.ChannelID, topicForm{chat: at.chat, name: o.Name})
	if refused != nil {
		b.hold(own, at.chat, refused)
	}
	leave()
	if refused != nil {
		return channel.Thread{}, refused
	}
	t, err := result[topicShape](deed, own.account, a)
	if err != nil {
		return channel.Thread{}, err
	}
	thread := b.threadOf(own, place{chat: at.chat, topic: t.ID}, t.Name)
	if o.Starter == nil {
		return thread, nil
	}
	first := *o.Starter
	first.AccountID, first.ChannelID = o.AccountID, thread.ID
	posted, err := b.Send(ctx, first)
	thread.MessageID = posted.ID
	return thread, err
}

// Place implements channel.Finder. Telegram says nothing about a topic to a bot: any exists as long as its chat does. A chain of
// replies exists if it is known.
func (b *Bots) Place(ctx context.Context, account, id string) (p collaborate.Place, ok bool, err error) {
	const deed = "request a chat"
	own, at, err := b.at(deed, account, id)
	if err != nil {
		return p, false, err
	}
	a, refused := own.ask(ctx, deed, id, chatForm{at.chat})
	switch {
	case refused != nil && (refused.Class == collaborate.ClassNotFound || refused.Class == collaborate.ClassForbidden):
		return p, false, nil
	case refused != nil:
		return p, false, refused
	}
	c, err := result[chatShape](deed, own.account, a)
	if err != nil {
		return p, false, err
	}
	user := own.user.Load()
	b.directory.mu.Lock()
	b.directory.addChat(&c, user)
	b.directory.mu.Unlock()
	chat := placeID(numbered(&c, user))
	if at.topic == 0 {
		return placeOf(&c, chat), true, nil
	}
	if !c.IsForum && !b.directory.isChain(at) {
		return p, false, nil
	}
	p, known := b.directory.place(id)
	if !known {
		p = collaborate.Place{ID: placeID(place{chat: c.ID, topic: at.topic}), Kind: collaborate.Thread, ParentID: chat, GuildID: chat}
	}
	return p, true, nil
}

const blindHint = "look in Telegram whether it is there"

// FindMessage implements channel.Finder: bots cannot read a chat.
func (b *Bots) FindMessage(_ context.Context, l channel.Lookup) (channel.Posted, bool, error) {
	return channel.Posted{}, false, channel.Blind("search for a message", l.AccountID, l.ChannelID, blindHint)
}

// FindThread implements channel.Finder: bots cannot list topics.
func (b *Bots) FindThread(_ context.Context, l channel.Lookup) (channel.Thread, bool, error) {
	return channel.Thread{}, false, channel.Blind("search for a topic", l.AccountID, l.ChannelID, blindHint)
}

// ErrRights is the error of an account that lacks a right in a chat.
var ErrRights = errors.New("a right is missing")

// Rights reports whether a bot can write and open topics in a group: an error says what is missing, and its hint what
// to do. It makes requests.
func (b *Bots) Rights(ctx context.Context, account, id string) error {
	const deed = "request the bot's rights"
	own, at, err := b.at(deed, account, id)
	if err != nil {
		return err
	}
	a, refused := own.ask(ctx, deed, id, chatForm{at.chat})
	if refused != nil {
		return refused
	}
	c, err := result[chatShape](deed, own.account, a)
	if err != nil || c.Type == typePrivate {
		return err
	}
	if a, refused = own.ask(ctx, deed, id, memberForm{at.chat, own.user.Load()}); refused != nil {
		return refused
	}
	m, err := result[memberShape](deed, own.account, a)
	if err != nil {
		return err
	}
	b.directory.sit(at.chat, own.user.Load(), m)
	lacks := func(hint string) error {
		return channel.Local(deed, account, id, http.StatusForbidden, ErrRights, hint)
	}
	switch {
	case m.gone():
		return lacks("add the bot to the group")
	case c.IsForum && !m.CanTopics && m.Status != "creator":
		return lacks("make the bot an administrator of the group with the right to manage topics")
	case !own.sees(at.chat):
		return lacks(missingPrivacyHint)
	}
	return nil
}
