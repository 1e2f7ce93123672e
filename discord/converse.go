package discord

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
)

const conversationLane = "conversations"

// Converse implements channel.Converser. Discord returns the conversation that there is.
func (b *Bots) Converse(ctx context.Context, account, user string) (place string, err error) {
	const deed = "open a conversation"
	if err := invalidID(deed, account, user); err != nil {
		return "", err
	}
	own := b.bot(account)
	if own == nil {
		return "", channel.NoBot(coordination.Discord, deed, account, "")
	}
	leave, err := b.lanes.Enter(ctx, conversationLane, own.account, b.paces.Load().messages)
	if err != nil {
		return "", channel.Queued(coordination.Discord, deed, account, "", err)
	}
	defer leave()
	a, refused := own.ask(ctx, deed, "", request{method: http.MethodPost, path: "/users/@me/channels", body: map[string]string{"recipient_id": user}})
	b.applyRateLimit(conversationLane, own.account, a)
	if refused != nil {
		return "", refused
	}
	var c channelShape
	if err := json.Unmarshal(a.body, &c); err != nil || c.ID == "" {
		return "", unreadable(deed, account, err)
	}
	b.directory.addChannel(&c)
	return c.ID, nil
}
