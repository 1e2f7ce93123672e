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
)

// Lookup is what is looked for after nobody knows whether it was done.
type Lookup struct {
	AccountID string
	ChannelID string
	Nonce     string // of a message
	Content   string // of a message, which counts where Discord does not tell its nonce any more
	Name      string // of a thread
	Since     int64  // ms since 1970: when it was asked for first

	// Other says of what looks like it whether it is known to be something else; nil: of nothing it is.
	Other func(id string) (bool, error)
}

func (l *Lookup) isOther(id string) (bool, error) {
	if l.Other == nil {
		return false, nil
	}
	return l.Other(id)
}

const (
	clockSkew     = 60 * 1000        // ms by which the clocks of Discord and of this machine may differ
	maxFoundPages = maxMissedPages   // of messages, or of archived threads, that are looked through
	archivedAfter = 60 * time.Minute // at the earliest, of silence
)

// What is said where something is looked for, and cannot be seen.
var (
	errHidden = errors.New("there are messages that the bot is not shown")
	errDeep   = errors.New("too much has come after it")
)

const (
	historyMend = "give the bot's role the permission Read Message History in the channel"
	deepMend    = "look in Discord whether it is there"
)

// FindMessage looks whether the bot has posted a message: among the thousand that came after it was asked for. What seems to have come a little before,
// for clocks differ, is it only if nothing else is. That it is not found says that it is not there. Where that cannot be known, because the bot may not look or there are more, it is an error: an *Error, or that of Other.
func (b *Bots) FindMessage(ctx context.Context, l Lookup) (p Posted, found bool, err error) {
	const deed = "look for a message"
	own, _ := b.Registry().Account(l.AccountID)
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
			if m.Author == nil || m.Author.ID != own.UserID || m.WebhookID != "" || !l.means(m) {
				continue
			}
			switch other, err := l.isOther(m.ID); {
			case err != nil:
				return p, false, err
			case !other:
				p, found = Posted{ID: m.ID, ChannelID: l.ChannelID, At: madeAt(snowflake(m.ID))}, true
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
	return p, false, local(deed, l.AccountID, l.ChannelID, http.StatusBadRequest, errDeep, deepMend)
}

// means says whether a message of the bot may be the one that is looked for.
func (l *Lookup) means(m *messageShape) bool {
	nonce := m.nonce()
	return nonce != "" && nonce == l.Nonce || nonce == "" && strings.TrimSpace(m.Content) == strings.TrimSpace(l.Content)
}

// after are the first hundred messages after an id, oldest first.
func (b *Bots) after(ctx context.Context, deed string, l *Lookup, id uint64) (page []messageShape, err error) {
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

// surely is after, where that was nothing: Discord shows nothing, and says no word, where a bot may not read what was written. The channel's last
// message, which it tells all the same, shows which of the two it is.
func (b *Bots) surely(ctx context.Context, deed string, l *Lookup, id uint64) ([]messageShape, error) {
	c, err := b.channel(ctx, deed, l.AccountID, l.ChannelID)
	if err != nil || snowflake(c.LastMessageID) <= id {
		return nil, err
	}
	page, err := b.after(ctx, deed, l, id) // it may have come meanwhile
	if err == nil && len(page) == 0 {
		err = local(deed, l.AccountID, l.ChannelID, http.StatusForbidden, errHidden, historyMend)
	}
	return page, err
}

// FindThread looks whether the bot has started a thread of a name, archived or not. That it is not found says that it is not there. Where that cannot
// be known it is an error: an *Error, or that of Other.
func (b *Bots) FindThread(ctx context.Context, l Lookup) (t Thread, found bool, err error) {
	const deed = "look for a thread"
	c, err := b.channel(ctx, deed, l.AccountID, l.ChannelID)
	if err != nil {
		return t, false, err
	}
	page, err := b.threads(ctx, deed, &l, "/guilds/"+c.GuildID+"/threads/active")
	if err != nil {
		return t, false, err
	}
	if t, found, err = b.among(&l, page.Threads); found || err != nil || b.o.Now().UnixMilli()-l.Since < archivedAfter.Milliseconds() {
		return t, found, err
	}
	archived := fmt.Sprintf("/channels/%s/threads/archived/public?limit=%d", l.ChannelID, missedPage)
	for path, pages := archived, 0; pages < maxFoundPages; pages++ {
		if page, err = b.threads(ctx, deed, &l, path); err != nil {
			return t, false, err
		}
		t, found, err = b.among(&l, page.Threads)
		last := page.lastArchived()
		if found || err != nil || !page.More || last.UnixMilli() < l.Since-clockSkew {
			return t, found, err
		}
		path = archived + "&before=" + url.QueryEscape(last.UTC().Format(time.RFC3339Nano))
	}
	return t, false, local(deed, l.AccountID, l.ChannelID, http.StatusBadRequest, errDeep, deepMend)
}

func (b *Bots) threads(ctx context.Context, deed string, l *Lookup, path string) (page threadsShape, err error) {
	a, err := b.atOnce(ctx, deed, l.AccountID, l.ChannelID, request{method: http.MethodGet, path: path})
	if err != nil {
		return page, err
	}
	if err := json.Unmarshal(a.body, &page); err != nil {
		return page, unreadable(deed, l.AccountID, err)
	}
	return page, nil
}

// among is the thread that is looked for, if it is one of these.
func (b *Bots) among(l *Lookup, threads []channelShape) (t Thread, found bool, err error) {
	own, _ := b.Registry().Account(l.AccountID)
	from := firstAt(l.Since - clockSkew)
	for i := range threads {
		c := &threads[i]
		if c.ParentID != l.ChannelID || c.OwnerID != own.UserID || c.Name != strings.TrimSpace(l.Name) || snowflake(c.ID) < from {
			continue
		}
		switch other, err := l.isOther(c.ID); {
		case err != nil:
			return t, false, err
		case !other:
			return c.thread(), true, nil
		}
	}
	return t, false, nil
}
