package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/channel"
)

const (
	clockSkew     = 60 * 1000 // maximum clock difference between Slack and this machine, in ms
	maxFoundPages = 10
)

// errDeep is the error of a search that ends before everything was seen.
var errDeep = errors.New("too many messages follow it")

const deepHint = "check in Slack whether it is there"

// FindMessage implements channel.Finder. The messages after the time of the request are read with their metadata, in
// which a post has its nonce; one without metadata is recognised by its text. Because clocks differ, a slightly earlier
// candidate counts if there is no other. A file is missing only when Slack has had the time to share it.
func (b *Apps) FindMessage(ctx context.Context, l channel.Lookup) (p channel.Posted, found bool, err error) {
	const deed = "search for a message"
	m, in, found, err := b.find(ctx, deed, &l, func(m *messageShape) (id string, means bool) {
		id = place{chat: m.Channel}.messageID(m.TS)
		if l.File != nil {
			return id, len(m.Files) == 1 && m.Files[0].Size == l.File.Size
		}
		if kind, nonce := m.key("nonce"); kind == metadataPost {
			return id, nonce == l.Nonce
		}
		return id, m.Metadata == nil && same(m.Text, b.render(l.Content, mentioned(m.Text)))
	})
	if err == nil && !found && l.File != nil {
		err = b.unshared(deed, &l, in)
	}
	if !found || err != nil {
		return p, false, err
	}
	return channel.Posted{ID: in.messageID(m.TS), ChannelID: l.ChannelID, At: at(m.TS)}, true, nil
}

// FindThread implements channel.Finder: it searches for a message that StartThread has posted.
func (b *Apps) FindThread(ctx context.Context, l channel.Lookup) (t channel.Thread, found bool, err error) {
	const deed = "search for a thread"
	m, in, found, err := b.find(ctx, deed, &l, func(m *messageShape) (id string, means bool) {
		id = place{chat: m.Channel, thread: m.TS}.id()
		if kind, name := m.key("name"); kind == metadataThread {
			return id, name == l.Name
		}
		return id, m.Metadata == nil && same(m.Text, "*"+b.render(l.Name, nil)+"*")
	})
	own := b.app(l.AccountID)
	if !found || err != nil || own == nil {
		return t, false, err
	}
	return b.thread(own, place{chat: in.chat, thread: m.TS}, l.Name), true, nil
}

// key is a value of a message's metadata, and their type.
func (m *messageShape) key(name string) (kind, value string) {
	if m.Metadata == nil {
		return "", ""
	}
	var payload map[string]any
	if json.Unmarshal(m.Metadata.Payload, &payload) != nil {
		return m.Metadata.Type, ""
	}
	value, _ = payload[name].(string)
	return m.Metadata.Type, value
}

func same(x, y string) bool { return strings.TrimSpace(x) == strings.TrimSpace(y) }

// find searches the app's messages in a place since a time, the oldest first.
func (b *Apps) find(ctx context.Context, deed string, l *channel.Lookup, means func(*messageShape) (id string, means bool)) (m messageShape, in place, found bool, err error) {
	own, in, err := b.at(deed, l.AccountID, l.ChannelID)
	if err != nil {
		return m, in, false, err
	}
	user := own.current().UserID
	if user == "" { // its messages cannot be told from others'
		return m, in, false, channel.NotReady(deed, l.AccountID, l.ChannelID)
	}
	all, err := own.all(ctx, deed, l, in)
	if err != nil {
		return m, in, false, err
	}
	thread, err := own.threadOf(ctx, deed, l.ChannelID, in, l.ReplyTo)
	if err != nil {
		return m, in, false, err
	}
	if thread != in.thread { // a post in a direct conversation is in the thread of what it answers, or, if that was deleted, in none
		replies, err := own.all(ctx, deed, l, place{chat: in.chat, thread: thread})
		if err != nil {
			return m, in, false, err
		}
		all = append(all, replies...)
		sortByTime(all)
	}
	for i := range all {
		candidate := &all[i]
		candidate.Channel = in.chat
		id, is := means(candidate)
		if !is || candidate.User != user || stamp(candidate.TS) < (l.Since-clockSkew)*1000 {
			continue
		}
		switch other, err := l.Excludes(id); {
		case err != nil:
			return m, in, false, err
		case !other:
			m, found = *candidate, true
		}
		if found && at(m.TS) >= l.Since {
			break
		}
	}
	return m, in, found, nil
}

// all are the messages in a place since a time, oldest first. It is an error if there are more than it reads.
func (a *app) all(ctx context.Context, deed string, l *channel.Lookup, in place) (all []messageShape, err error) {
	method, args := reading(in)
	for name, value := range map[string]string{"oldest": stampOf(max(l.Since-clockSkew, 1) * 1000), "inclusive": "true",
		"include_all_metadata": "true", "limit": strconv.Itoa(missedPage)} {
		args.Set(name, value)
	}
	for range maxFoundPages {
		got, refused := a.ask(ctx, deed, l.ChannelID, method, args)
		if refused != nil {
			return nil, refused
		}
		var page pageShape
		if err := json.Unmarshal(got.body, &page); err != nil {
			return nil, unreadable(deed, a.own.ID, l.ChannelID, err)
		}
		all = append(all, page.Messages...)
		if page.Next.Cursor == "" {
			sortByTime(all)
			return all, nil
		}
		args.Set("cursor", page.Next.Cursor)
	}
	return nil, channel.Local(deed, a.own.ID, l.ChannelID, http.StatusBadRequest, errDeep, deepHint)
}
