package discord_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/discordtest"
)

// seeing are the accounts that see a place.
func (m *team) seeing(channelID, threadID string) []string {
	all := []string{}
	for _, b := range m.Sight(m.guild.ID, channelID, threadID) {
		if !b.Blind {
			all = append(all, b.AccountID)
		}
	}
	return all
}

// settled waits until both bots have taken in what happened.
func (m *team) settled() {
	m.t.Helper()
	for _, b := range []*discordtest.Bot{m.ruda, m.eden} {
		talk, err := m.bora.Conversation(b.ID)
		if err != nil {
			m.t.Fatal(err)
		}
		said := m.post(talk.ID, "settled?")
		m.until(b.Username+" to be notified of all", func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return slices.ContainsFunc(m.facts, func(in channel.Inbound) bool { return in.Message.ID == said.ID })
		})
	}
}

func (m *team) wantSeeing(why, channelID, threadID string, want ...string) {
	m.t.Helper()
	m.settled()
	if diff := cmp.Diff(append([]string{}, want...), m.seeing(channelID, threadID)); diff != "" {
		m.t.Errorf("%s: seen by (-want +got):\n%s", why, diff)
	}
}

func TestSightFollowsOverwritesAndRoles(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	hidden := m.guild.AddChannel("hidden", discordtest.ChannelOptions{HiddenTo: []string{m.eden.ID}})
	m.start()
	m.wantSeeing("nothing is denied", m.channel.ID, "", "eden", "ruda")
	m.wantSeeing("hidden to eden from the beginning", hidden.ID, "", "ruda")

	m.Permit(m.channel.ID, m.guild.ID, 0, discordtest.ViewChannel)
	m.Permit(m.channel.ID, m.ruda.ID, discordtest.ViewChannel, 0) // the last one that is told decides what is known
	m.wantSeeing("everyone is denied it, ruda is allowed", m.channel.ID, "", "ruda")

	role := m.guild.Grant(m.eden.ID, 0)
	m.wantSeeing("a role without permissions", m.channel.ID, "", "ruda")
	m.Permit(m.channel.ID, role, discordtest.ViewChannel, 0)
	m.wantSeeing("eden's role is allowed", m.channel.ID, "", "eden", "ruda")
	m.Permit(m.channel.ID, m.eden.ID, 0, discordtest.ViewChannel)
	m.wantSeeing("eden itself is denied, which goes before roles", m.channel.ID, "", "ruda")
	m.Permit(m.channel.ID, m.eden.ID, 0, 0)
	m.wantSeeing("eden's role is allowed again", m.channel.ID, "", "eden", "ruda")
	m.guild.Revoke(m.eden.ID, role)
	m.wantSeeing("eden loses the role", m.channel.ID, "", "ruda")

	admin := m.guild.Grant(m.eden.ID, discordtest.Administrator)
	m.wantSeeing("administrators see all", m.channel.ID, "", "eden", "ruda")
	m.wantSeeing("administrators see all", hidden.ID, "", "eden", "ruda")
	m.guild.SetRole(admin, 0)
	m.wantSeeing("the role is changed", hidden.ID, "", "ruda")
	m.guild.SetRole(admin, discordtest.Administrator)
	m.guild.DeleteRole(admin)
	m.wantSeeing("the role is deleted", hidden.ID, "", "ruda")

	open := m.guild.AddChannel("open", discordtest.ChannelOptions{})
	m.wantSeeing("a new channel", open.ID, "", "eden", "ruda")
	m.guild.SetRole(m.guild.ID, discordtest.Everyone&^discordtest.ViewChannel)
	m.wantSeeing("everyone's role lacks the permission", open.ID, "")
	m.wantSeeing("of ruda the channel's overwrite says otherwise", m.channel.ID, "", "ruda")
}

func TestSightOfThreadsIsThatOfTheirChannel(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	hidden := m.guild.AddChannel("hidden", discordtest.ChannelOptions{HiddenTo: []string{m.eden.ID}})
	m.start()
	thread, err := m.bora.StartThread(hidden.ID, "plans")
	if err != nil {
		t.Fatal(err)
	}
	m.wantSeeing("a thread below a hidden channel", hidden.ID, thread.ID, "ruda")
	m.wantSeeing("its channel is known without being named", "", thread.ID, "ruda")
	open, err := m.bora.StartThread(m.channel.ID, "plans")
	if err != nil {
		t.Fatal(err)
	}
	m.wantSeeing("a thread below an open channel", m.channel.ID, open.ID, "eden", "ruda")
}

func TestPrivateThreadsAreSeenByThoseWhoWereTold(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	m.start()
	private, err := m.bora.StartPrivateThread(m.channel.ID, "secret")
	if err != nil {
		t.Fatal(err)
	}
	m.post(private.ID, "come, "+m.ruda.Mention())
	m.untilTold("ruda", "created come, "+m.ruda.Mention())
	m.wantSeeing("ruda was called into it", m.channel.ID, private.ID, "ruda")
	role := m.guild.Grant(m.eden.ID, discordtest.ManageThreads)
	m.wantSeeing("who manages threads sees private ones", m.channel.ID, private.ID, "eden", "ruda")
	m.guild.Revoke(m.eden.ID, role)
	session, err := m.ruda.Session()
	if err != nil {
		t.Fatal(err)
	}
	if err := session.ThreadLeave(private.ID); err != nil {
		t.Fatal(err)
	}
	m.wantSeeing("ruda has left it", m.channel.ID, private.ID)
}

