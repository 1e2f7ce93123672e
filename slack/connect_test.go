package slack_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/slack"
	"github.com/pronto-lab/openclawd/slack/slacktest"
)

const listing = "conversations.history"

// lost is for servers that do not repeat what was not delivered.
func lost(s *slacktest.Options, _ *channel.Options) { s.Retries = slacktest.NoRetries() }

func TestWhatWasMissedIsReadOnceAndFirst(t *testing.T) {
	t.Parallel()
	m := newTeam(t, lost)
	quiet := m.AddChannel("quiet", m.bora.ID, m.ruda.UserID)
	hidden := m.AddChannel("hidden", m.bora.ID)
	m.post(quiet.ID, "long ago")
	root := m.post(m.channel.ID, "root")
	old := m.post(m.channel.ID, "old root")
	m.start()
	direct := m.bora.Conversation(m.ruda.UserID)
	m.post(m.channel.ID, "before")
	m.untilTold("ruda", "created before")
	must(t)(m.bora.Reply(m.channel.ID, root.TS, "in the thread before"))
	m.untilTold("ruda", "created in the thread before")
	m.post(direct.ID, "directly before")
	m.untilTold("ruda", "created directly before")

	gate := make(chan struct{})
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: "apps.connections.open", App: m.ruda.ID}, Effect: slacktest.Hold(gate)})
	m.ruda.Drop()
	var want []string
	for i := range 250 {
		m.post(m.channel.ID, "i"+strconv.Itoa(i))
		want = append(want, "created i"+strconv.Itoa(i)+" (missed)")
	}
	must(t)(m.bora.Reply(m.channel.ID, root.TS, "in a known thread"))
	must(t)(m.bora.Reply(m.channel.ID, old.TS, "in an unknown thread"))
	fresh := m.post(m.channel.ID, "new root")
	must(t)(m.bora.Reply(m.channel.ID, fresh.TS, "in a new thread"))
	for _, id := range []string{quiet.ID, direct.ID, hidden.ID} {
		m.post(id, "missed in "+id)
	}
	close(gate)
	m.untilTold("ruda", "created in a new thread (missed)")
	m.untilTold("ruda", "created in a known thread (missed)")
	m.untilTold("ruda", "created in an unknown thread (missed)")
	m.untilTold("ruda", "created missed in "+quiet.ID+" (missed)")
	m.untilTold("ruda", "created missed in "+direct.ID+" (missed)")
	m.post(m.channel.ID, "after")
	m.untilTold("ruda", "created after")
	var got []string
	for _, in := range m.told("ruda") {
		if strings.HasPrefix(in, "created i") && !strings.Contains(in, "thread") {
			got = append(got, in)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ruda was told of the channel (-want +got):\n%s", diff)
	}
	all := m.told("ruda")
	if slices.Contains(all, "created missed in "+hidden.ID+" (missed)") || slices.Contains(all, "created long ago (missed)") {
		t.Error("ruda was told what it does not see, or what was there before it began")
	}
	if n := len(all); n != 3+250+4+2+1 {
		t.Errorf("ruda was told %d facts, want %d, each once", n, 3+250+4+2+1)
	}
	if s := m.status("ruda"); s.Connections != 2 || s.Unread != 0 || s.Fetched != 250+4+2 {
		t.Errorf("the status is %+v", s)
	}
	if slices.ContainsFunc(m.told("eden"), func(s string) bool { return strings.HasSuffix(s, "(missed)") }) {
		t.Error("eden was told of missed messages, but was there all the time")
	}
}

