package slack_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/slack/slacktest"
)

// write posts as an app, without the Apps under test.
func (m *team) write(a *slacktest.App, channelID, text string) {
	m.t.Helper()
	m.request(a, posting, map[string]string{"channel": channelID, "text": text})
}

// request calls a method as an app, without the Apps under test.
func (m *team) request(a *slacktest.App, method string, args map[string]string) {
	m.t.Helper()
	form := url.Values{}
	for name, value := range args {
		form.Set(name, value)
	}
	r, err := http.NewRequestWithContext(m.ctx, http.MethodPost, m.URL()+method, strings.NewReader(form.Encode()))
	if err != nil {
		m.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "Bearer "+a.Token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		m.t.Fatal(err)
	}
	_ = answer.Body.Close()
}

func TestFactsOfMessages(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	const team = "slack:t00000001"
	root := m.post(m.channel.ID, "hi "+m.ruda.Mention()+" <!here>")
	in := m.untilTold("ruda", "created hi "+m.ruda.Mention()+" @here")
	want := channel.Inbound{Kind: channel.Created, AccountID: "ruda", BotID: m.ruda.UserID, Message: channel.Message{
		ID: m.place + ":" + root.TS, ChannelID: m.place, GuildID: team, Content: "hi " + m.ruda.Mention() + " @here",
		Author:   channel.Author{User: channel.User{ID: m.bora.ID, Name: "bora"}},
		Mentions: []channel.User{{ID: m.ruda.UserID, Name: "RUDA", Bot: true}}, MentionEveryone: true, At: in.Message.At,
	}}
	if diff := cmp.Diff(want, in); diff != "" {
		t.Errorf("the fact (-want +got):\n%s", diff)
	}
	reply := must(t)(m.bora.Reply(m.channel.ID, root.TS, "reply"))
	in = m.untilTold("ruda", "created reply")
	if thread := m.place + ":thread:" + root.TS; in.Message.ChannelID != thread || in.Message.ParentID != m.place || in.Message.ID != m.place+":"+reply.TS || in.Message.GuildID != team {
		t.Errorf("the reply is %+v, want it in %s", in.Message, thread)
	}
	must(t)(m.bora.Broadcast(m.channel.ID, root.TS, "to all"))
	if in = m.untilTold("ruda", "created to all"); in.Message.ParentID != m.place {
		t.Errorf("the broadcast is %+v, want it in the thread", in.Message)
	}
	must(t)(m.bora.Upload(m.channel.ID, "a.txt", "a file", []byte("content")))
	if in = m.untilTold("ruda", "created a file"); len(in.Message.Attachments) != 1 || in.Message.Attachments[0].Name != "a.txt" || in.Message.Attachments[0].Size != 7 {
		t.Errorf("the files are %+v", in.Message.Attachments)
	}
	if err := m.bora.Edit(m.channel.ID, reply.TS, "changed"); err != nil {
		t.Fatal(err)
	}
	if in = m.untilTold("ruda", "edited changed"); in.Message.ID != m.place+":"+reply.TS || in.Message.EditedAt == 0 || in.Message.ParentID != m.place {
		t.Errorf("the edit is %+v", in.Message)
	}
	if err := m.bora.Delete(m.channel.ID, reply.TS); err != nil {
		t.Fatal(err)
	}
	if in = m.untilTold("ruda", "deleted "); in.Message.ID != m.place+":"+reply.TS || in.Message.ParentID != m.place {
		t.Errorf("the deletion is %+v", in.Message)
	}
	if err := m.bora.Join(m.AddChannel("new").ID); err != nil { // which is no message
		t.Fatal(err)
	}
	m.write(m.eden, m.channel.ID, "from eden")
	for _, id := range []string{"ruda", "eden"} { // what an app posts itself is a fact for it, too
		if in = m.untilTold(id, "created from eden"); in.Message.Author.Account != "eden" || in.Message.Author.Agent != "eden" || !in.Message.Author.Bot {
			t.Errorf("%s was told of the author %+v, want our bot eden", id, in.Message.Author)
		}
	}
}

func TestDirectConversations(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	direct, group := m.bora.Conversation(m.ruda.UserID), m.bora.Conversation(m.ruda.UserID, m.eden.UserID)
	root := m.post(direct.ID, "psst")
	in := m.untilTold("ruda", "created psst")
	if in.Message.GuildID != "" || in.Message.ChannelID != place(direct.ID) || in.Route().AccountID != "ruda" {
		t.Errorf("the fact is %+v, want a direct conversation", in.Message)
	}
	reply := must(t)(m.bora.Reply(direct.ID, root.TS, "more"))
	in = m.untilTold("ruda", "created more")
	if in.Message.ChannelID != place(direct.ID) || in.Message.ParentID != "" || in.Message.ReplyTo != place(direct.ID)+":"+root.TS {
		t.Errorf("the reply is %+v, want it in the conversation, in reply to the first message", in.Message)
	}
	if _, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: place(direct.ID), Content: "an answer", ReplyTo: in.Message.ID}); err != nil {
		t.Fatal(err)
	}
	if got := m.last(direct.ID); got.ThreadTS != root.TS {
		t.Errorf("the answer is %+v, want it in the thread of %s", got, reply.TS)
	}
	m.post(group.ID, "us")
	if in = m.untilTold("eden", "created us"); in.Message.GuildID == "" {
		t.Errorf("the fact is %+v, want a conversation of several", in.Message)
	}
}

func TestSightIsMembership(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	alone := m.AddPrivateChannel("alone", m.bora.ID, m.ruda.UserID)
	both := m.accounts
	m.accounts = both[:1]
	m.start()
	m.untilSeen("ruda to know its conversations", func() bool { _, known := m.Known(place(alone.ID)); return known })
	m.accounts = both
	m.Configure(m.settings())
	m.untilState("eden", health.BotReady)
	blind := func(id string) map[string]bool {
		all := map[string]bool{}
		for _, b := range m.Sight("slack:t00000001", id, "") {
			all[b.AccountID] = b.Blind
		}
		return all
	}
	m.untilSeen("the conversations to be listed", func() bool { return blind(place(alone.ID))["eden"] })
	if diff := cmp.Diff(map[string]bool{"ruda": false, "eden": true}, blind(place(alone.ID))); diff != "" {
		t.Errorf("who is blind (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"ruda": false, "eden": false}, blind(m.place)); diff != "" {
		t.Errorf("who is blind in general (-want +got):\n%s", diff)
	}
	if err := m.bora.Invite(alone.ID, m.eden.UserID); err != nil {
		t.Fatal(err)
	}
	m.untilSeen("eden to see it", func() bool { return !blind(place(alone.ID))["eden"] })
	if name := m.ChannelName(m.place); name != "general" {
		t.Errorf("the channel is called %q", name)
	}
	m.post(m.channel.ID, "known "+m.bora.Mention())
	m.untilTold("ruda", "created known "+m.bora.Mention())
	if got := m.Resolve(m.bora.Mention() + " and " + m.ruda.Mention() + " and <@U0>"); got != "@bora and @RUDA and <@U0>" {
		t.Errorf("the mentions are resolved to %q", got)
	}
}
