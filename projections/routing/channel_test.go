package routing_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// A message of another channel with the number of one in Discord is another message, in a place of its own, and what
// bots said in one chat counts in no other.
func TestChannelsAreKeptApart(t *testing.T) {
	t.Parallel()
	const group, other = "telegram:-100123", "telegram:-100124"
	elsewhere := func(id, place string, ms int64, author, text string) route.Message {
		m := message(id, ms, author, channel, text)
		m.GuildID, m.ChannelID = place, place
		return m
	}
	l := setup(t)
	l.decide(t, message("51", 1, "human", channel, "<@1001> here"))
	l.decide(t, elsewhere(group+":51", group, 2, "human", "<@1002> there"))
	l.decide(t, elsewhere(other+":51", other, 3, "ruda", "<@1003> and there"))
	l.decide(t, elsewhere(group+":9", group, 4, "human", "<@1002> an older number, but a later message"))
	for range 2 {
		want(t, "messages", idsIn(t, l, channel), []string{"51"})
		want(t, "messages of the group", idsIn(t, l, group), []string{group + ":9", group + ":51"})
		want(t, "handlers", handlersOf(t, l, "51", group+":51", other+":51"), []string{"ruda", "eden", "seum"})
		want(t, "observed by ruda", l.observed(t, routing.ObservedQuery{Agent: "ruda", PlaceID: group}), []string{"ruda " + group + ":9", "ruda " + group + ":51"})
		for _, m := range projectiontest.Read(t, l, routing.Marks) {
			if m.PlaceID == group && m.LastMessageID != group+":9" {
				t.Errorf("the last message of the group is %s", m.LastMessageID)
			}
		}
		guard := decided(t, l, func(tx eventstore.Tx) (*route.Guard, error) { return routing.Guard(tx, group, "ruda") })
		if talk := guard.Places[group]; talk.Turns != 0 {
			t.Errorf("bots have talked %d times in the group, want none: that was elsewhere", talk.Turns)
		}
		l.rebuild(t)
	}
}

// idsIn are the messages of a place, newest first.
func idsIn(t *testing.T, l *log, place string) (ids []string) {
	t.Helper()
	for _, m := range projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]routing.Message, error) {
		return routing.Messages(ctx, tx, routing.MessageQuery{PlaceID: place})
	}) {
		ids = append(ids, m.ID)
	}
	return ids
}

// handlersOf are the agents that handle each of the messages.
func handlersOf(t *testing.T, l *log, ids ...string) (agents []string) {
	t.Helper()
	for _, id := range ids {
		d := decided(t, l, func(tx eventstore.Tx) (*route.Decision, error) { return routing.Earlier(tx, id) })
		if d == nil {
			t.Fatalf("nothing was decided about %s", id)
		}
		agents = append(agents, d.Handlers()...)
	}
	return agents
}

// A decision in the stream of another channel's message changes nothing.
func TestDecisionsInForeignStreamsAreIgnored(t *testing.T) {
	t.Parallel()
	l := setup(t)
	d := coordination.DiscordInbound{MessageID: "telegram:-1:5", ChannelID: "telegram:-1", Decision: "handler", Reason: "mentioned"}
	for _, stream := range []string{"discord/5", "discord/telegram:-1:5", "slack/-1:5", "work/5"} {
		l.append(t, event(1, stream, coordination.TypeDiscordInboundHandled, "eden", d))
	}
	want(t, "messages", l.messages(t, routing.MessageQuery{}), nil)
}