// What cannot be read is read before what follows: otherwise a restart in between would continue from the newer message.
func TestWhatCannotBeReadIsReadBeforeWhatFollows(t *testing.T) {
	t.Parallel()
	m := newTeam(t, lost)
	other := m.AddChannel("other", m.bora.ID, m.ruda.UserID)
	m.start()
	m.post(m.channel.ID, "before")
	m.untilTold("ruda", "created before")
	fault := m.Inject(slacktest.Fault{Match: slacktest.Match{Method: listing, App: m.ruda.ID, Channel: m.channel.ID}, Times: -1, Effect: slacktest.Unavailable(503)})
	gate := make(chan struct{})
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: "apps.connections.open", App: m.ruda.ID}, Effect: slacktest.Hold(gate)})
	m.ruda.Drop()
	m.post(m.channel.ID, "missed")
	close(gate)
	m.until("ruda to have tried", func() bool { return fault.Hits() >= 3 })
	m.untilSeen("ruda to go on", func() bool { return m.status("ruda").Unread == 1 })
	m.post(m.channel.ID, "after it")
	m.post(other.ID, "elsewhere")
	m.untilTold("ruda", "created elsewhere")
	tried := fault.Hits()
	m.until("ruda to try again", func() bool { return fault.Hits() > tried })
	fault.Remove()
	m.untilTold("ruda", "created after it (missed)")
	m.post(m.channel.ID, "live")
	m.untilTold("ruda", "created live")
	want := []string{"created before", "created elsewhere", "created missed (missed)", "created after it (missed)", "created live"}
	if diff := cmp.Diff(want, m.told("ruda")); diff != "" {
		t.Errorf("ruda was told (-want +got):\n%s", diff)
	}
	if s := m.status("ruda"); s.Unread != 1 {
		t.Errorf("the status is %+v, want one that was unread once", s)
	}
}

func TestMarksOfTheLastRunAreUsed(t *testing.T) {
	t.Parallel()
	m := newTeam(t, lost)
	known := m.post(m.channel.ID, "known")
	root := m.post(m.channel.ID, "root")
	reply := must(t)(m.bora.Reply(m.channel.ID, root.TS, "known reply"))
	m.post(m.channel.ID, "unknown")
	must(t)(m.bora.Reply(m.channel.ID, root.TS, "unknown reply"))
	other := m.AddChannel("other", m.bora.ID, m.ruda.UserID)
	m.post(other.ID, "elsewhere")
	m.options.Marks = []channel.Mark{{AccountID: "ruda", GuildID: "slack:t00000001", ChannelID: m.place, MessageID: m.place + ":" + known.TS},
		{AccountID: "ruda", GuildID: "slack:t00000001", ChannelID: m.place + ":thread:" + root.TS, MessageID: m.place + ":" + reply.TS}}
	m.Apps = slack.New(m.options)
	m.start()
	m.untilTold("ruda", "created unknown reply (missed)")
	m.post(m.channel.ID, "new")
	m.untilTold("ruda", "created new")
	m.untilTold("eden", "created new")
	got := m.told("ruda")
	slices.Sort(got)
	want := []string{"created elsewhere (missed)", "created new", "created root (missed)", "created unknown (missed)", "created unknown reply (missed)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ruda was told (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"created new"}, m.told("eden")); diff != "" {
		t.Errorf("eden, of which nothing is known, was told (-want +got):\n%s", diff)
	}
}

// While one app was away, the others went on: the newest message that the log knows says nothing of the conversations that
// only that app has.
func TestTheFirstDirectMessageDuringAnOutageOfOneAppIsRead(t *testing.T) {
	t.Parallel()
	m := newTeam(t, lost)
	other := m.AddChannel("other", m.bora.ID, m.eden.UserID)
	first := m.post(m.channel.ID, "known to both")
	direct := m.bora.Conversation(m.ruda.UserID)
	m.post(direct.ID, "psst")
	newest := m.post(other.ID, "known to eden")
	m.options.Marks = []channel.Mark{{GuildID: "slack:t00000001", ChannelID: m.place, MessageID: m.place + ":" + first.TS},
		{GuildID: "slack:t00000001", ChannelID: place(other.ID), MessageID: place(other.ID) + ":" + newest.TS}}
	m.Apps = slack.New(m.options)
	m.start()
	m.untilTold("ruda", "created psst (missed)")
	m.post(m.channel.ID, "new")
	m.until("eden to be told", func() bool { return len(m.told("eden")) > 0 })
	if got := m.told("eden"); len(got) != 1 || strings.TrimSuffix(got[0], " (missed)") != "created new" { // eden may still be reading
		t.Errorf("eden was told %q, want the new message alone", got)
	}
}

