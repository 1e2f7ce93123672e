package telegram

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
)

// Converse implements channel.Converser. A private chat has the ids of the two. Telegram lets no bot begin it: one that the person has never
// written to cannot post there.
func (b *Bots) Converse(_ context.Context, account, user string) (id string, err error) {
	const deed = "open a conversation"
	own := b.bot(account)
	if own == nil || own.user.Load() == 0 {
		return "", channel.NoBot(coordination.Telegram, deed, account, "")
	}
	person, err := strconv.ParseInt(user, 10, 64)
	if err != nil || person <= 0 {
		return "", channel.Local(deed, account, "", http.StatusBadRequest, errors.New("this is no user of Telegram"), "name a user by the number, like 7000001009")
	}
	return placeID(place{chat: person, bot: own.user.Load()}), nil
}
