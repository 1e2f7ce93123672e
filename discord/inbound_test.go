package discord_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/discord/discordtest"
)

func TestEachMessageIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	m.InjectDispatch(discordtest.DispatchFault{Match: discordtest.DispatchMatch{Bot: m.eden.ID, Type: "MESSAGE_CREATE"}, Effect: discordtest.Duplicate})
	first := m.post(m.channel.ID, "hello "+m.ruda.Mention())
	if err := m.bora.Edit(first, "hello all"); err != nil {
		t.Fatal(err)
	}
	thread, err := m.bora.StartThread(m.channel.ID, "plans") // Discord writes a message of its own
	if err != nil {
		t.Fatal(err)
	}
	m.post(thread.ID, "in the thread")
	must(t)(m.bora.Reply(first, "a reply"))
	if err := m.bora.Delete(first); err != nil {
		t.Fatal(err)
	}
	m.post(m.channel.ID, "last")
	want := []string{"created hello " + m.ruda.Mention(), "edited hello all", "created in the thread", "created a reply", "deleted ", "created last"}
	for _, id := range []string{"ruda", "eden"} {
		m.untilTold(id, "created last")
		if diff := cmp.Diff(want, m.told(id)); diff != "" {
			t.Errorf("%s was told (-want +got):\n%s", id, diff)
		}
	}

	said := m.fact("eden", want[0])
	wantFact := channel.Inbound{Kind: channel.Created, AccountID: "eden", BotID: m.eden.ID, Message: channel.Message{
		ID: first.ID, ChannelID: m.channel.ID, GuildID: m.guild.ID, Content: first.Content, At: said.Message.At, MentionRoles: []string{},
		Author:   channel.Author{User: channel.User{ID: m.bora.ID, Name: "bora"}, Roles: []string{}},
		Mentions: []channel.User{{ID: m.ruda.ID, Name: "ruda", Bot: true}},
	}}
	if diff := cmp.Diff(wantFact, said); diff != "" {
		t.Errorf("the message as eden is told (-want +got):\n%s", diff)
	}
	if inside := m.fact("ruda", "created in the thread").Message; inside.ParentID != m.channel.ID || inside.ChannelID != thread.ID || inside.ThreadName != "plans" {
		t.Errorf("the message of the thread stands in %q below %q named %q, want %q, %q, plans", inside.ChannelID, inside.ParentID, inside.ThreadName, thread.ID, m.channel.ID)
	}
	if reply := m.fact("ruda", "created a reply").Message; reply.ReplyTo != first.ID || reply.ReplyAuthor != m.bora.ID {
		t.Errorf("the reply answers %q of %q, want %q of %q", reply.ReplyTo, reply.ReplyAuthor, first.ID, m.bora.ID)
	}
	if edited := m.fact("ruda", "edited hello all").Message; edited.EditedAt == 0 || len(edited.Mentions) != 0 {
		t.Errorf("the edited message was edited at %d and mentions %v, want a time and no mention", edited.EditedAt, edited.Mentions)
	}
}

func TestOursAreKnownAsOurs(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	if _, err := m.Send(m.ctx, channel.Post{AccountID: "RUDA", ChannelID: m.channel.ID, Content: "hi", Nonce: "1"}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"ruda", "eden"} {
		m.untilTold(id, "created hi")
		if a := m.fact(id, "created hi").Message.Author; a.Account != "ruda" || a.Agent != "ruda" || !a.Bot {
			t.Errorf("%s gets the author %+v, want account and agent ruda", id, a)
		}
	}
}

func TestFactsAreWhatIsDecidedAbout(t *testing.T) {
	t.Parallel()
	in := channel.Inbound{AccountID: "ruda", Message: channel.Message{ID: "9", ChannelID: "7", ParentID: "5", ThreadName: "plans", GuildID: "1", Content: "hi", At: 3,
		Author:   channel.Author{User: channel.User{ID: "2", Name: "bora"}, Roles: []string{"8"}},
		Mentions: []channel.User{{ID: "4", Name: "eden"}}, Attachments: []channel.Attachment{{Name: "a"}}}}
	want := route.Message{ID: "9", GuildID: "1", ChannelID: "5", ThreadID: "7", ThreadName: "plans", Author: route.Author{ID: "2", Name: "bora", Roles: []string{"8"}},
		Text: "hi", Names: map[string]string{"4": "eden"}, Attachments: 1, At: 3}
	if diff := cmp.Diff(want, in.Route()); diff != "" {
		t.Errorf("a message of a thread (-want +got):\n%s", diff)
	}
	in.Message.GuildID, in.Message.ParentID = "", ""
	if got := in.Route(); got.AccountID != "ruda" || got.ChannelID != "7" || got.ThreadID != "" {
		t.Errorf("a direct message is %+v, want channel 7 of account ruda", got)
	}
}

func TestThreadsThatWereArchivedAreFound(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	thread, err := m.bora.StartThread(m.channel.ID, "old")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.bora.SetArchived(thread.ID, true); err != nil {
		t.Fatal(err)
	}
	m.start()
	m.InjectDispatch(discordtest.DispatchFault{Match: discordtest.DispatchMatch{Type: "THREAD_UPDATE"}, Times: -1, Effect: discordtest.Drop})
	m.post(thread.ID, "again")
	m.untilTold("ruda", "created again")
	if got := m.fact("ruda", "created again").Message; got.ParentID != m.channel.ID {
		t.Errorf("the message stands below %q, want %q: an unreported thread is fetched", got.ParentID, m.channel.ID)
	}
}
