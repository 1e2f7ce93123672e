package discordtest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/discord/discordtest"
)

func TestThreadFromCreationToArchive(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ctx := m.context()
	ruda, eden := m.client(m.ruda, intents).start(), m.client(m.eden, intents).start()
	thread, err := ruda.ThreadStart(m.channel.ID, "[협업] ruda → eden · 설계", discordgo.ChannelTypeGuildPublicThread, 60)
	must(t, thread, err)
	seen := read[discordtest.Channel](t, eden.until(ctx, "THREAD_CREATE", 1)[0].data)
	if seen.ID != thread.ID || *seen.ParentID != m.channel.ID || seen.OwnerID != m.ruda.ID || !seen.NewlyCreated ||
		seen.Thread.AutoArchiveDuration != 60 {
		t.Errorf("eden was told %+v, want the thread of ruda in the channel", seen)
	}
	notice := m.Messages(m.channel.ID)[0]
	if notice.Type != discordtest.ThreadCreatedMessage || notice.Reference.ChannelID != thread.ID {
		t.Errorf("the channel holds %+v, want Discord's note of the thread", notice)
	}
	if _, err := ruda.ChannelMessageSend(thread.ID, m.eden.Mention()+"\n\nhave a look"); err != nil {
		t.Fatal(err)
	}
	if _, err := eden.ChannelMessageSend(thread.ID, "looking"); err != nil {
		t.Fatal(err)
	}
	members, err := ruda.ThreadMembers(thread.ID, 0, false, "")
	if err != nil || len(members) != 2 {
		t.Errorf("members are %v, %v, want ruda and eden", members, err)
	}
	active, err := ruda.GuildThreadsActive(m.guild.ID)
	if err != nil || len(active.Threads) != 1 || active.Threads[0].MessageCount != 2 {
		t.Errorf("active are %+v, %v, want one thread of two messages", active, err)
	}
	archived := true
	edited, err := ruda.ChannelEditComplex(thread.ID, &discordgo.ChannelEdit{Archived: &archived})
	if err != nil || !edited.ThreadMetadata.Archived {
		t.Fatalf("archived is %+v, %v", edited, err)
	}
	eden.until(ctx, "THREAD_UPDATE", 1)
	done, err := eden.ThreadsArchived(m.channel.ID, nil, 10)
	if err != nil || len(done.Threads) != 1 || done.Threads[0].ID != thread.ID {
		t.Errorf("archived threads are %+v, %v, want the one", done, err)
	}
	mine := m.Messages(thread.ID)[1]
	_, err = eden.ChannelMessageEdit(thread.ID, mine.ID, "too late")
	wantRefusal(t, err, http.StatusBadRequest, discordtest.CodeThreadArchived)
	if _, err := eden.ChannelMessageSend(thread.ID, "one more thing"); err != nil {
		t.Fatal(err)
	}
	if now, _ := m.Channel(thread.ID); now.Thread.Archived {
		t.Error("writing leaves the thread archived")
	}
	m.clock.advance(59 * time.Minute)
	if n := m.ArchiveIdle(); n != 0 {
		t.Errorf("%d threads are idle after 59 minutes, want none", n)
	}
	m.clock.advance(time.Minute)
	if n := m.ArchiveIdle(); n != 1 {
		t.Errorf("%d threads are idle after an hour, want one", n)
	}
	locked := true
	_, err = eden.ChannelEditComplex(thread.ID, &discordgo.ChannelEdit{Locked: &locked})
	wantRefusal(t, err, http.StatusForbidden, discordtest.CodeMissingPermissions)
	m.guild.Grant(m.eden.ID, discordtest.ManageThreads)
	if _, err := eden.ChannelEditComplex(thread.ID, &discordgo.ChannelEdit{Locked: &locked}); err != nil {
		t.Fatal(err)
	}
	_, err = ruda.ChannelMessageSend(thread.ID, "hello?")
	wantRefusal(t, err, http.StatusBadRequest, discordtest.CodeThreadArchived)
	if _, err := eden.ChannelDelete(thread.ID); err != nil {
		t.Fatal(err)
	}
	ruda.until(ctx, "THREAD_DELETE", 1)
	_, err = ruda.ChannelMessageSend(thread.ID, "gone")
	wantRefusal(t, err, http.StatusNotFound, discordtest.CodeUnknownChannel)
}

