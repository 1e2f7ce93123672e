package discord_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/discordtest"
)

// token is one that tells the user id of its bot: 100000000000000001 or 100000000000000002.
func token(n string) string {
	return "MTAwMDAwMDAwMDAwMDAwMDA" + n + ".GabcdE.0123456789012345678901234567"
}

func TestBotsHaveTwoNames(t *testing.T) {
	t.Parallel()
	s := settings{
		accounts: []account{{id: "Alpha", token: token("x")}, {id: "seum", token: token("y")}, {id: "odd"}},
		agents:   []string{"Ruda=루다", "seum", "idle"}, bindings: map[string]string{"alpha": "RUDA", "ghost": "idle"},
	}
	b := discord.New(channel.Options{})
	b.Configure(s.read(t))
	r := b.Registry()
	for name, want := range map[string]string{"ruda": "ruda", " RUDA ": "ruda", "alpha": "ruda", "ALPHA": "ruda", "<@100000000000000001>": "ruda", "<@!100000000000000001>": "ruda",
		"100000000000000001": "ruda", "seum": "seum", "idle": "idle", "stranger": "", "": "", "<@>": "", "odd": ""} {
		if got, ok := r.Agent(name); got != want || ok != (want != "") {
			t.Errorf("%q means agent %q (%t), want %q", name, got, ok, want)
		}
	}
	for name, want := range map[string]string{"ruda": "Alpha", "Alpha": "Alpha", "seum": "seum", "odd": "odd", "idle": "", "stranger": ""} {
		if got, ok := r.Bot(name); got.AccountID != want || ok != (want != "") {
			t.Errorf("%q has the bot of account %q (%t), want %q", name, got.AccountID, ok, want)
		}
	}
	if who, ok := r.User("100000000000000001"); !ok || who.AgentID != "ruda" || who.AgentName != "루다" || who.Connected {
		t.Errorf("the user is %+v, want ruda's bot, not connected", who)
	}
	var codes []string
	for _, w := range r.Warnings() {
		codes = append(codes, w.Code+" "+w.Subject)
		if w.Text == "" || w.Hint == "" {
			t.Errorf("%+v has to say what is so and what to do", w)
		}
	}
	slices.Sort(codes)
	if diff := cmp.Diff([]string{"account_without_token odd", "agent_without_bot idle", "binding_without_account ghost"}, codes); diff != "" {
		t.Errorf("the warnings (-want +got):\n%s", diff)
	}
	want := []string{"account Alpha -> agent ruda, bot 100000000000000001, not connected", "account odd -> agent (none), bot (unknown), not connected",
		"account seum -> agent seum, bot 100000000000000002, not connected"}
	if diff := cmp.Diff(want, r.Table()); diff != "" {
		t.Errorf("the table (-want +got):\n%s", diff)
	}
	if got := r.ForCollaborate(); len(got) != 0 {
		t.Errorf("connected are %v, want none", got)
	}
}

func TestBindingsSayWhoSpeaks(t *testing.T) {
	t.Parallel()
	s := settings{accounts: []account{{id: "a", token: token("x")}, {id: "b", token: token("y")}, {id: "c", token: token("y")}},
		agents: []string{"ruda", "eden"}, bindings: map[string]string{"a": "eden", "b": "gone"}}
	b := discord.New(channel.Options{})
	b.Configure(s.read(t))
	got := map[string]string{}
	for _, w := range b.Registry().Warnings() {
		got[w.Code] += w.Subject + " "
	}
	if diff := cmp.Diff(map[string]string{"bot_without_agent": "b c ", "same_bot": "c ", "agent_without_bot": "ruda "}, got); diff != "" {
		t.Errorf("the warnings (-want +got):\n%s", diff)
	}
	s.bindings = map[string]string{"*": "ruda", "a": "eden"}
	b.Configure(s.read(t))
	agents := map[string]string{}
	for _, i := range b.Registry().Bots() {
		agents[i.AccountID] = i.AgentID
	}
	if diff := cmp.Diff(map[string]string{"a": "eden", "b": "ruda", "c": "ruda"}, agents); diff != "" {
		t.Errorf("with a binding for any account (-want +got):\n%s", diff)
	}
}