// An app that the log has not seen answers only what came after it was added; one that was added during the outage of the program, too.
func TestANewAppAnswersNothingOfBeforeItWasAdded(t *testing.T) {
	t.Parallel()
	for name, added := range map[string]bool{"never seen": false, "seen between the messages": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ahead atomic.Int64 // of the clock, in seconds
			now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load()) * time.Second) }
			m := newTeam(t, lost, func(s *slacktest.Options, _ *channel.Options) { s.Now = now })
			first := m.post(m.channel.ID, "known")
			direct := m.bora.Conversation(m.ruda.UserID)
			m.post(direct.ID, "before")
			ahead.Add(10)
			seen := now().UnixMilli()
			ahead.Add(10)
			m.post(direct.ID, "after")
			ahead.Add(10)
			m.options.Marks = []channel.Mark{{GuildID: "slack:t00000001", ChannelID: m.place, MessageID: m.place + ":" + first.TS}}
			m.options.FirstSeen = func(account, _ string) int64 {
				if !added || account != "ruda" {
					return 0
				}
				return seen
			}
			m.Apps = slack.New(m.options)
			m.start()
			m.post(direct.ID, "new")
			told := func() (all []string) {
				for _, one := range m.told("ruda") {
					all = append(all, strings.TrimSuffix(one, " (missed)")) // the app may still be reading
				}
				return all
			}
			m.until("ruda to be told of the new message", func() bool { return slices.Contains(told(), "created new") })
			want := []string{"created new"}
			if added {
				want = []string{"created after", "created new"}
			}
			if diff := cmp.Diff(want, told()); diff != "" {
				t.Errorf("ruda was told (-want +got):\n%s", diff)
			}
		})
	}
}

// A fact is stored before Slack is told that it has arrived: after a kill in between, Slack tells it again.
func TestEventsAreAcknowledgedOnceStored(t *testing.T) {
	t.Parallel()
	stored := make(chan struct{})
	m := newTeam(t)
	m.options.OnMessage = func(in channel.Inbound) { <-stored; m.heard(in) }
	m.Apps, m.accounts = slack.New(m.options), m.accounts[:1]
	m.start()
	m.post(m.channel.ID, "hi")
	if _, err := m.WaitDelivery(m.ctx, m.ruda.ID, func(d slacktest.Delivery) bool { return d.Attempts > 0 }); err != nil {
		t.Fatal(err)
	}
	if all := m.Deliveries(m.ruda.ID); all[0].Acked {
		t.Error("the event was acknowledged before it was stored")
	}
	close(stored)
	if _, err := m.WaitDelivery(m.ctx, m.ruda.ID, func(d slacktest.Delivery) bool { return d.Acked }); err != nil {
		t.Fatal(err)
	}
}

func TestRepeatedEventsAreOneFact(t *testing.T) {
	t.Parallel()
	m := newTeam(t, func(s *slacktest.Options, _ *channel.Options) {
		s.Ack, s.Retries = 2*time.Second, []time.Duration{time.Millisecond, time.Hour}
	}).start()
	m.ruda.LoseAcks(1)
	m.ruda.SendTwice(1)
	first := m.post(m.channel.ID, "hi "+m.ruda.Mention()) // told as a message and as a mention
	m.until("all to be acknowledged", func() bool {
		all := m.Deliveries(m.ruda.ID)
		return len(all) == 3 && !slices.ContainsFunc(all, func(d slacktest.Delivery) bool { return !d.Acked })
	})
	m.ruda.Repeat()
	if err := m.bora.Edit(m.channel.ID, first.TS, "changed"); err != nil {
		t.Fatal(err)
	}
	m.untilTold("ruda", "edited changed")
	if diff := cmp.Diff([]string{"created hi " + m.ruda.Mention(), "edited changed"}, m.told("ruda")); diff != "" {
		t.Errorf("ruda was told (-want +got):\n%s", diff)
	}
}

