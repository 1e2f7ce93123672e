package projections_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// reactionHistory has a reaction to a post, and that it was taken back.
func reactionHistory(t *testing.T) (appends []eventstore.StreamAppend) {
	t.Helper()
	const place, id = "telegram:-100123", "telegram:-100123:7"
	for i, removed := range []bool{false, true} {
		n := i + 1
		event := eventstore.NewEvent{ID: eventstore.DerivedID(goldenTime.UnixMilli(), [32]byte{7: byte(n), 8: 12}), Type: coordination.TypeDiscordReaction, AgentID: "eden",
			Actor: eventstore.ActorSystem}
		added, err := eventstore.One(coordination.ReactionStream(id), event, coordination.DiscordReaction{Context: coordination.Context{EventRole: coordination.RoleObservability},
			Channel: "telegram", MessageID: id, ChannelID: place, UserID: "42", UserName: "병욱", Emoji: "👍", Removed: removed, RunID: place + ":5:eden"},
			goldenTime.UnixMilli()-3_600_000+int64(n)*1_000)
		if err != nil {
			t.Fatal(err)
		}
		appends = append(appends, added...)
	}
	return appends
}
