package discord

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

func (c *channelShape) thread() channel.Thread {
	t := channel.Thread{ID: c.ID, Name: c.Name, ChannelID: c.ParentID, GuildID: c.GuildID, OwnerID: c.OwnerID}
	if c.Message != nil {
		t.MessageID = c.Message.ID
	}
	return t
}

type threadForm struct {
	Name    string       `json:"name"`
	Type    int          `json:"type,omitempty"`
	Message *messageForm `json:"message,omitempty"`
}

const threadLane = "threads"

// StartThread starts a thread, after earlier requests of all bots. Repeating it starts a second one: see FindThread.
// The error is a *channel.Error.
func (b *Bots) StartThread(ctx context.Context, o channel.Opening) (channel.Thread, error) {
	const deed = "start a thread"
	form := threadForm{Name: o.Name}
	path := "/channels/" + o.ChannelID + "/threads"
	switch {
	case o.Starter != nil:
		first, err := formOfPost(deed, o.Starter)
		if err != nil {
			return channel.Thread{}, err
		}
		first.Nonce, first.EnforceNonce = "", false // Discord has none here
		form.Message = &first
	case o.MessageID != "":
		if err := invalidID(deed, o.AccountID, o.MessageID); err != nil {
			return channel.Thread{}, err
		}
		path = "/channels/" + o.ChannelID + "/messages/" + o.MessageID + "/threads"
	default:
		form.Type = typePublicThread
		if b.directory.typeOf(o.ChannelID) == typeAnnouncements {
			form.Type = typeNewsThread
		}
	}
	a, err := b.queued(ctx, deed, o.AccountID, o.ChannelID, threadLane, b.paces.Load().threads, request{method: http.MethodPost, path: path, body: form})
	if err != nil {
		return channel.Thread{}, err
	}
	return b.threadIn(deed, o.AccountID, a)
}

// threadIn parses a thread from an answer and records it.
func (b *Bots) threadIn(deed, account string, a answer) (channel.Thread, error) {
	var c channelShape
	if err := json.Unmarshal(a.body, &c); err != nil || c.ID == "" {
		return channel.Thread{}, unreadable(deed, account, err)
	}
	b.directory.addChannel(&c)
	return c.thread(), nil
}

// Place requests a channel or thread; ok is false if there is none that the bot may see. The error is a *channel.Error.
func (b *Bots) Place(ctx context.Context, account, id string) (p collaborate.Place, ok bool, err error) {
	c, err := b.channel(ctx, "request a channel", account, id)
	var refused *channel.Error
	if errors.As(err, &refused) && (refused.Class == collaborate.ClassNotFound || refused.Class == collaborate.ClassForbidden) {
		return p, false, nil
	}
	return c.place(), err == nil, err
}

// channel requests a channel or thread and records it. The error is a *channel.Error.
func (b *Bots) channel(ctx context.Context, deed, account, id string) (c channelShape, err error) {
	a, err := b.atOnce(ctx, deed, account, id, request{method: http.MethodGet, path: "/channels/" + id})
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(a.body, &c); err != nil || c.ID == "" {
		return c, unreadable(deed, account, err)
	}
	b.directory.addChannel(&c)
	return c, nil
}

// Known returns a channel or thread as received by the bots, without a request.
func (b *Bots) Known(id string) (collaborate.Place, bool) { return b.directory.place(id) }
