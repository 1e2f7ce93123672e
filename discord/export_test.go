package discord

import (
	"context"
	"net/http"

	"github.com/pronto-lab/openclawd/channel"
)

// Waiting is how many posts wait for their turn in a channel.
func Waiting(b *Bots, channel string) int {
	return b.lanes.Waiting(messageLane(channel))
}

// ThreadEdit changes a thread; nil fields stay unchanged.
type ThreadEdit struct {
	Name     *string `json:"name,omitempty"`
	Archived *bool   `json:"archived,omitempty"`
	Locked   *bool   `json:"locked,omitempty"`
}

// EditThread changes a thread. The error is a *channel.Error.
func (b *Bots) EditThread(ctx context.Context, account, thread string, e ThreadEdit) (channel.Thread, error) {
	const deed = "edit a thread"
	a, err := b.atOnce(ctx, deed, account, thread, request{method: http.MethodPatch, path: "/channels/" + thread, body: e})
	if err != nil {
		return channel.Thread{}, err
	}
	return b.threadIn(deed, account, a)
}
