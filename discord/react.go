package discord

import (
	"context"
	"net/http"
	"net/url"

	"github.com/pronto-lab/openclawd/channel"
)

// React implements channel.Poster. The emoji is a Unicode emoji, or "name:id".
func (b *Bots) React(ctx context.Context, account, place, message, emoji string, on bool) error {
	const deed = "react to a message"
	if err := invalidID(deed, account, message); err != nil {
		return err
	}
	method := http.MethodPut
	if !on {
		method = http.MethodDelete
	}
	path := "/channels/" + place + "/messages/" + message + "/reactions/" + url.PathEscape(emoji) + "/@me"
	_, err := b.queued(ctx, deed, account, place, "reactions "+place, b.paces.Load().messages, request{method: method, path: path})
	return err
}

type reactionShape struct {
	UserID    string `json:"user_id"`
	ChannelID string `json:"channel_id"`
	MessageID string `json:"message_id"`
	GuildID   string `json:"guild_id"`
	AuthorID  string `json:"message_author_id"` // of the message; absent when a reaction is removed
	Emoji     struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"emoji"`
	Member *struct {
		User userShape `json:"user"`
	} `json:"member"`
}

// reacted delivers a reaction of another user, as far as it may be to a message of the bot.
func (b *bot) reacted(r *reactionShape, removed bool) {
	own := b.current().UserID
	if r.UserID == own || r.AuthorID != "" && r.AuthorID != own || snowflake(r.MessageID) == 0 {
		return
	}
	emoji := r.Emoji.Name
	if r.Emoji.ID != "" {
		emoji += ":" + r.Emoji.ID
	}
	f := channel.Message{ID: r.MessageID, ChannelID: r.ChannelID, GuildID: r.GuildID, Author: channel.Author{User: channel.User{ID: r.UserID, Name: b.bots.UserName(r.UserID)}}}
	if r.Member != nil {
		f.Author.User = channel.User{ID: r.UserID, Name: r.Member.User.name(), Bot: r.Member.User.Bot}
	}
	b.deliver(channel.Inbound{Kind: channel.Reacted, Message: f, Reaction: channel.Reaction{Emoji: emoji, Removed: removed}})
}
