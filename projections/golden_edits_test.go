package projections_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// editHistory has a message that was edited, and one that was deleted.
func editHistory(t *testing.T) (appends []eventstore.StreamAppend) {
	t.Helper()
	const place = "telegram:-100123"
	ours := coordination.Context{EventRole: coordination.RoleObservability}
	for i, one := range []struct {
		typ, id string
		data    any
	}{
		{coordination.TypeDiscordInboundHandled, "5", coordination.DiscordInbound{Context: ours, Channel: "telegram", MessageID: place + ":5", ChannelID: place,
			GuildID: place, AuthorID: "42", AuthorName: "병욱", Decision: "handler", Reason: "mentioned", Text: "하나"}},
		{coordination.TypeDiscordInboundObserved, "6", coordination.DiscordInbound{Context: ours, Channel: "telegram", MessageID: place + ":6", ChannelID: place,
			GuildID: place, AuthorID: "42", AuthorName: "병욱", Decision: "observer", Reason: "other_mentioned", Summary: "둘"}},
		{coordination.TypeDiscordInboundEdited, "5", coordination.DiscordChange{Context: ours, Channel: "telegram", MessageID: place + ":5", ChannelID: place,
			GuildID: place, AuthorID: "42", Text: "셋", Summary: "셋"}},
		{coordination.TypeDiscordInboundDeleted, "6", coordination.DiscordChange{Context: ours, Channel: "telegram", MessageID: place + ":6", ChannelID: place, GuildID: place}},
	} {
		n := i + 1
		event := eventstore.NewEvent{ID: eventstore.DerivedID(goldenTime.UnixMilli(), [32]byte{7: byte(n), 8: 11}), Type: one.typ, AgentID: "eden", Actor: eventstore.ActorSystem}
		added, err := eventstore.One(coordination.MessageStream(place+":"+one.id), event, one.data, goldenTime.UnixMilli()-3_600_000+int64(n)*1_000)
		if err != nil {
			t.Fatal(err)
		}
		appends = append(appends, added...)
	}
	return appends
}
