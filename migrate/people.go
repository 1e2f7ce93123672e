package migrate

import (
	"context"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/migrate/openclaw"
)

// people takes over who was paired. A person who was revoked here since stays revoked.
func (t *taker) people(ctx context.Context) error {
	return t.source.People(ctx, func(p *openclaw.Person) error {
		count := t.report.count(People)
		count.Found++
		channel, known := coordination.ChannelNamed(p.Channel)
		id := bareID(p.Entry, p.Channel)
		switch {
		case !known || p.Channel == "":
			count.Left++
			t.leave(p.Place, ReasonUnsupported, "there is no channel "+p.Channel+" here", "")
			return nil
		case p.Account != "":
			count.Left++
			t.leave(p.Place, ReasonUnsupported, "the person may write to the account "+p.Account+" only: here a person may write to all of a channel",
				"list the person in allowFrom of that account")
			return nil
		case !channel.IsUserID(id):
			count.Left++
			t.leave(p.Place, ReasonInvalidEntry, "it is not the id of a user in "+channel.Title, "")
			return nil
		}
		data := coordination.Pairing{Context: coordination.Context{EventRole: coordination.RoleObservability}, Channel: channel.Name, UserID: id, By: client}
		e, err := eventstore.NewEvent{ID: idOf(0, "person", channel.Name, id), Type: coordination.TypePairingApproved, Actor: eventstore.ActorHuman}.With(data, t.o.Now().UnixMilli())
		if err != nil {
			return err
		}
		return t.writer.add(ctx, coordination.PairingStream(channel.Name, id), e, origin{count, p.Place})
	})
}

// bareID removes what OpenClaw accepts before and around a user's id.
func bareID(entry, channel string) string {
	id := strings.TrimSpace(entry)
	for _, prefix := range []string{channel + ":", "user:", "tg:"} {
		if len(id) > len(prefix) && strings.EqualFold(id[:len(prefix)], prefix) {
			id = id[len(prefix):]
		}
	}
	return strings.TrimSuffix(strings.TrimLeft(id, "<@!"), ">")
}
