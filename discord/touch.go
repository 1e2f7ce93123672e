package discord

import (
	"context"
	"net/http"
	"net/url"
)

// Reaction puts an emoji under a message: one of Unicode, or "name:id". Twice is once. The error is an *Error.
func (b *Bots) Reaction(ctx context.Context, account, channel, message, emoji string) error {
	const deed = "add a reaction"
	if err := badID(deed, account, message); err != nil {
		return err
	}
	path := "/channels/" + channel + "/messages/" + message + "/reactions/" + url.PathEscape(emoji) + "/@me"
	_, err := b.atOnce(ctx, deed, account, channel, request{method: http.MethodPut, path: path})
	return err
}

// Typing shows for some seconds that the bot types. The error is an *Error.
func (b *Bots) Typing(ctx context.Context, account, channel string) error {
	_, err := b.atOnce(ctx, "show typing", account, channel, request{method: http.MethodPost, path: "/channels/" + channel + "/typing"})
	return err
}
