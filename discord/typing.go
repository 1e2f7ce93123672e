package discord

import (
	"context"
	"net/http"
)

// Typing shows for some seconds that the bot is typing. The error is a *channel.Error.
func (b *Bots) Typing(ctx context.Context, account, channel string) error {
	_, err := b.atOnce(ctx, "show typing", account, channel, request{method: http.MethodPost, path: "/channels/" + channel + "/typing"})
	return err
}
