package outbound

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Announcements creates deliveries for announcements of flows between agents. It implements the Channels of
// services/messenger.
type Announcements struct {
	Channel  string // default: discord
	Log      Log
	Accounts func() *channel.Registry
	Config   func() *config.Config
	Now      func() time.Time

	// Sees reports whether an account's bot sees a channel of a server, or a thread in it. Only its own bot sees a
	// conversation.
	Sees func(account, channel, thread string) bool
}

// Reaches reports whether posting in a channel is possible.
func (a *Announcements) Reaches(channel string) bool {
	return channel == nameOr(a.Channel) && len(a.Accounts().Bots()) > 0
}

// Account returns the account that posts for an agent in a place: its own if that sees the place, else another one
// that does.
func (a *Announcements) Account(agent, to, accountID, threadID string) string {
	own, has := a.Accounts().Bot(agent)
	if has && a.Sees(own.AccountID, placeOf(to), threadID) {
		return own.AccountID
	}
	return accountID
}

// Post queues a text for posting, in pieces if it is long, once per key. It is on disk when Post returns; the
// delivery's events tell the outcome. Silent replies are not posted. The error is a *delivery.Refusal, or the log's.
func (a *Announcements) Post(ctx context.Context, key, agent, to, accountID, threadID, text string) error {
	if silent(text) {
		return nil
	}
	d := delivery.Delivery{Channel: unlessDiscord(a.Channel), Purpose: delivery.Announce, AgentID: agent, AccountID: accountID, ThreadID: threadID}
	r := Replies{Channel: a.Channel, Accounts: a.Accounts, Config: a.Config}
	appends, err := r.schedule(&d, "announce/"+key, to, coordination.Mask(text), a.Now())
	if err != nil {
		return fmt.Errorf("announce %s: %w", key, err)
	}
	_, err = a.Log.Decide(ctx, func(eventstore.Tx) ([]eventstore.StreamAppend, error) { return appends, nil })
	if asked := (*eventstore.ConflictError)(nil); errors.As(err, &asked) {
		return nil
	}
	return err
}
