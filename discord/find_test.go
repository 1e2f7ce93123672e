package discord_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/discord/discordtest"
)

// look is a Lookup of what ruda says, or starts, in the channel.
func (m *team) look(what string, since int64) channel.Lookup {
	return channel.Lookup{AccountID: "ruda", ChannelID: m.channel.ID, Nonce: "of-nothing", Content: what, Name: what, Since: since}
}

func TestMessagesAreFoundByWhatTheySay(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	asked := time.Now().UnixMilli()
	first, second := m.send(m.draft("n-1", "yes")), m.send(m.draft("n-2", "yes"))
	if got, is, err := m.FindMessage(m.ctx, m.look(" yes ", asked)); !is || err != nil || got.ID != first.ID || got.At == 0 {
		t.Errorf("%+v %t (%v) is found, want the first, %s", got, is, err, first.ID)
	}
	later := m.look("yes", asked)
	later.Other = func(id string) (bool, error) { return id == first.ID, nil }
	if got, is, err := m.FindMessage(m.ctx, later); !is || err != nil || got.ID != second.ID {
		t.Errorf("%+v %t (%v) is found, want the second, %s: the first is known to be another one", got, is, err, second.ID)
	}
	broken := errors.New("the log is broken")
	later.Other = func(string) (bool, error) { return false, broken }
	if _, is, err := m.FindMessage(m.ctx, later); is || !errors.Is(err, broken) {
		t.Errorf("it is found %t (%v), want the log's error", is, err)
	}
	elsewhere := m.look("yes", asked)
	elsewhere.AccountID = "eden"
	for what, l := range map[string]channel.Lookup{
		"another text":    m.look("no", asked),
		"another account": elsewhere,
		"another time":    m.look("yes", asked+time.Hour.Milliseconds()),
	} {
		if got, is, err := m.FindMessage(m.ctx, l); is || err != nil {
			t.Errorf("%s: %+v is found (%v), want nothing", what, got, err)
		}
	}
}

// After a restart a delivery that was broken off may be looked for before the bot has logged in, when its own messages cannot
// be told from others'. That is tried again; that it finds nothing would have the message posted twice.
func TestSearchesWaitForTheLogin(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	held := make(chan struct{})
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: "GET /applications/@me", Bot: m.ruda.ID}, Times: -1, Effect: discordtest.Hold(held)})
	m.run()
	t.Cleanup(func() { close(held) })
	m.untilState("eden", health.BotReady)
	l := m.look("yes", time.Now().UnixMilli())
	_, is, err := m.FindMessage(m.ctx, l)
	_, has, missing := m.FindThread(m.ctx, l)
	for deed, err := range map[string]error{"message": err, "thread": missing} {
		var refused *channel.Error
		if !errors.As(err, &refused) || refused.Class != collaborate.ClassUnsent || errors.Is(err, channel.ErrNoBot) {
			t.Errorf("before the login: %s: %v, want an error after which it is tried again", deed, err)
		}
	}
	if is || has {
		t.Error("something was found")
	}
}

// Clocks differ: a message that seems slightly older than its request may be the one, but only if nothing else is.
func TestOlderMessagesAreTheLastChoice(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	before, nearer := m.send(m.draft("n-1", "yes")), m.send(m.draft("n-2", "yes"))
	asked := nearer.At + 1
	m.until("a while", func() bool { return time.Now().UnixMilli() > asked || wait(m, time.Millisecond) })
	if got, is, err := m.FindMessage(m.ctx, m.look("yes", asked)); !is || err != nil || got.ID != nearer.ID {
		t.Errorf("%+v %t (%v) is found, want the nearest one, %s, not %s", got, is, err, nearer.ID, before.ID)
	}
	after := m.send(m.draft("n-3", "yes"))
	m.send(m.draft("n-4", "yes"))
	if got, is, err := m.FindMessage(m.ctx, m.look("yes", asked)); !is || err != nil || got.ID != after.ID {
		t.Errorf("%+v %t (%v) is found, want the first one since, %s", got, is, err, after.ID)
	}
}

func TestMessagesAreLookedForBehindOthers(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	asked := time.Now().UnixMilli()
	for i := range 230 {
		m.post(m.channel.ID, fmt.Sprint("in between ", i))
	}
	said := m.send(m.draft("n", "at last"))
	if got, is, err := m.FindMessage(m.ctx, m.look("at last", asked)); !is || err != nil || got.ID != said.ID {
		t.Errorf("%+v %t (%v) is found, want %s behind 230 messages", got, is, err, said.ID)
	}
	for i := range 800 {
		m.post(m.channel.ID, fmt.Sprint("after it ", i))
	}
	_, is, err := m.FindMessage(m.ctx, m.look("never said", asked))
	m.wantBlind("a thousand messages and more", is, err, collaborate.ClassRejected)
}