func TestSlackMayAskToReconnect(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	for i, reason := range []string{"warning", "refresh_requested"} { // after either the app connects again
		m.ruda.Disconnect(reason)
		m.post(m.channel.ID, reason)
		m.until("ruda to be told", func() bool { return len(m.told("ruda")) > i })
	}
	m.untilState("ruda", health.BotReady)
	if all := m.told("ruda"); len(all) != 2 {
		t.Errorf("ruda was told %q, want each once", all)
	}
}

func TestRefusedTokensAreExplainedAndNotShown(t *testing.T) {
	t.Parallel()
	m := newTeam(t, func(_ *slacktest.Options, o *channel.Options) { o.Most = time.Hour }) // only Configure lets it try again in time
	wrong := account("ruda", m.ruda)
	wrong.Token = "xoxb-1-00000000000000000000000000000000"
	wrongApp := account("eden", m.eden)
	wrongApp.AppToken = "xapp-1-00000000000000000000000000000000"
	right := m.accounts
	m.accounts = []config.Account{wrong, wrongApp}
	m.run()
	s := m.untilState("ruda", health.BotFailed)
	if s.Class != slack.ClassToken || !strings.Contains(s.Text, "invalid_auth") || !strings.Contains(s.Hint, "channels.slack.accounts.ruda") || s.NextTry == 0 {
		t.Errorf("the status is %+v, want token_refused, Slack's word, and where to put the token", s)
	}
	if s := m.untilState("eden", health.BotFailed); s.Class != slack.ClassToken || !strings.Contains(s.Text, "app token") {
		t.Errorf("the status is %+v, want that the app token is refused", s)
	}
	m.accounts = right
	m.Configure(m.settings())
	m.untilState("ruda", health.BotReady)
	m.untilState("eden", health.BotReady)
	m.halt()
	for _, token := range []config.Secret{wrong.Token, wrongApp.AppToken, right[0].Token, right[0].AppToken} {
		if text := m.log.String() + s.Text + s.Hint; strings.Contains(text, token.Reveal()) || strings.Contains(text, "ticket=") {
			t.Errorf("the token %s is shown:\n%s", token.Reveal(), m.log)
		}
	}
}

func TestMissingScopesAreToldAndLivedWith(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	m.ruda.SetScopes("chat:write", "channels:history", "channels:read", "app_mentions:read", "im:history", "im:read", "mpim:history", "mpim:read", "groups:history")
	m.start()
	if s := m.status("ruda"); !strings.Contains(s.Missing, "groups:read") || !strings.Contains(s.Missing, "users:read") || !strings.Contains(s.MissingHint, "OAuth") {
		t.Errorf("ruda's status is %+v, want the scopes and a hint", s)
	}
	if s := m.status("eden"); s.Missing != "" {
		t.Errorf("eden lacks %q, want nothing", s.Missing)
	}
	m.post(m.channel.ID, "hi")
	if in := m.untilTold("ruda", "created hi"); in.Message.Author.ID != m.bora.ID {
		t.Errorf("the author is %+v, want bora's id", in.Message.Author)
	}
	m.ruda.Refuse("token_revoked")
	m.ruda.Drop()
	if s := m.untilState("ruda", health.BotFailed); !strings.Contains(s.Text, "token_revoked") {
		t.Errorf("the status is %+v, want token_revoked", s)
	}
	m.ruda.Refuse("")
	m.untilState("ruda", health.BotReady)
}

func TestReloadingChangesWhatItHasTo(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	both := m.accounts
	m.accounts = both[:1]
	m.start()
	m.accounts = both
	m.Configure(m.settings())
	m.untilState("eden", health.BotReady)
	if who, ok := m.Registry().Bot("eden"); !ok || who.UserID != m.eden.UserID || !who.Connected {
		t.Errorf("eden's bot is %+v, want %s, connected", who, m.eden.UserID)
	}
	off := both[1]
	off.Enabled = false
	m.accounts = []config.Account{both[0], off}
	m.Configure(m.settings())
	if err := m.WaitGone(m.ctx, m.eden); err != nil {
		t.Fatal(err)
	}
	if s := m.status("eden"); s.State != health.BotOff {
		t.Errorf("eden is %+v, want it off", s)
	}
	if s := m.status("ruda"); s.State != health.BotReady || s.Connections != 1 {
		t.Errorf("ruda is %+v, want it to have stayed", s)
	}
}