func TestThreadFromAMessage(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	eden := m.rest(m.eden)
	asked := m.post(m.channel.ID, "who can help?")
	thread, err := eden.MessageThreadStart(m.channel.ID, asked.ID, "help", 1440)
	must(t, thread, err)
	if thread.ID != asked.ID {
		t.Errorf("the thread has id %s, want that of its message %s", thread.ID, asked.ID)
	}
	_, err = eden.MessageThreadStart(m.channel.ID, asked.ID, "help again", 1440)
	wantRefusal(t, err, http.StatusBadRequest, discordtest.CodeThreadExists)
	starter := m.Messages(thread.ID)[0]
	if starter.Type != discordtest.ThreadStarterMessage || starter.ReferencedMessage.Content != asked.Content {
		t.Errorf("the thread begins with %+v, want its starter", starter)
	}
	if parent := m.Messages(m.channel.ID)[0]; parent.Flags&discordtest.FlagHasThread == 0 || parent.Thread == nil {
		t.Errorf("the message is %+v, want it to say that it has a thread", parent)
	}
	_, err = eden.ThreadStart(thread.ID, "deeper", discordgo.ChannelTypeGuildPublicThread, 60)
	wantRefusal(t, err, http.StatusBadRequest, discordtest.CodeWrongChannelType)
}

func TestThreadWithoutATypeIsPrivate(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ctx := m.context()
	seum := m.client(m.seum, discordgo.IntentsAllWithoutPrivileged).start()
	a := m.ask(m.ruda, "POST", "/channels/"+m.channel.ID+"/threads", `{"name":"quiet"}`)
	thread := read[discordtest.Channel](t, a.body)
	if a.status != http.StatusCreated || thread.Type != discordtest.PrivateThread {
		t.Fatalf("the answer is %d %s, want a private thread", a.status, a.body)
	}
	_, err := m.rest(m.seum).ChannelMessageSend(thread.ID, "may I?")
	wantRefusal(t, err, http.StatusForbidden, discordtest.CodeMissingAccess)
	if _, err := m.rest(m.ruda).ChannelMessageSend(thread.ID, m.seum.Mention()+" come in"); err != nil {
		t.Fatal(err)
	}
	seum.until(ctx, "THREAD_CREATE", 1)
	if _, err := m.rest(m.seum).ChannelMessageSend(thread.ID, "thanks"); err != nil {
		t.Errorf("every named user may write: %v", err)
	}
	if diff := cmp.Diff(1, len(m.Threads(m.channel.ID))); diff != "" {
		t.Errorf("threads of the channel (-want +got):\n%s", diff)
	}
}

func TestThreadNames(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	for name, ok := range map[string]bool{"": false, "   ": false, strings.Repeat("가", 100): true, strings.Repeat("가", 101): false} {
		_, err := m.rest(m.ruda).ThreadStart(m.channel.ID, name, discordgo.ChannelTypeGuildPublicThread, 60)
		if ok && err != nil {
			t.Errorf("%q: %v", name, err)
		} else if !ok {
			wantRefusal(t, err, http.StatusBadRequest, discordtest.CodeInvalidForm)
		}
	}
	if n := len(m.Threads(m.channel.ID)); n != 1 {
		t.Errorf("%d threads, want one: what is refused is not done", n)
	}
}

func TestPeopleStartAndCloseThreads(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	thread, err := m.bora.StartThread(m.channel.ID, "ours")
	must(t, thread, err)
	if err := m.bora.SetArchived(thread.ID, true); err != nil {
		t.Fatal(err)
	}
	if now, _ := m.Channel(thread.ID); !now.Thread.Archived {
		t.Error("the thread is not archived")
	}
	if err := m.bora.SetLocked(thread.ID, true); err == nil {
		t.Error("who does not manage threads may lock one")
	}
	from, err := m.bora.StartThreadFrom(m.post(m.channel.ID, "topic"), "topic")
	if err != nil || from.OwnerID != m.bora.ID {
		t.Errorf("the thread is %+v, %v, want bora's", from, err)
	}
	if err := m.rest(m.eden).ThreadJoin(from.ID); err != nil {
		t.Fatal(err)
	}
	if err := m.rest(m.eden).ThreadLeave(from.ID); err != nil {
		t.Fatal(err)
	}
}
