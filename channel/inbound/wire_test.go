package inbound_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/discordtest"
)

// wired is a lab whose bots are connected to a Discord.
type wired struct {
	*fixture
	server  *discordtest.Server
	bots    *discord.Bots
	own     map[string]*discordtest.Bot
	bora    *discordtest.Human
	guild   *discordtest.Guild
	channel string
	ctx     context.Context

	mu      sync.Mutex
	told    int // facts
	ready   map[string]bool
	changed chan struct{}
}

// wire connects agents' bots, and has what they tell heard.
func wire(t *testing.T, agents []string) *wired {
	t.Helper()
	s, err := discordtest.New(discordtest.Options{Limits: discordtest.NoLimits(), Global: discordtest.Limit{Requests: 100_000, Per: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	w := &wired{server: s, own: map[string]*discordtest.Bot{}, ready: map[string]bool{}, changed: make(chan struct{})}
	w.guild, w.bora = s.AddGuild("lab"), s.AddHuman("bora")
	w.guild.Join(w.bora.ID)
	tokens := map[string]string{}
	for _, agent := range agents {
		bot := s.AddBot(agent, discordtest.BotOptions{})
		w.guild.Join(bot.ID)
		w.own[agent], tokens[agent] = bot, bot.Token
	}
	w.channel = w.guild.AddChannel("general", discordtest.ChannelOptions{}).ID
	var cancel context.CancelFunc
	w.ctx, cancel = context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	w.bots = discord.New(channel.Options{
		OnMessage: func(in channel.Inbound) {
			w.fixture.Handle(w.ctx, in)
			w.change(func() { w.told++ })
		},
		OnStatus:  func(st health.Bot) { w.change(func() { w.ready[st.AccountID] = st.State == health.BotReady }) },
		Transport: s.Transport(), Least: 20 * time.Millisecond, Most: 50 * time.Millisecond,
	})
	w.fixture = setup(t, setting{agents: agents, tokens: tokens, bots: w.bots, logs: &buffer{}})
	w.bots.Configure(w.config)
	ctx, stop := context.WithCancel(w.ctx)
	done := make(chan error, 1)
	go func() { done <- w.bots.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run says %v, want nil", err)
		}
	})
	w.until("all bots to be ready", func() bool {
		return !slices.ContainsFunc(agents, func(agent string) bool { return !w.ready["acc-"+agent] })
	})
	for _, agent := range agents {
		if err := s.WaitHeartbeat(w.ctx, w.own[agent].ID); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *wired) change(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
	close(w.changed)
	w.changed = make(chan struct{})
}

// until waits until something holds that facts or states make so.
func (w *wired) until(what string, so func() bool) {
	w.t.Helper()
	for {
		w.mu.Lock()
		changed, is := w.changed, so()
		w.mu.Unlock()
		if is {
			return
		}
		select {
		case <-changed:
		case <-w.ctx.Done():
			w.t.Fatalf("waited in vain for %s: %d facts, %v", what, w.told, w.bots.Status())
		}
	}
}

// post has a person write, and waits until there are as many facts as bots.
func (w *wired) post(place, text string) string {
	w.t.Helper()
	w.mu.Lock()
	want := w.told + len(w.set.agents)
	w.mu.Unlock()
	m, err := w.bora.Post(place, text)
	if err != nil {
		w.t.Fatal(err)
	}
	w.until("all bots to tell of "+text, func() bool { return w.told >= want })
	return m.ID
}

// Ten real bots report the same messages, some dispatches come twice, sockets are lost: each agent that handles a message runs once.
func TestTenBotsOnTheWire(t *testing.T) {
	t.Parallel()
	w := wire(t, team(10))
	for _, agent := range []string{"agent2", "agent5"} {
		w.server.InjectDispatch(discordtest.DispatchFault{Match: discordtest.DispatchMatch{Bot: w.own[agent].ID, Type: "MESSAGE_CREATE"}, Times: -1,
			Effect: discordtest.Duplicate})
	}
	one := w.post(w.channel, w.own["agent3"].Mention()+" 봐줘")
	two := w.post(w.channel, w.own["agent4"].Mention()+" "+w.own["agent3"].Mention()+" 봐줘")
	none := w.post(w.channel, "안녕")
	thread, err := w.bora.StartThread(w.channel, "plans")
	if err != nil {
		t.Fatal(err)
	}
	called := w.post(thread.ID, w.own["agent6"].Mention()+" 여기")
	later := w.post(thread.ID, "이어서")
	w.own["agent6"].Drop()
	dropped := w.post(thread.ID, "끊겼을 때")
	for id, want := range map[string]string{one: "agent3", two: "agent3 agent4", none: "agent0", called: "agent6", later: "agent6"} {
		if got := w.runsOf(id); got != want {
			t.Errorf("message %s has runs of %q, want %q: %s", id, got, want, w.verdicts(id))
		}
	}
	if got := len(w.events("discord/" + dropped)); got == 0 {
		t.Error("what was written while a bot was away is not decided about")
	}
	if q := w.asked(called, "agent6"); q == nil || q.Message != "[bora in #plans] @agent6 여기" || q.To != "channel:"+w.channel || q.ThreadID != thread.ID {
		t.Errorf("agent6 is asked %+v, want the text with names, and to answer in the thread", q)
	}
}

// What one of our bots posts with a nonce of ours calls only whom it mentions, though the log does not know the post yet.
func TestOurNoticesAreKnownOnTheWire(t *testing.T) {
	t.Parallel()
	w := wire(t, []string{"ruda", "eden"})
	p, err := w.bots.Send(w.ctx, channel.Post{AccountID: "acc-ruda", ChannelID: w.channel, Content: "다시 시작했습니다", Nonce: "sys0123456789abcdef012345"})
	if err != nil {
		t.Fatal(err)
	}
	w.until("both bots to tell of it", func() bool { return w.told >= 2 })
	plain, err := w.bots.Send(w.ctx, channel.Post{AccountID: "acc-ruda", ChannelID: w.channel, Content: w.own["eden"].Mention() + " 봐줘", Nonce: "d1"})
	if err != nil {
		t.Fatal(err)
	}
	w.until("both bots to tell of both", func() bool { return w.told >= 4 })
	got := fmt.Sprintf("%s; %s", w.verdicts(p.ID), w.verdicts(plain.ID))
	if diff := cmp.Diff("observer:system_text; eden=mentioned", got); diff != "" {
		t.Errorf("the posts are (-want +got):\n%s", diff)
	}
	if q := w.asked(plain.ID, "eden"); q == nil || q.FromAgent != "ruda" || !strings.HasPrefix(q.Message, "[루다 in #general] @") {
		t.Errorf("eden is asked %+v, want ruda to ask", q)
	}
}

// A direct message is for the bot that it was sent to.
func TestDirectMessagesOnTheWire(t *testing.T) {
	t.Parallel()
	w := wire(t, []string{"ruda", "eden"})
	w.config.Discord.DMPolicy = "open"
	c, err := w.bora.Conversation(w.own["eden"].ID)
	if err != nil {
		t.Fatal(err)
	}
	m, err := w.bora.Post(c.ID, "안녕")
	if err != nil {
		t.Fatal(err)
	}
	w.until("eden to tell of it", func() bool { return w.told >= 1 })
	w.want(m.ID, "eden=binding")
	if q := w.asked(m.ID, "eden"); q == nil || q.SessionKey != "agent:eden:main" || q.To != "channel:"+c.ID || q.AccountID != "acc-eden" {
		t.Errorf("eden is asked %+v, want its main session, and to answer in the conversation", q)
	}
}
