package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
)

const (
	clockSkew     = 60 * 1000        // maximum clock difference between Discord and this machine, in ms
	maxFoundPages = maxMissedPages   // messages, or archived threads, searched
	archivedAfter = 60 * time.Minute // minimum silence
)

// Errors of searches without a result.
var (
	errHidden = errors.New("the bot cannot see all messages")
	errDeep   = errors.New("too many messages follow it")
)

const (
	historyHint = "give the bot's role the permission Read Message History in the channel"
	deepHint    = "check in Discord whether it is there"
)

// FindMessage searches for a message of the bot among the thousand after the time of the request. Because clocks
// differ, a slightly earlier candidate counts if there is no other. Not found means that it does not exist. If that
// cannot be determined, because the bot may not read or there are more messages, it returns an error: a *channel.Error, or
// that of Other.
func (b *Bots) FindMessage(ctx context.Context, l channel.Lookup) (p channel.Posted, found bool, err error) {
	const deed = "search for a message"
	user, err := b.userOf(deed, &l)
	if err != nil {
		return p, false, err
	}
	from := firstAt(l.Since - clockSkew)
	for after, pages := from, 0; pages < maxFoundPages; pages++ {
		page, err := b.after(ctx, deed, &l, after)
		if err == nil && len(page) == 0 && after == from {
			page, err = b.surely(ctx, deed, &l, after)
		}
		if err != nil {
			return p, false, err
		}
		for i := range page {
			m := &page[i]
			after = max(after, snowflake(m.ID))
			if m.Author == nil || m.Author.ID != user || m.WebhookID != "" || !means(&l, m) {
				continue
			}
			switch other, err := l.Excludes(m.ID); {
			case err != nil:
				return p, false, err
			case !other:
				p, found = channel.Posted{ID: m.ID, ChannelID: l.ChannelID, At: madeAt(snowflake(m.ID))}, true
			}
			if found && p.At >= l.Since {
				return p, true, nil
			}
		}
		if len(page) < missedPage {
			return p, found, nil
		}
	}
	if found {
		return p, true, nil
	}
	return p, false, channel.Local(deed, l.AccountID, l.ChannelID, http.StatusBadRequest, errDeep, deepHint)
}

// means reports whether a message of the bot may be the one searched for.
func means(l *channel.Lookup, m *messageShape) bool {
	nonce := m.nonce()
	if l.File != nil && nonce == "" {
		return len(m.Attachments) == 1 && m.Attachments[0].Size == l.File.Size
	}
	return nonce != "" && nonce == l.Nonce || nonce == "" && strings.TrimSpace(m.Content) == strings.TrimSpace(l.Content)
}

// after returns the first hundred messages after an id, oldest first.
func (b *Bots) after(ctx context.Context, deed string, l *channel.Lookup, id uint64) (page []messageShape, err error) {
	path := fmt.Sprintf("/channels/%s/messages?limit=%d&after=%d", l.ChannelID, missedPage, id)
	a, err := b.atOnce(ctx, deed, l.AccountID, l.ChannelID, request{method: http.MethodGet, path: path})
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(a.body, &page); err != nil {
		return nil, unreadable(deed, l.AccountID, err)
	}
	slices.SortFunc(page, func(x, y messageShape) int { return cmp.Compare(snowflake(x.ID), snowflake(y.ID)) })
	return page, nil
}

// surely verifies an empty result of after: Discord silently hides messages the bot may not read. The channel's last
// message id, which is always visible, tells the difference.
func (b *Bots) surely(ctx context.Context, deed string, l *channel.Lookup, id uint64) ([]messageShape, error) {
	c, err := b.channel(ctx, deed, l.AccountID, l.ChannelID)
	if err != nil || snowflake(c.LastMessageID) <= id {
		return nil, err
	}
	page, err := b.after(ctx, deed, l, id) // it may have arrived meanwhile
	if err == nil && len(page) == 0 {
		err = channel.Local(deed, l.AccountID, l.ChannelID, http.StatusForbidden, errHidden, historyHint)
	}
	return page, err
}

// FindThread searches for a thread that the bot has started under a name, archived or not. Not found means that it
// does not exist. If that cannot be determined it returns an error: a *channel.Error, or that of Other.
func (b *Bots) FindThread(ctx context.Context, l channel.Lookup) (t channel.Thread, found bool, err error) {
	const deed = "search for a thread"
	user, err := b.userOf(deed, &l)
	if err != nil {
		return t, false, err
	}
	c, err := b.channel(ctx, deed, l.AccountID, l.ChannelID)
	if err != nil {
		return t, false, err
	}
	page, err := b.threads(ctx, deed, &l, "/guilds/"+c.GuildID+"/threads/active")
	if err != nil {
		return t, false, err
	}
	if t, found, err = b.among(&l, user, page.Threads); found || err != nil || b.o.Now().UnixMilli()-l.Since < archivedAfter.Milliseconds() {
		return t, found, err
	}
	archived := fmt.Sprintf("/channels/%s/threads/archived/public?limit=%d", l.ChannelID, missedPage)
	for path, pages := archived, 0; pages < maxFoundPages; pages++ {
		if page, err = b.threads(ctx, deed, &l, path); err != nil {
			return t, false, err
		}
		t, found, err = b.among(&l, user, page.Threads)
		last := page.lastArchived()
		if found || err != nil || !page.More || last.UnixMilli() < l.Since-clockSkew {
			return t, found, err
		}
		path = archived + "&before=" + url.QueryEscape(last.UTC().Format(time.RFC3339Nano))
	}
	return t, false, channel.Local(deed, l.AccountID, l.ChannelID, http.StatusBadRequest, errDeep, deepHint)
}

func (b *Bots) threads(ctx context.Context, deed string, l *channel.Lookup, path string) (page threadsShape, err error) {
	a, err := b.atOnce(ctx, deed, l.AccountID, l.ChannelID, request{method: http.MethodGet, path: path})
	if err != nil {
		return page, err
	}
	if err := json.Unmarshal(a.body, &page); err != nil {
		return page, unreadable(deed, l.AccountID, err)
	}
	return page, nil
}

// userOf returns the id by which the bot's own messages and threads are known, or why that is not possible.
func (b *Bots) userOf(deed string, l *channel.Lookup) (user string, err error) {
	own, known := b.Registry().Account(l.AccountID)
	switch {
	case !known:
		return "", channel.NoBot(coordination.Discord, deed, l.AccountID, l.ChannelID)
	case own.UserID == "":
		return "", channel.NotReady(deed, l.AccountID, l.ChannelID)
	}
	return own.UserID, nil
}

// among returns the thread searched for, if it is one of these that user has started.
func (b *Bots) among(l *channel.Lookup, user string, threads []channelShape) (t channel.Thread, found bool, err error) {
	from := firstAt(l.Since - clockSkew)
	for i := range threads {
		c := &threads[i]
		if c.ParentID != l.ChannelID || c.OwnerID != user || c.Name != strings.TrimSpace(l.Name) || snowflake(c.ID) < from {
			continue
		}
		switch other, err := l.Excludes(c.ID); {
		case err != nil:
			return t, false, err
		case !other:
			return c.thread(), true, nil
		}
	}
	return t, false, nil
}