// wantBlind fails unless looking has failed.
func (m *team) wantBlind(why string, found bool, err error, class collaborate.Class) {
	m.t.Helper()
	var refused *channel.Error
	if found || !errors.As(err, &refused) || refused.Class != class || refused.Hint == "" {
		m.t.Errorf("%s: it is found %t (%v), want an error of class %s with a hint", why, found, err, class)
	}
}

// A bot that may not read is shown nothing, which proves nothing.
func TestWhatCannotBeSeenIsNotMissing(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	asked := time.Now().UnixMilli()
	if _, is, err := m.FindMessage(m.ctx, m.look("hi", asked)); is || err != nil {
		t.Errorf("in a channel without messages it is found %t (%v), want nothing", is, err)
	}
	m.Permit(m.channel.ID, m.ruda.ID, 0, discordtest.ReadMessageHistory)
	if _, is, err := m.FindMessage(m.ctx, m.look("hi", asked)); is || err != nil {
		t.Errorf("in a channel without messages, which may not be read, it is found %t (%v), want nothing", is, err)
	}
	m.send(m.draft("n", "hi"))
	_, is, err := m.FindMessage(m.ctx, m.look("hi", asked))
	m.wantBlind("no message may be read", is, err, collaborate.ClassForbidden)
	m.Permit(m.channel.ID, m.ruda.ID, 0, discordtest.ViewChannel)
	_, is, err = m.FindMessage(m.ctx, m.look("hi", asked))
	m.wantBlind("the channel may not be viewed", is, err, collaborate.ClassForbidden)
	_, is, err = m.FindThread(m.ctx, m.look("hi", asked))
	m.wantBlind("nor its threads", is, err, collaborate.ClassForbidden)
	gone := m.look("hi", asked)
	gone.ChannelID = "123456789012345678"
	_, is, err = m.FindThread(m.ctx, gone)
	m.wantBlind("there is no such channel", is, err, collaborate.ClassNotFound)
}

func TestThreadsAreFoundInTheArchiveToo(t *testing.T) {
	t.Parallel()
	clock := &hand{at: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	m := newTeam(t, func(s *discordtest.Options, o *channel.Options) { s.Now, o.Now = clock.now, clock.now }).start()
	asked := clock.now().UnixMilli()
	m.guild.Grant(m.bora.ID, discordtest.ManageThreads)
	wanted, err := m.StartThread(m.ctx, channel.Opening{AccountID: "ruda", ChannelID: m.channel.ID, Name: "plan"})
	if err != nil {
		t.Fatal(err)
	}
	find := func(why string, l channel.Lookup, want string) {
		t.Helper()
		if got, is, err := m.FindThread(m.ctx, l); is != (want != "") || err != nil || got.ID != want {
			t.Errorf("%s: %q is found %t (%v), want %q", why, got.ID, is, err, want)
		}
	}
	find("active", m.look("plan", asked), wanted.ID)
	another := m.look("plan", asked)
	another.Other = func(id string) (bool, error) { return id == wanted.ID, nil }
	find("known to be another one", another, "")
	find("another name", m.look("plans", asked), "")
	eden := m.look("plan", asked)
	eden.AccountID = "eden"
	find("another bot's", eden, "")

	archive := func(id string) {
		t.Helper()
		clock.advance(time.Second)
		if err := m.bora.SetArchived(id, true); err != nil {
			t.Fatal(err)
		}
	}
	clock.advance(2 * time.Hour)
	archive(wanted.ID)
	for i := range 130 {
		other, err := m.bora.StartThread(m.channel.ID, fmt.Sprint("other ", i))
		if err != nil {
			t.Fatal(err)
		}
		archive(other.ID)
	}
	find("archived, behind 130 others", m.look("plan", asked), wanted.ID)
	find("archived, another name", m.look("plans", asked), "")
	find("archived, another time", m.look("plan", asked+time.Hour.Milliseconds()), "")
	m.Permit(m.channel.ID, m.ruda.ID, 0, discordtest.ReadMessageHistory)
	_, is, err := m.FindThread(m.ctx, m.look("plan", asked))
	m.wantBlind("the archive may not be read", is, err, collaborate.ClassForbidden)
}
