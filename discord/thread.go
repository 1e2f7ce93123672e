package discord

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Opening is a public thread that a bot is to start.
type Opening struct {
	AccountID string
	ChannelID string
	Name      string // 1 to 100 characters

	// Starter is the first message, where the channel is a forum; nil elsewhere. Its account and channel do not count.
	Starter *Post
	// MessageID is the message that it hangs at; "" is none.
	MessageID string
}

// Thread is a thread that stands in Discord.
type Thread struct {
	ID        string
	Name      string
	ChannelID string // that it hangs below
	GuildID   string
	OwnerID   string // user id of who has started it
	MessageID string // of its first message, where the channel is a forum
}

func (c *channelShape) thread() Thread {
	t := Thread{ID: c.ID, Name: c.Name, ChannelID: c.ParentID, GuildID: c.GuildID, OwnerID: c.OwnerID}
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

// StartThread starts a thread after those that were asked for before, of all bots. Asked twice, it starts two: see FindThread. The error is an
// *Error.
func (b *Bots) StartThread(ctx context.Context, o Opening) (Thread, error) {
	const deed = "start a thread"
	form := threadForm{Name: o.Name}
	path := "/channels/" + o.ChannelID + "/threads"
	switch {
	case o.Starter != nil:
		first, err := o.Starter.form(deed)
		if err != nil {
			return Thread{}, err
		}
		first.Nonce, first.EnforceNonce = "", false // Discord has none here
		form.Message = &first
	case o.MessageID != "":
		if err := badID(deed, o.AccountID, o.MessageID); err != nil {
			return Thread{}, err
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
		return Thread{}, err
	}
	return b.threadIn(deed, o.AccountID, a)
}

// threadIn reads a thread that was answered, and takes it up.
func (b *Bots) threadIn(deed, account string, a answer) (Thread, error) {
	var c channelShape
	if err := json.Unmarshal(a.body, &c); err != nil || c.ID == "" {
		return Thread{}, unreadable(deed, account, err)
	}
	b.directory.addChannel(&c)
	return c.thread(), nil
}

// ThreadEdit is what is to be changed of a thread; nil leaves it as it is.
type ThreadEdit struct {
	Name     *string `json:"name,omitempty"`
	Archived *bool   `json:"archived,omitempty"`
	Locked   *bool   `json:"locked,omitempty"`
}

// EditThread changes a thread. The error is an *Error.
func (b *Bots) EditThread(ctx context.Context, account, thread string, e ThreadEdit) (Thread, error) {
	const deed = "edit a thread"
	a, err := b.atOnce(ctx, deed, account, thread, request{method: http.MethodPatch, path: "/channels/" + thread, body: e})
	if err != nil {
		return Thread{}, err
	}
	return b.threadIn(deed, account, a)
}

// Place asks Discord for a channel or thread; ok is false if there is none that the bot may see. The error is an *Error.
func (b *Bots) Place(ctx context.Context, account, id string) (p collaborate.Place, ok bool, err error) {
	c, err := b.channel(ctx, "ask for a channel", account, id)
	var refused *Error
	if errors.As(err, &refused) && (refused.Class == collaborate.ClassNotFound || refused.Class == collaborate.ClassForbidden) {
		return p, false, nil
	}
	return c.place(), err == nil, err
}

// channel asks Discord for a channel or thread, and takes it up. The error is an *Error.
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

// Known is a channel or thread as the bots have been told of it, without asking.
func (b *Bots) Known(id string) (collaborate.Place, bool) { return b.directory.place(id) }
