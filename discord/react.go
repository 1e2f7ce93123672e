package discord

import (
	"context"
	"net/http"
	"net/url"
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
