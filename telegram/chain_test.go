package telegram_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

// In a supergroup without topics a thread is a chain of replies, which a program that was started again knows from the log. What people
// reply to each other elsewhere is no thread.
func TestChainsOfRepliesAreThreads(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	group := m.AddGroup("plain", telegramtest.GroupOptions{}, m.bora, m.ruda.User, m.eden.User)
	m.start()
	m.write(group, "@eden_bot hello")
	m.fact("eden", "created <@"+id(m.eden.User)+"> hello")
	thread, err := m.StartThread(m.ctx, channel.Opening{AccountID: "ruda", ChannelID: placeID(group), Name: "plans"})
	if err != nil {
		t.Fatal(err)
	}
	m.send(channel.Post{AccountID: "ruda", ChannelID: thread.ID, Content: "what do you think?"})
	first := m.fact("ruda", "created what do you think?").Message
	root := m.shows(group, "plans")
	asked := m.shows(group, "what do you think?")
	if asked.ReplyTo == nil || asked.ReplyTo.MessageID != root.MessageID {
		t.Errorf("%+v, want a reply to %+v", asked, root)
	}
	equal(t, "the place of the bot's message", first.ChannelID, thread.ID)
	equal(t, "its parent", first.ParentID, placeID(group))
	m.reply(asked, "I agree")
	equal(t, "the place of a reply", m.fact("eden", "created I agree").Message.ChannelID, thread.ID)
	m.reply(m.write(group, "lunch?"), "yes")
	equal(t, "the place of a reply to something else", m.fact("eden", "created yes").Message.ChannelID, placeID(group))

	m.halt()
	m.build(func(o *channel.Options) { o.Marks = []channel.Mark{{ChannelID: thread.ID}} })
	m.start()
	m.reply(asked, "I still agree")
	equal(t, "the place of a reply after a restart", m.fact("eden", "created I still agree").Message.ChannelID, thread.ID)
	m.send(channel.Post{AccountID: "ruda", ChannelID: thread.ID, Content: "thank you"})
	if said := m.shows(group, "thank you"); said.ThreadID != root.MessageID {
		t.Errorf("%+v, want it in the chain of %d", said, root.MessageID)
	}

	m.halt()
	m.build(func(o *channel.Options) { o.IsThread = func(id string) bool { return id == thread.ID } })
	m.start()
	m.reply(m.shows(group, "thank you"), "once more")
	equal(t, "the place of a reply in a chain that is too old for the marks", m.fact("eden", "created once more").Message.ChannelID, thread.ID)
	m.reply(m.write(group, "dinner?"), "no")
	equal(t, "the place of a reply to something else then", m.fact("eden", "created no").Message.ChannelID, placeID(group))
	for place, want := range map[string]bool{thread.ID: true, placeID(group) + ":topic:9999": false} {
		p, is, err := m.Place(m.ctx, "ruda", place)
		if err != nil || is != want || is && p.Kind != collaborate.Thread {
			t.Errorf("%s is %+v (%t), %v; want %t", place, p, is, err, want)
		}
	}
}

func (m *team) reply(to telegramtest.Message, text string) {
	m.t.Helper()
	if _, err := m.bora.Reply(to, text); err != nil {
		m.t.Fatal(err)
	}
}
