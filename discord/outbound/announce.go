package outbound

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Announcements makes deliveries of what flows between agents announce: it is the Channels of tools/a2a, by shape.
type Announcements struct {
	Log      Log
	Accounts func() *discord.Registry
	Config   func() *config.Config
	Now      func() time.Time

	// Sees reports whether the bot of an account sees a channel of a server, or a thread in it. A conversation is seen by its own bot alone.
	Sees func(account, channel, thread string) bool
}

// Reaches reports whether something can be posted in a channel.
func (a *Announcements) Reaches(channel string) bool {
	return channel == Channel && len(a.Accounts().Bots()) > 0
}

// Account is the account by which an agent's post stands in a place: its own where that sees the place, else another one that does.
func (a *Announcements) Account(agent, to, accountID, threadID string) string {
	own, has := a.Accounts().Bot(agent)
	if has && a.Sees(own.AccountID, placeOf(to), threadID) {
		return own.AccountID
	}
	return accountID
}

// Post has a text posted, in pieces if it is long, once for each key. It returns when that is on disk: what becomes of it is told by the events of
// the delivery. Silence, as agents have words for it, is not posted. The error is a *delivery.Refusal, or the log's.
func (a *Announcements) Post(ctx context.Context, key, agent, to, accountID, threadID, text string) error {
	if silent(text) {
		return nil
	}
	d := delivery.Delivery{Purpose: delivery.Announce, AgentID: agent, AccountID: accountID, ThreadID: threadID}
	r := Replies{Accounts: a.Accounts, Config: a.Config}
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
