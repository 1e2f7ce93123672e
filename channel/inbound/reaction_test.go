package inbound_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
)

// reacts has all bots tell of a person's reaction.
func (l *fixture) reacts(messageID, author, emoji string, removed bool) {
	in := l.message(author, general, "")
	in.Kind, in.Message.ID, in.Reaction = channel.Reacted, messageID, channel.Reaction{Emoji: emoji, Removed: removed}
	l.hears(in)
}

func (l *fixture) reactions(messageID string) (all []string) {
	l.t.Helper()
	for _, e := range l.events(coordination.ReactionStream(messageID)) {
		d := read[coordination.DiscordReaction](l.t, &e)
		all = append(all, fmt.Sprintf("%s %s %v by %s", e.AgentID, d.Emoji, d.Removed, d.UserName))
	}
	return all
}

// A person's reaction to a post is noted once for all bots, also over a restart, and so is that it is taken back. It neither runs an
// agent nor decides about the post.
func TestReactionsAreNoted(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	post := l.message("eden", general, "했어요")
	id := post.Message.ID
	l.reacts(id, "bora", "👍", false)
	l.append(coordination.WorkStream("reply/r-1"), coordination.TypeDiscordSent, "eden", coordination.DiscordOutbound{Context: observing(), EffectID: "reply/r-1",
		ChannelID: general, MessageID: id, AccountID: "acc-eden", Purpose: "reply", RunID: "r-1"})
	l.reacts(id, "bora", "👍", true)
	for range 2 {
		l.after(time.Second).reacts(id, "bora", "👍", false)
		l = l.reopened()
	}
	l.reacts(id, "bora", "👍", true)
	for _, who := range []string{"ruda", "foreign"} {
		l.reacts(id, who, "👍", false)
	}
	l.reacts(l.says("bora", general, "@eden 봐줘"), "bora", "👍", false)
	if got, want := fmt.Sprint(l.reactions(id)), "[eden 👍 false by bora eden 👍 true by bora]"; got != want {
		t.Errorf("noted is %s, want %s", got, want)
	}
	l.want(l.hears(post), "observer:sibling_message")
	for i := range 100 {
		l.reacts(id, "bora", fmt.Sprint("e", i), false)
	}
	if n := len(l.reactions(id)); n != 50 {
		t.Errorf("%d reactions of one post are noted, want 50", n)
	}
}
