package discordtest_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/discord/discordtest"
)

func TestEveryBotIsToldOfAMessageAsItMayReadIt(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ctx := m.context()
	ruda, eden := m.client(m.ruda, intents).start(), m.client(m.eden, intents).start()
	seum := m.client(m.seum, discordgo.IntentsAllWithoutPrivileged).start()
	if err := m.WaitConnected(ctx, m.ruda.ID, m.eden.ID, m.seum.ID); err != nil {
		t.Fatal(err)
	}
	plain := m.post(m.channel.ID, "hello all")
	named := m.post(m.channel.ID, m.seum.Mention()+" hello")
	if _, err := eden.ChannelMessageSend(m.channel.ID, "eden here"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.rest(m.seum).ChannelMessageSend(m.channel.ID, "seum here"); err != nil {
		t.Fatal(err)
	}
	for c, want := range map[*client][]string{
		ruda: {"hello all", named.Content, "eden here", "seum here"},
		eden: {"hello all", named.Content, "eden here", "seum here"},
		seum: {"", named.Content, "", "seum here"}, // only what names it, and its own
	} {
		if diff := cmp.Diff(want, c.contents(ctx, 4)); diff != "" {
			t.Errorf("%s was told (-want +got):\n%s", c.bot.Username, diff)
		}
	}
	got, err := m.rest(m.seum).ChannelMessage(m.channel.ID, plain.ID)
	if err != nil || got.Content != "" {
		t.Errorf("over REST seum reads %+v, %v, want no content", got, err)
	}
	first := read[discordtest.Message](t, ruda.told("MESSAGE_CREATE")[1].data)
	if len(first.Mentions) != 1 || first.Mentions[0].ID != m.seum.ID || first.GuildID != m.guild.ID || first.Member == nil || first.Author.Bot {
		t.Errorf("the dispatch says %+v, want seum named, the guild and the author's membership", first)
	}
}

func TestDispatchesFollowIntentsAndPermissions(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ctx := m.context()
	hidden := m.guild.AddChannel("hidden", discordtest.ChannelOptions{HiddenTo: []string{m.eden.ID}})
	ruda, eden := m.client(m.ruda, intents).start(), m.client(m.eden, intents).start()
	seum := m.client(m.seum, discordgo.IntentsGuilds).start()
	m.post(hidden.ID, "secret")
	m.post(m.channel.ID, "open")
	ruda.contents(ctx, 2)
	if diff := cmp.Diff([]string{"open"}, eden.contents(ctx, 1)); diff != "" {
		t.Errorf("eden was told (-want +got):\n%s", diff)
	}
	m.guild.AddChannel("later", discordtest.ChannelOptions{})
	seum.until(ctx, "CHANNEL_CREATE", 1)
	if all := seum.told("MESSAGE_CREATE"); len(all) != 0 {
		t.Errorf("seum was told %d messages without the intent", len(all))
	}
	guild := read[discordtest.GuildInfo](t, eden.until(ctx, "GUILD_CREATE", 1)[0].data)
	if len(guild.Channels) != 1 || guild.Channels[0].ID != m.channel.ID {
		t.Errorf("eden was notified of channels %+v, want only the open one", guild.Channels)
	}
	_, err := eden.ChannelMessageSend(hidden.ID, "let me in")
	wantRefusal(t, err, http.StatusForbidden, discordtest.CodeMissingAccess)
	m.Permit(m.channel.ID, m.eden.ID, 0, discordtest.SendMessages)
	_, err = eden.ChannelMessageSend(m.channel.ID, "not any more")
	wantRefusal(t, err, http.StatusForbidden, discordtest.CodeMissingPermissions)
	m.guild.Leave(m.eden.ID)
	eden.until(ctx, "GUILD_DELETE", 1)
	_, err = eden.Channel(m.channel.ID)
	wantRefusal(t, err, http.StatusForbidden, discordtest.CodeMissingAccess)
}

func wantRefusal(t *testing.T, err error, status, code int) {
	t.Helper()
	var rest *discordgo.RESTError
	if !errors.As(err, &rest) || rest.Response.StatusCode != status || rest.Message == nil || rest.Message.Code != code {
		t.Errorf("the error is %v, want status %d and code %d", err, status, code)
	}
}

func TestIntentsThatAreNotGrantedCloseTheSocket(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	c := m.client(m.seum, intents)
	if err := c.Open(); err == nil {
		_ = c.Close()
		t.Error("seum may ask for message content without the grant")
	}
	if connected := m.Connected(); len(connected) != 0 {
		t.Errorf("connected are %v, want none", connected)
	}
}

func TestEditsDeletionsReactionsAndTypingAreTold(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ctx := m.context()
	ruda, eden := m.client(m.ruda, intents).start(), m.rest(m.eden)
	posted, err := eden.ChannelMessageSend(m.channel.ID, "draft")
	must(t, posted, err)
	if _, err := eden.ChannelMessageEdit(m.channel.ID, posted.ID, "final "+m.ruda.Mention()); err != nil {
		t.Fatal(err)
	}
	edited := read[discordtest.Message](t, ruda.until(ctx, "MESSAGE_UPDATE", 1)[0].data)
	if edited.EditedTimestamp == nil || len(edited.Mentions) != 1 {
		t.Errorf("the edit is told as %+v, want its time and whom it names now", edited)
	}
	for _, do := range []error{
		eden.ChannelTyping(m.channel.ID), eden.MessageReactionAdd(m.channel.ID, posted.ID, "👀"), m.bora.React(m.Messages(m.channel.ID)[0], "👀"),
		eden.MessageReactionRemove(m.channel.ID, posted.ID, "👀", "@me"),
	} {
		if do != nil {
			t.Fatal(do)
		}
	}
	ruda.until(ctx, "TYPING_START", 1)
	ruda.until(ctx, "MESSAGE_REACTION_ADD", 2)
	ruda.until(ctx, "MESSAGE_REACTION_REMOVE", 1)
	users, err := eden.MessageReactions(m.channel.ID, posted.ID, "👀", 10, "", "")
	if err != nil || len(users) != 1 || users[0].ID != m.bora.ID {
		t.Errorf("those who reacted are %v, %v, want bora", users, err)
	}
	_, err = m.rest(m.ruda).ChannelMessageEdit(m.channel.ID, posted.ID, "mine")
	wantRefusal(t, err, http.StatusForbidden, discordtest.CodeNotYourMessage)
	wantRefusal(t, m.rest(m.ruda).ChannelMessageDelete(m.channel.ID, posted.ID), http.StatusForbidden, discordtest.CodeMissingPermissions)
	m.guild.Grant(m.ruda.ID, discordtest.ManageMessages)
	if err := ruda.ChannelMessageDelete(m.channel.ID, posted.ID); err != nil {
		t.Fatal(err)
	}
	ruda.until(ctx, "MESSAGE_DELETE", 1)
	_, err = eden.ChannelMessage(m.channel.ID, posted.ID)
	wantRefusal(t, err, http.StatusNotFound, discordtest.CodeUnknownMessage)
}

func TestWhomAMessageCalls(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	stranger := m.AddHuman("stranger")
	asked := must(t, m.post(m.channel.ID, "question"), nil)
	byEden, err := m.rest(m.eden).ChannelMessageSend(m.channel.ID, "eden asks")
	must(t, byEden, err)
	edens := m.Messages(m.channel.ID)[1]
	reply := must(t, first(m.bora.Reply(edens, "answer")), nil)
	silent := must(t, first(m.bora.ReplySilently(edens, m.ruda.Mention())), nil)
	_, err = m.rest(m.eden).ChannelMessageSendComplex(m.channel.ID,
		&discordgo.MessageSend{Content: m.ruda.Mention(), AllowedMentions: &discordgo.MessageAllowedMentions{}})
	must(t, 0, err)
	muted := m.Messages(m.channel.ID)[4]
	for name, c := range map[string]struct {
		message discordtest.Message
		want    []string
	}{
		"no one":                {asked, nil},
		"twice is once":         {m.post(m.channel.ID, "<@!"+m.ruda.ID+"> and <@"+m.ruda.ID+">"), []string{m.ruda.ID}},
		"in order":              {m.post(m.channel.ID, m.eden.Mention()+m.ruda.Mention()), []string{m.eden.ID, m.ruda.ID}},
		"code mentions no user": {m.post(m.channel.ID, "`"+m.ruda.Mention()+"` ```\n"+m.eden.Mention()+"```"), nil},
		"not in the guild":      {m.post(m.channel.ID, stranger.Mention()), nil},
		"a reply":               {reply, []string{m.eden.ID}},
		"a reply that does not": {silent, []string{m.ruda.ID}},
		"no user is allowed":    {muted, nil},
	} {
		var got []string
		for _, u := range c.message.Mentions {
			got = append(got, u.ID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if reply.Type != discordtest.ReplyMessage || reply.ReferencedMessage == nil || reply.ReferencedMessage.ID != edens.ID {
		t.Errorf("the reply is %+v, want it to point to what it answers", reply)
	}
}

func first[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestConversationsOfTwo(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ctx := m.context()
	seum := m.client(m.seum, discordgo.IntentsDirectMessages).start()
	with, err := m.bora.Conversation(m.seum.ID)
	must(t, with, err)
	m.post(with.ID, "just us")
	if diff := cmp.Diff([]string{"just us"}, seum.contents(ctx, 1)); diff != "" {
		t.Errorf("seum was told (-want +got):\n%s", diff)
	}
	same, err := seum.UserChannelCreate(m.bora.ID)
	if err != nil || same.ID != with.ID || len(same.Recipients) != 1 || same.Recipients[0].ID != m.bora.ID {
		t.Errorf("the conversation is %+v, %v, want %s with bora", same, err, with.ID)
	}
	if _, err := seum.ChannelMessageSend(with.ID, "yes"); err != nil {
		t.Fatal(err)
	}
	m.bora.RefuseDirectMessages(true)
	_, err = seum.ChannelMessageSend(with.ID, "still there?")
	wantRefusal(t, err, http.StatusForbidden, discordtest.CodeCannotMessageUser)
	_, err = m.rest(m.eden).ChannelMessages(with.ID, 10, "", "", "")
	wantRefusal(t, err, http.StatusForbidden, discordtest.CodeMissingAccess)
}

func TestAttachmentsKeepTheirNames(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	_, err := m.rest(m.eden).ChannelFileSendWithMessage(m.channel.ID, "look", "report.md", strings.NewReader("# Report"))
	must(t, 0, err)
	got := m.Messages(m.channel.ID)[0]
	if got.Content != "look" || len(got.Attachments) != 1 || got.Attachments[0].Filename != "report.md" || got.Attachments[0].Size != 8 {
		t.Errorf("the message is %+v, want its text and the file of 8 bytes", got)
	}
}
