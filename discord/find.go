package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Lookup is what is looked for after nobody knows whether it was done.
type Lookup struct {
	AccountID string
	ChannelID string
	Nonce     string // of a message
	Content   string // of a message, which counts where Discord does not tell its nonce any more
	Name      string // of a thread
	Since     int64  // ms since 1970: when it was asked for first
}

// clockSkew is by how much the clocks of Discord and of this machine may differ, ms.
const clockSkew = 60 * 1000

// FindMessage looks whether the bot has posted a message: among the hundred that came after it was asked for. The error is an *Error.
func (b *Bots) FindMessage(ctx context.Context, l Lookup) (p Posted, found bool, err error) {
	const deed = "look for a message"
	own := b.bot(l.AccountID)
	if own == nil {
		return p, false, noBot(deed, l.AccountID, l.ChannelID)
	}
	if err := badID(deed, l.AccountID, l.ChannelID); err != nil {
		return p, false, err
	}
	path := fmt.Sprintf("/channels/%s/messages?limit=%d&after=%d", l.ChannelID, missedPage, firstAt(l.Since-clockSkew))
	a, refused := own.ask(ctx, deed, l.ChannelID, request{method: http.MethodGet, path: path})
	if refused != nil {
		return p, false, refused
	}
	var all []messageShape
	if err := json.Unmarshal(a.body, &all); err != nil {
		return p, false, unreadable(deed, l.AccountID, err)
	}
	user := own.current().UserID
	for i := range all {
		m := &all[i]
		if m.Author == nil || m.Author.ID != user || m.WebhookID != "" {
			continue
		}
		nonce := m.nonce()
		if nonce != "" && nonce == l.Nonce || nonce == "" && strings.TrimSpace(m.Content) == strings.TrimSpace(l.Content) {
			return Posted{ID: m.ID, ChannelID: l.ChannelID, At: madeAt(snowflake(m.ID))}, true, nil
		}
	}
	return p, false, nil
}

// FindThread looks whether the bot has started a thread of a name, and it is open. The error is an *Error.
func (b *Bots) FindThread(ctx context.Context, l Lookup) (t Thread, found bool, err error) {
	const deed = "look for a thread"
	own := b.bot(l.AccountID)
	if own == nil {
		return t, false, noBot(deed, l.AccountID, l.ChannelID)
	}
	place, known, err := b.Place(ctx, l.AccountID, l.ChannelID)
	if err != nil || !known {
		return t, false, err
	}
	a, refused := own.ask(ctx, deed, l.ChannelID, request{method: http.MethodGet, path: "/guilds/" + place.GuildID + "/threads/active"})
	if refused != nil {
		return t, false, refused
	}
	var all threadsShape
	if err := json.Unmarshal(a.body, &all); err != nil {
		return t, false, unreadable(deed, l.AccountID, err)
	}
	user, from := own.current().UserID, firstAt(l.Since-clockSkew)
	for i := range all.Threads {
		c := &all.Threads[i]
		if c.ParentID == l.ChannelID && c.OwnerID == user && c.Name == strings.TrimSpace(l.Name) && snowflake(c.ID) >= from {
			return c.thread(), true, nil
		}
	}
	return t, false, nil
}