func TestEndingDoesNotWaitForSlack(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"auth.test", "apps.connections.open", "users.conversations"} {
		m := newTeam(t)
		held := make(chan struct{})
		m.Inject(slacktest.Fault{Match: slacktest.Match{Method: method}, Times: -1, Effect: slacktest.Hold(held)})
		m.run()
		if _, err := m.WaitRequest(m.ctx, slacktest.Match{Method: method}); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() { m.halt(); close(done) }()
		select {
		case <-done:
		case <-time.After(testscale.Patience):
			t.Fatal("Run waits for Slack")
		}
		close(held)
	}
}

// A message from before the last one that was read gets its first replies while the app is away. The conversation's
// messages and the replies are told in the order in which they were written, so that a kill in between loses none.
func TestFirstRepliesToOlderMessagesAreNotMissed(t *testing.T) {
	t.Parallel()
	m := newTeam(t, lost)
	old := m.post(m.channel.ID, "old root")
	m.start()
	m.post(m.channel.ID, "before")
	m.untilTold("ruda", "created before")
	gate := make(chan struct{})
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: "apps.connections.open", App: m.ruda.ID}, Effect: slacktest.Hold(gate)})
	m.ruda.Drop()
	must(t)(m.bora.Reply(m.channel.ID, old.TS, "first reply"))
	m.post(m.channel.ID, "between")
	must(t)(m.bora.Reply(m.channel.ID, old.TS, "second reply"))
	m.post(m.channel.ID, "at last")
	close(gate)
	m.untilTold("ruda", "created at last (missed)")
	want := []string{"created before", "created first reply (missed)", "created between (missed)", "created second reply (missed)", "created at last (missed)"}
	if diff := cmp.Diff(want, m.told("ruda")); diff != "" {
		t.Errorf("ruda was told (-want +got):\n%s", diff)
	}
}

// After a brief gap an app does not read the messages of the last week again.
func TestBriefGapsAreReadWithOneRequest(t *testing.T) {
	t.Parallel()
	m := newTeam(t, lost)
	m.accounts = m.accounts[:1]
	for i := range 450 {
		m.post(m.channel.ID, fmt.Sprint("old ", i))
	}
	m.start()
	m.post(m.channel.ID, "before")
	m.untilTold("ruda", "created before")
	reads := func() int { return len(m.RequestsTo(slacktest.Match{Method: listing, Channel: m.channel.ID})) }
	before := reads()
	gate := make(chan struct{})
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: "apps.connections.open"}, Effect: slacktest.Hold(gate)})
	m.ruda.Drop()
	m.post(m.channel.ID, "missed")
	close(gate)
	m.untilTold("ruda", "created missed (missed)")
	if n := reads() - before; n != 1 {
		t.Errorf("the channel was read with %d requests, want one", n)
	}
}

// Of a large workspace only the conversations of the app are listed; what is beyond the bound is counted.
func TestOnlyOwnConversationsAreListed(t *testing.T) {
	t.Parallel()
	m := newTeam(t, lost)
	for i := range 450 {
		m.AddChannel(fmt.Sprintf("other-%d", i), m.bora.ID)
	}
	last := m.AddChannel("last", m.bora.ID, m.ruda.UserID)
	m.accounts = m.accounts[:1]
	m.start()
	m.post(m.channel.ID, "before")
	m.untilTold("ruda", "created before")
	m.halt()
	m.post(last.ID, "in the last one")
	m.run()
	m.untilTold("ruda", "created in the last one (missed)")
	if all := m.RequestsTo(slacktest.Match{Method: "users.conversations"}); len(all) != 2 {
		t.Errorf("%d requests for lists, want one for each connection", len(all))
	}
	m.halt()
	for i := range 2000 {
		m.AddChannel(fmt.Sprintf("own-%d", i), m.ruda.UserID)
	}
	before := m.status("ruda").Unread
	m.run()
	m.until("what is beyond the bound to be counted", func() bool { return m.status("ruda").Unread > before })
}
