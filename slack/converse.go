package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
)

// Converse implements channel.Converser. It needs the scope im:write. Slack returns the conversation that there is.
func (b *Apps) Converse(ctx context.Context, account, user string) (id string, err error) {
	const deed = "open a conversation"
	own := b.app(account)
	if own == nil {
		return "", channel.NoBot(b.Name(), deed, account, "")
	}
	if limits, _ := coordination.ChannelNamed(coordination.Slack); !limits.IsUserID(user) {
		return "", channel.Local(deed, account, "", http.StatusBadRequest, errors.New("this is no member of Slack"), "name a member like U0123456789")
	}
	a, err := own.queued(ctx, deed, "", "conversations", "conversations.open", url.Values{"users": {user}})
	if err != nil {
		return "", err
	}
	var opened struct {
		Channel struct {
			ID string `json:"id"`
		} `json:"channel"`
	}
	err = json.Unmarshal(a.body, &opened)
	if err == nil && opened.Channel.ID == "" {
		err = errNoPlace
	}
	if err != nil {
		return "", unreadable(deed, account, "", err)
	}
	return place{chat: opened.Channel.ID}.id(), nil
}