func TestDecisionsAreGivenTheBots(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	m.settings.accounts = append(m.settings.accounts, account{id: "off", token: token("x"), disabled: true})
	m.run()
	for _, id := range []string{"ruda", "eden"} {
		m.until(id+" to be known as connected", func() bool { who, _ := m.Registry().Account(id); return who.Connected || wait(m, time.Millisecond) })
	}
	r := m.Registry()
	if diff := cmp.Diff([]route.Bot{{UserID: m.eden.ID, AccountID: "eden", Agent: "eden", Name: "이든"}, {UserID: "100000000000000001", AccountID: "off", Blind: true},
		{UserID: m.ruda.ID, AccountID: "ruda", Agent: "ruda", Name: "루다"}}, r.ForRoute()); diff != "" {
		t.Errorf("for route (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]collaborate.Bot{{AccountID: "eden", UserID: m.eden.ID, Agent: "eden"}, {AccountID: "ruda", UserID: m.ruda.ID, Agent: "ruda"}}, r.ForCollaborate()); diff != "" {
		t.Errorf("for collaborate (-want +got):\n%s", diff)
	}
}

// A bot that is about to connect counts as connected: after a start, or during a reconnection, no one is told that there is no bot.
func TestConnectingBotsAreCounted(t *testing.T) {
	t.Parallel()
	m := newTeam(t, func(_ *discordtest.Options, o *channel.Options) { o.Most = time.Hour })
	m.settings.accounts[1].user = m.eden.ID
	held := make(chan struct{})
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: "GET /applications/@me", Bot: m.eden.ID}, Effect: discordtest.Hold(held)})
	m.run()
	m.untilState("ruda", health.BotReady)
	both := []collaborate.Bot{{AccountID: "eden", UserID: m.eden.ID, Agent: "eden"}, {AccountID: "ruda", UserID: m.ruda.ID, Agent: "ruda"}}
	m.until("ruda to be known as connected", func() bool { who, _ := m.Registry().Account("ruda"); return who.Connected || wait(m, time.Millisecond) })
	if diff := cmp.Diff(both, m.Registry().ForCollaborate()); diff != "" {
		t.Errorf("while eden connects (-want +got):\n%s", diff)
	}
	if who, _ := m.Registry().Account("eden"); who.Connected {
		t.Errorf("%+v, want it not to be connected yet", who)
	}
	m.eden.RefuseAsUnknown()
	close(held)
	m.untilState("eden", health.BotFailed)
	m.until("eden to be left out", func() bool { return cmp.Equal(both[1:], m.Registry().ForCollaborate()) || wait(m, time.Millisecond) })
}

func TestNamesAreResolvedWithoutAsking(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	role := m.guild.Grant(m.bora.ID, discordtest.ManageThreads)
	m.settings.discord = map[string]any{"mentions": map[string]any{"100000000000000009": "민준"}}
	m.start()
	thread, err := m.bora.StartThread(m.channel.ID, "plans")
	if err != nil {
		t.Fatal(err)
	}
	m.post(thread.ID, "hi")
	m.untilTold("ruda", "created hi")
	before := len(m.Requests())
	for text, want := range map[string]string{
		"no names < here > <":                               "no names < here > <",
		"<@" + m.ruda.ID + "> and <@!" + m.eden.ID + ">":    "@루다 and @이든",
		"<@" + m.bora.ID + ">:":                             "@bora:",
		"<@100000000000000009>":                             "@민준",
		"see <#" + m.channel.ID + ">, <#" + thread.ID + ">": "see #general, #plans",
		"<@&" + role + "> <@&" + m.guild.ID + ">":           "@bora @everyone",
		"<@123> <#123> <@&123> <@> <#> <a:b:1>":             "<@123> <#123> <@&123> <@> <#> <a:b:1>",
		"<<@" + m.ruda.ID + ">>":                            "<@루다>",
	} {
		if got := m.Resolve(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if m.UserName(m.bora.ID) != "bora" || m.ChannelName(thread.ID) != "plans" || m.UserName("1") != "" || m.ChannelName("1") != "" {
		t.Errorf("the names are %q, %q, %q, %q", m.UserName(m.bora.ID), m.ChannelName(thread.ID), m.UserName("1"), m.ChannelName("1"))
	}
	if n := len(m.Requests()); n != before {
		t.Errorf("%d requests were made, want none", n-before)
	}
}
