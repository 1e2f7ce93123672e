package discord_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

const (
	listing = "GET /channels/{channel}/messages"
	posting = "POST /channels/{channel}/messages"
)

func TestLostConnectionsAreResumed(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	m.connected(m.ruda)
	m.post(m.channel.ID, "before")
	m.untilTold("ruda", "created before")
	m.ruda.Drop()
	m.post(m.channel.ID, "meanwhile")
	m.untilTold("ruda", "created meanwhile")
	m.until("ruda to resume", func() bool { return m.status("ruda").Resumes == 1 })
	if diff := cmp.Diff([]string{"created before", "created meanwhile"}, m.told("ruda")); diff != "" {
		t.Errorf("ruda was told (-want +got):\n%s", diff)
	}
	if all := m.RequestsTo(discordtest.Match{Route: listing}); len(all) != 0 {
		t.Errorf("%d channels were read, want none: the session was resumed", len(all))
	}
	if s := m.status("eden"); s.Connections != 1 {
		t.Errorf("eden has connected %d times, want once", s.Connections)
	}
}

func TestWhatWasMissedIsReadOnce(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	quiet, empty := m.guild.AddChannel("quiet", discordtest.ChannelOptions{}), m.guild.AddChannel("empty", discordtest.ChannelOptions{})
	hidden := m.guild.AddChannel("hidden", discordtest.ChannelOptions{HiddenTo: []string{m.ruda.ID}})
	m.post(quiet.ID, "long ago")
	m.start()
	direct, err := m.bora.Conversation(m.ruda.ID)
	if err != nil {
		t.Fatal(err)
	}
	thread, err := m.bora.StartThread(m.channel.ID, "plans")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{m.channel.ID, thread.ID, direct.ID} {
		m.post(id, "before in "+id)
		m.untilTold("ruda", "created before in "+id)
	}
	m.connected(m.ruda)

	m.ruda.Drop()
	m.ruda.ForgetSessions()
	var want []string
	for i := range 120 {
		text := "i" + strconv.Itoa(i)
		m.post(m.channel.ID, text)
		want = append(want, "created "+text+" (missed)")
	}
	for _, id := range []string{quiet.ID, empty.ID, thread.ID, direct.ID, hidden.ID} {
		m.post(id, "missed in "+id)
	}
	if err := m.bora.SetArchived(thread.ID, true); err != nil {
		t.Fatal(err)
	}
	late, err := m.bora.StartThread(m.channel.ID, "new")
	if err != nil {
		t.Fatal(err)
	}
	m.post(late.ID, "missed in "+late.ID)
	for _, id := range []string{quiet.ID, empty.ID, thread.ID, direct.ID, late.ID} {
		m.untilTold("ruda", "created missed in "+id+" (missed)")
	}
	m.until("ruda to have read all", func() bool { return m.status("ruda").Fetched == 120+5 || wait(m, time.Millisecond) })
	m.post(m.channel.ID, "after")
	m.untilTold("ruda", "created after")

	var got []string
	for _, in := range m.told("ruda") {
		if strings.HasPrefix(in, "created i") {
			got = append(got, in)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ruda was notified of the channel (-want +got):\n%s", diff)
	}
	all := m.told("ruda")
	if n := len(all); n != 3+120+5+1 || all[n-1] != "created after" {
		t.Errorf("ruda was told %d facts, the last one %q; want 129, each once, and the newest last", n, all[n-1])
	}
	if s := m.status("ruda"); s.Unread != 0 || s.Connections != 2 || s.Resumes != 0 {
		t.Errorf("ruda's status is %+v, want two connections, none resumed, nothing unread", s)
	}
	if slices.ContainsFunc(m.told("eden"), func(s string) bool { return strings.HasSuffix(s, "(missed)") }) {
		t.Error("eden was notified of missed messages, but was there all the time")
	}
}

// Unreadable messages are read as soon as possible, and messages of the same channel after them: otherwise a restart in between would
// continue from the newer message and lose the older one.
func TestWhatCannotBeReadIsReadBeforeWhatFollows(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	other := m.guild.AddChannel("other", discordtest.ChannelOptions{})
	m.start()
	m.post(m.channel.ID, "before")
	m.untilTold("ruda", "created before")
	m.connected(m.ruda)
	fault := m.Inject(discordtest.Fault{Match: discordtest.Match{Route: listing, Bot: m.ruda.ID, Channel: m.channel.ID}, Times: -1,
		Effect: discordtest.Unavailable(503)})
	m.ruda.Drop()
	m.ruda.ForgetSessions()
	m.post(m.channel.ID, "missed")
	m.until("ruda to have tried", func() bool { return m.status("ruda").Unread == 1 || wait(m, 10*time.Millisecond) })
	m.post(m.channel.ID, "after it")
	m.post(other.ID, "elsewhere")
	m.untilTold("ruda", "created elsewhere")
	tried := fault.Hits()
	m.until("ruda to try again", func() bool { return fault.Hits() > tried+2 || wait(m, 10*time.Millisecond) })
	fault.Remove()
	m.untilTold("ruda", "created after it (missed)")
	m.post(m.channel.ID, "live")
	m.untilTold("ruda", "created live")
	want := []string{"created before", "created elsewhere", "created missed (missed)", "created after it (missed)", "created live"}
	if diff := cmp.Diff(want, m.told("ruda")); diff != "" {
		t.Errorf("ruda was told (-want +got):\n%s", diff)
	}
	if s := m.status("ruda"); s.Unread != 1 || s.Fetched != 2 {
		t.Errorf("the status is %+v, want one that was unread once, and two messages fetched", s)
	}
}

// wait looks again after a while, where nothing tells of what is waited for.
func wait(m *team, d time.Duration) bool {
	time.AfterFunc(d, m.wake)
	return false
}

func TestMarksOfTheLastRunAreUsed(t *testing.T) {
	t.Parallel()
	var known string
	m := newTeam(t)
	known = m.post(m.channel.ID, "known").ID
	m.post(m.channel.ID, "unknown")
	other := m.guild.AddChannel("other", discordtest.ChannelOptions{})
	m.post(other.ID, "elsewhere")
	b := discord.New(channel.Options{OnMessage: m.heard, OnStatus: func(health.Bot) { m.wake() }, Transport: m.Transport(),
		Marks: []channel.Mark{{AccountID: "ruda", GuildID: m.guild.ID, ChannelID: m.channel.ID, MessageID: known}}})
	m.Bots = b
	m.start()
	m.untilTold("ruda", "created unknown (missed)")
	m.untilTold("ruda", "created elsewhere (missed)")
	m.post(m.channel.ID, "new")
	m.untilTold("eden", "created new")
	m.untilTold("ruda", "created new")
	if diff := cmp.Diff([]string{"created new"}, m.told("eden")); diff != "" {
		t.Errorf("eden, of which nothing is known, was told (-want +got):\n%s", diff)
	}
}

func TestSilentSocketsAreGivenUp(t *testing.T) {
	t.Parallel()
	m := newTeam(t, func(s *discordtest.Options, o *channel.Options) {
		s.Heartbeat, o.Silence = time.Second, 1500*time.Millisecond // the library waits for five heartbeats
	}).start()
	m.ruda.MuteAcks(true)
	before, muted := m.Heartbeats(m.ruda.ID), 0
	m.until("ruda to lose its socket", func() bool {
		muted = max(muted, m.Heartbeats(m.ruda.ID)-before)
		return m.status("ruda").State != health.BotReady || wait(m, 10*time.Millisecond)
	})
	if muted >= 5 {
		t.Errorf("ruda gave up its socket after %d heartbeats without an answer, want after 1.5 s and before the library does", muted)
	}
	m.ruda.MuteAcks(false)
	m.until("ruda to connect again", func() bool { s := m.status("ruda"); return s.Connections >= 2 && s.State == health.BotReady })
}

func TestDiscordMayAskToReconnect(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	m.connected(m.ruda)
	m.ruda.AskToReconnect()
	m.until("ruda to resume", func() bool { return m.status("ruda").Resumes == 1 })
	m.connected(m.ruda)
	m.ruda.Invalidate()
	m.post(m.channel.ID, "hi")
	m.until("ruda to be told", func() bool {
		return slices.ContainsFunc(m.told("ruda"), func(s string) bool { return strings.HasPrefix(s, "created hi") })
	})
}

func TestRefusedTokensAreNotLogged(t *testing.T) {
	t.Parallel()
	const wrong = "MTAwMDAwMDAwMDAwMDAwMDAw.GabcdE.wrong-wrong-wrong-wrong-wrong-00"
	m := newTeam(t, func(_ *discordtest.Options, o *channel.Options) { o.Most = time.Hour }) // only Configure lets it try again in time
	right := m.settings.accounts[0].token
	m.settings.accounts[0].token = wrong
	m.run()
	s := m.untilState("ruda", health.BotFailed)
	if s.Class != discord.ClassToken || !strings.Contains(s.Text, "ruda") || !strings.Contains(s.Hint, "channels.discord.accounts.ruda.token") || s.NextTry == 0 {
		t.Errorf("the status is %+v, want token_refused, the account's name, where to put the token, and when it is tried again", s)
	}
	m.untilState("eden", health.BotReady)
	m.settings.accounts[0].token = right
	m.Configure(m.settings.read(t))
	m.untilState("ruda", health.BotReady)
	if s := m.status("eden"); s.Connections != 1 || s.State != health.BotReady {
		t.Errorf("eden is %+v, want it to be left alone", s)
	}
	m.halt()
	for _, token := range []string{wrong, right, m.eden.Token} {
		if strings.Contains(m.log.String(), token) || strings.Contains(s.Text+s.Hint, token) {
			t.Errorf("the token %s is shown:\n%s", token, m.log)
		}
	}
}

func TestTokensThatAreTakenBackAreTold(t *testing.T) {
	t.Parallel()
	m := newTeam(t, func(_ *discordtest.Options, o *channel.Options) { o.Most = time.Hour }).start()
	m.connected(m.ruda)
	m.ruda.RefuseAsUnknown()
	if s := m.untilState("ruda", health.BotFailed); s.Class != discord.ClassToken {
		t.Errorf("the status is %+v, want token_refused", s)
	}
	m.ruda.Accept()
	m.Configure(m.settings.read(t)) // which says the same
	m.untilState("ruda", health.BotReady)
}

func TestMissingIntentIsToldAndLivedWith(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	seum := m.AddBot("seum", discordtest.BotOptions{WithoutContent: true})
	m.guild.Join(seum.ID)
	m.settings.accounts = append(m.settings.accounts, account{id: "seum", token: seum.Token})
	m.start()
	s := m.status("seum")
	if !strings.Contains(s.Missing, "Message Content") || !strings.Contains(s.MissingHint, "developer portal") {
		t.Errorf("seum's status is %+v, want the intent and its hint", s)
	}
	if s := m.status("ruda"); s.Missing != "" {
		t.Errorf("ruda lacks %q, want nothing", s.Missing)
	}
	own := m.guild.AddChannel("seum", discordtest.ChannelOptions{HiddenTo: []string{m.ruda.ID, m.eden.ID}})
	m.post(m.channel.ID, "first "+seum.Mention())
	m.untilTold("ruda", "created first "+seum.Mention()) // it knows by then what it sees
	m.post(m.channel.ID, "for all")
	m.post(own.ID, "for seum alone")
	m.post(m.channel.ID, "for "+seum.Mention())
	m.untilTold("seum", "created for "+seum.Mention())
	if diff := cmp.Diff([]string{"created first " + seum.Mention(), "created ", "created for " + seum.Mention()}, m.told("seum")); diff != "" {
		t.Errorf("seum got other messages than the one that only it sees, and the one that it may read (-want +got):\n%s", diff)
	}
	m.untilTold("ruda", "created for "+seum.Mention())
	if diff := cmp.Diff([]string{"created first " + seum.Mention(), "created for all", "created for " + seum.Mention()}, m.told("ruda")); diff != "" {
		t.Errorf("ruda was told (-want +got):\n%s", diff)
	}
}

func TestReloadingChangesWhatItHasTo(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	both := m.settings.accounts
	m.settings.accounts = both[:1]
	m.start()
	if diff := cmp.Diff([]string{m.ruda.ID}, m.Connected()); diff != "" {
		t.Fatalf("connected are (-want +got):\n%s", diff)
	}
	m.settings.accounts = both
	m.Configure(m.settings.read(t))
	m.untilState("eden", health.BotReady)
	if who, ok := m.Registry().Bot("eden"); !ok || who.UserID != m.eden.ID || !who.Connected {
		t.Errorf("eden's bot is %+v, want %s, connected", who, m.eden.ID)
	}

	m.settings.accounts = []account{both[0], {id: "eden", token: both[1].token, disabled: true}}
	m.Configure(m.settings.read(t))
	if err := m.WaitGone(m.ctx, m.eden.ID); err != nil {
		t.Fatal(err)
	}
	if s := m.status("eden"); s.State != health.BotOff {
		t.Errorf("eden is %+v, want it off", s)
	}
	if s := m.status("ruda"); s.State != health.BotReady || s.Connections != 1 {
		t.Errorf("ruda is %+v, want it to have stayed", s)
	}
	m.settings.accounts = nil
	m.Configure(m.settings.read(t))
	if err := m.WaitGone(m.ctx, m.ruda.ID); err != nil {
		t.Fatal(err)
	}
	if all := m.Status(); len(all) != 0 {
		t.Errorf("the states are %+v, want none", all)
	}
}

func TestEndingDoesNotWaitForDiscord(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	held := make(chan struct{})
	defer close(held)
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: "GET /applications/@me"}, Times: -1, Effect: discordtest.Hold(held)})
	m.run()
	if _, err := m.WaitRequest(m.ctx, discordtest.Match{Route: "GET /applications/@me"}); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { m.halt(); close(done) }()
	select {
	case <-done:
	case <-time.After(testscale.Patience):
		t.Fatal("Run waits for Discord")
	}
}