func TestSightOfBotsThatAreNotThere(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	other := m.AddGuild("other")
	other.Join(m.ruda.ID, m.bora.ID)
	elsewhere := other.AddChannel("elsewhere", discordtest.ChannelOptions{})
	for _, b := range m.Sight(m.guild.ID, m.channel.ID, "") {
		if !b.Blind {
			t.Errorf("%s sees something, want none to before they connect", b.AccountID)
		}
	}
	m.start()
	m.settled()
	for _, b := range m.Sight(other.ID, elsewhere.ID, "") {
		if want := b.AccountID == "eden"; b.Blind != want {
			t.Errorf("in the guild of ruda alone %s is blind %t, want %t", b.AccountID, b.Blind, want)
		}
	}
	m.guild.Leave(m.eden.ID)
	m.wantSeeing("eden has left the guild", m.channel.ID, "", "ruda")
	m.guild.Join(m.eden.ID)
	m.wantSeeing("eden has come back", m.channel.ID, "", "eden", "ruda")
	m.wantSeeing("an unreported channel", "1", "", "eden", "ruda")
	if all := m.Sight("", "1", ""); len(all) != 2 || all[0].Blind || all[1].Blind {
		t.Errorf("in a conversation the bots are %+v, want none blind", all)
	}
	m.eden.RefuseAsUnknown()
	m.untilState("eden", health.BotFailed)
	if diff := cmp.Diff([]string{"ruda"}, m.seeing(m.channel.ID, "")); diff != "" {
		t.Errorf("eden is refused: seen by (-want +got):\n%s", diff)
	}
}

// A bot that has lost its connection, or has not connected yet, catches up later: it is not blind.
func TestSightOfBotsThatAreConnecting(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	down := m.Inject(discordtest.Fault{Match: discordtest.Match{Bot: m.eden.ID}, Times: -1, Effect: discordtest.Unavailable(503)})
	defer down.Remove()
	m.run()
	m.untilState("ruda", health.BotReady)
	m.untilState("eden", health.BotFailed)
	if diff := cmp.Diff([]string{"eden", "ruda"}, m.seeing(m.channel.ID, "")); diff != "" {
		t.Errorf("Discord is down for eden: seen by (-want +got):\n%s", diff)
	}
}

func TestMarksWithoutAccountAreOfAllThatSeeThePlace(t *testing.T) {
	t.Parallel()
	var marks []channel.Mark
	m := newTeam(t)
	hidden := m.guild.AddChannel("hidden", discordtest.ChannelOptions{HiddenTo: []string{m.eden.ID}})
	last, lastHidden := m.post(m.channel.ID, "known"), m.post(hidden.ID, "known too")
	m.post(m.channel.ID, "missed")
	m.post(hidden.ID, "missed by ruda")
	talk, err := m.bora.Conversation(m.eden.ID)
	if err != nil {
		t.Fatal(err)
	}
	said := m.post(talk.ID, "between us")
	m.post(talk.ID, "alone")
	marks = []channel.Mark{{GuildID: m.guild.ID, ChannelID: m.channel.ID, MessageID: last.ID}, {GuildID: m.guild.ID, ChannelID: hidden.ID, MessageID: lastHidden.ID},
		{ChannelID: talk.ID, MessageID: said.ID}, {AccountID: "eden", ChannelID: talk.ID, MessageID: said.ID}}
	m.Bots = discord.New(channel.Options{Transport: m.Transport(), OnMessage: m.heard, OnStatus: func(health.Bot) { m.wake() }, Marks: marks})
	m.start()
	m.untilTold("ruda", "created missed by ruda (missed)")
	for _, id := range []string{"ruda", "eden"} {
		m.untilTold(id, "created missed (missed)")
	}
	m.post(m.channel.ID, "new")
	for id, want := range map[string][]string{
		"ruda": {"created missed (missed)", "created missed by ruda (missed)", "created new"},
		"eden": {"created alone (missed)", "created missed (missed)", "created new"},
	} {
		m.untilTold(id, "created new")
		got := m.told(id)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s was told (-want +got):\n%s", id, diff)
		}
	}
	if n := len(m.RequestsTo(discordtest.Match{Route: "GET /channels/{channel}/messages", Bot: m.ruda.ID, Channel: talk.ID})); n != 0 {
		t.Errorf("ruda has asked for eden's conversation %d times, want none", n)
	}
}

func TestAccountsThatComeLaterBeginWhereTheOthersAre(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	last := m.post(m.channel.ID, "known")
	m.post(m.channel.ID, "missed")
	m.Bots = discord.New(channel.Options{Transport: m.Transport(), OnMessage: m.heard, OnStatus: func(health.Bot) { m.wake() },
		Marks: []channel.Mark{{GuildID: m.guild.ID, ChannelID: m.channel.ID, MessageID: last.ID}}})
	all := m.settings.accounts
	m.settings.accounts = all[:1]
	m.start()
	m.untilTold("ruda", "created missed (missed)")
	m.post(m.channel.ID, "of ruda alone")
	m.post(m.channel.ID, "the next")
	m.untilTold("ruda", "created the next") // so the one before is recorded, not only delivered
	m.settings.accounts = all
	m.Configure(m.settings.read(t))
	m.untilState("eden", health.BotReady)
	m.post(m.channel.ID, "of both")
	ofEden := func() []string {
		return slices.DeleteFunc(slices.Clone(m.told("eden")), func(line string) bool { return strings.HasPrefix(line, "created the next") })
	}
	m.until("eden to be told", func() bool { return len(ofEden()) > 0 })
	if got := ofEden(); len(got) != 1 || !strings.HasPrefix(got[0], "created of both") {
		t.Errorf("eden, which came later, was told %q, want what was written since alone", got)
	}
}
