package notifier_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/outbound"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// The boxes L1 and L2, as far as posts go: what agents say to each other stands in a thread that is known as one for reports, by the one bot that
// reports, and calls no bot.
func TestReportsInDiscord(t *testing.T) {
	t.Parallel()
	s, err := discordtest.New(discordtest.Options{Limits: discordtest.NoLimits(), Global: discordtest.Limit{Requests: 100_000, Per: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	eden, seum, bora := s.AddBot("eden", discordtest.BotOptions{}), s.AddBot("seum", discordtest.BotOptions{}), s.AddHuman("bora")
	guild := s.AddGuild("lab")
	guild.Join(eden.ID, seum.ID, bora.ID)
	channel := guild.AddChannel("reports", discordtest.ChannelOptions{})
	d := setup(t, fmt.Sprintf(`channels: {discord: {enabled: true, accounts: {eden: {token: %q}, seum: {token: %q}}}}, %s, gateway: {conversationSinks: [
		{id: 'discord-conversation', enabled: true, options: {guildId: %q, defaultChannelId: %q, routerAccountId: 'seum', notifyUserIds: [%q, %q]}}]}`,
		eden.Token, seum.Token, bindings,
		guild.ID, channel.ID, bora.ID, eden.ID))
	d.delivers(s)
	d.follow(1)
	d.say("c-1", "<@"+eden.ID+"> 와 <@"+seum.ID+"> 가 함께 본다")
	d.say("c-1", "둘째")
	d.say("c-2", "다른 대화")
	d.until("all is posted", func() bool { return len(d.events(coordination.TypeDiscordSent)) == 3 })

	threads := d.events(coordination.TypeThreadCreated)
	if len(threads) != 2 {
		t.Fatalf("%d threads, want one for each conversation", len(threads))
	}
	first := read[coordination.Thread](t, threads[0])
	var texts []string
	for _, m := range s.Messages(first.ThreadID) {
		if m.Content == "" {
			continue // Discord's own
		}
		texts = append(texts, m.Content)
		if m.Author.ID != seum.ID {
			t.Errorf("%q is by %s, want the bot that reports", m.Content, m.Author.Username)
		}
		for _, user := range m.Mentions {
			if user.ID != bora.ID {
				t.Errorf("%q calls %s", m.Content, user.Username)
			}
		}
	}
	if len(texts) != 2 || !strings.HasPrefix(texts[0], "<@"+bora.ID+">\n**이든 → 세움**\n@이든 와 @세움 가") || texts[1] != "**이든 → 세움**\n둘째" {
		t.Errorf("the thread says %q", texts)
	}
	if !strings.HasPrefix(first.Name, "[리포트] 이든 → 세움 · @이든 와 @세움 가") {
		t.Errorf("it is called %q", first.Name)
	}
	isReport := false
	if _, err := d.db.Decide(t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		isReport, err = routing.IsReport(tx, first.ThreadID)
		return nil, err
	}); err != nil || !isReport {
		t.Errorf("it is a thread for reports: %t, %v", isReport, err)
	}
}

const bindings = `bindings: [{agentId: 'eden', match: {channel: 'discord', accountId: 'eden'}},
	{agentId: 'seum', match: {channel: 'discord', accountId: 'seum'}}]`

// delivers has the bots of the configuration carry out the posts.
func (d *fixture) delivers(s *discordtest.Server) {
	d.t.Helper()
	bots := discord.New(channel.Options{OnMessage: func(channel.Inbound) {}, Log: slog.New(slog.NewTextHandler(&d.logged, nil)), Transport: s.Transport(),
		Least: 20 * time.Millisecond, Most: 50 * time.Millisecond})
	bots.Configure(d.config.Load())
	d.bots = func(string) (list []collaborate.Bot) {
		for _, b := range bots.Registry().Bots() {
			list = append(list, collaborate.Bot{AccountID: b.AccountID, UserID: b.UserID, Agent: b.AgentID})
		}
		return list
	}
	logger := slog.New(slog.NewTextHandler(&d.logged, nil))
	w := worker.New(worker.Options{Log: d.db, Now: d.now, Logger: logger, Pools: func() map[string]int { return map[string]int{delivery.Pool: 4} },
		Handlers: map[string]worker.Handler{delivery.Kind: outbound.New(outbound.Options{Log: d.db, Bots: bots, Now: d.now, Logger: logger})}})
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, run := range []func(context.Context) error{bots.Run, w.Run} {
		all.Go(func() {
			if err := run(ctx); err != nil && !errors.Is(err, eventstore.ErrClosed) {
				d.t.Error(err)
			}
		})
	}
	before := d.stop
	d.stop = sync.OnceFunc(func() {
		before()
		cancel()
		all.Wait()
	})
	late := time.After(patience)
	for slices.ContainsFunc(bots.Registry().Bots(), func(i channel.Identity) bool { return !i.Connected }) {
		select {
		case <-time.After(2 * time.Millisecond):
		case <-late:
			d.t.Fatalf("the bots do not connect: %+v\n%s", bots.Registry().Bots(), d.logged.String())
		}
	}
}

// A report thread that was removed is forgotten when a report finds out, also over a restart: the next one opens another.
func TestReportThreadIsTakenAway(t *testing.T) {
	t.Parallel()
	s, err := discordtest.New(discordtest.Options{Limits: discordtest.NoLimits(), Global: discordtest.Limit{Requests: 100_000, Per: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	seum := s.AddBot("seum", discordtest.BotOptions{})
	guild := s.AddGuild("lab")
	guild.Join(seum.ID)
	channel := guild.AddChannel("reports", discordtest.ChannelOptions{})
	d := setup(t, fmt.Sprintf(`channels: {discord: {enabled: true, accounts: {seum: {token: %q}}}}, gateway: {conversationSinks: [
		{id: 'discord-conversation', enabled: true, options: {guildId: %q, defaultChannelId: %q, routerAccountId: 'seum'}}]}`, seum.Token, guild.ID, channel.ID))
	d.delivers(s)
	d.follow(1)
	d.say("c-1", "하나")
	d.until("it is posted", func() bool { return len(d.events(coordination.TypeDiscordSent)) == 1 })
	s.DeleteChannel(read[coordination.Thread](t, d.events(coordination.TypeThreadCreated)[0]).ThreadID)
	d.say("c-1", "둘")
	d.until("it is given up", func() bool { return len(d.events(coordination.TypeWorkDead)) == 1 })
	failed := d.events(coordination.TypeDiscordSendFailed)
	if got := read[coordination.DiscordOutbound](t, failed[len(failed)-1]); got.Forgets != "report/c-1" || got.ErrorCode != collaborate.CodeNotFound {
		t.Errorf("the event says %+v, want that the thread of c-1 is forgotten", got)
	}
	d.restart()
	d.delivers(s)
	d.follow(0)
	d.say("c-1", "셋")
	d.until("it is posted", func() bool { return len(d.events(coordination.TypeDiscordSent)) == 2 })
	if threads := s.Threads(channel.ID); len(threads) != 1 || len(d.events(coordination.TypeThreadCreated)) != 2 {
		t.Errorf("threads are %+v, want another one", threads)
	}
}
