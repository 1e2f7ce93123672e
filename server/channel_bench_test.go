package server

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/slack/slacktest"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

// busyService is a service with ten bots, five places and five people, in which every update is told twice.
type busyService struct {
	name     string
	accounts []map[string]string // of the bots
	more     map[string]any      // further settings of the channel
	options  func(*Options)
	write    func(person, place, bot int, text string) error // bot -1 is mentioned by no one
	drop     func(bot int)
	written  func() int // messages of people and bots in all places
}

// busyTelegram is a Telegram: its bots ask for updates.
func busyTelegram(b *testing.B) *busyService {
	b.Helper()
	s, err := telegramtest.New(telegramtest.Options{Limits: telegramtest.NoLimits(), Retry: 20 * time.Millisecond})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	var bots []*telegramtest.Bot
	var users []telegramtest.User
	f := &busyService{name: coordination.Telegram, options: func(o *Options) { o.TelegramAPI = s.URL() },
		more: map[string]any{"groupPolicy": "open", "groups": map[string]any{"*": map[string]any{}}}}
	for i := range crowdBots {
		bot := s.AddBot(fmt.Sprint("bot", i), telegramtest.BotOptions{WithoutPrivacy: true})
		bots, users = append(bots, bot), append(users, bot.User)
		f.accounts = append(f.accounts, map[string]string{"botToken": bot.Token})
	}
	var people []*telegramtest.Person
	for i := range crowdPeople {
		people = append(people, s.AddPerson(fmt.Sprint("Person", i)))
	}
	var chats []*telegramtest.Chat
	for i := range crowdChannels {
		ch := s.AddGroup(fmt.Sprint("room-", i), telegramtest.GroupOptions{}, people[0], users...)
		for _, person := range people[1:] {
			ch.Add(person.User)
		}
		chats = append(chats, ch)
	}
	s.RepeatUpdates(true)
	f.write = func(person, place, bot int, text string) error {
		if bot >= 0 {
			text = "@" + bots[bot].Username + " " + text
		}
		_, err := people[person].Write(chats[place], text)
		return err
	}
	f.drop = func(bot int) { bots[bot].Drop() }
	f.written = func() (n int) {
		for _, ch := range chats {
			for _, m := range ch.Messages() {
				if m.Text != "" { // not one about a new member
					n++
				}
			}
		}
		return n
	}
	return f
}

// busySlack is a Slack: its apps have sockets.
func busySlack(b *testing.B) *busyService {
	b.Helper()
	s, err := slacktest.New(slacktest.Options{Limits: slacktest.NoLimits()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	var apps []*slacktest.App
	var people []*slacktest.Person
	var members []string
	f := &busyService{name: coordination.Slack, options: func(o *Options) { o.SlackAPI = s.URL() }, more: map[string]any{"groupPolicy": "open"}}
	for i := range crowdBots {
		app := s.AddApp(fmt.Sprint("bot", i), slacktest.AppOptions{})
		app.SendTwice(1_000_000)
		apps, members = append(apps, app), append(members, app.UserID)
		f.accounts = append(f.accounts, map[string]string{"botToken": app.Token, "appToken": app.AppToken})
	}
	for i := range crowdPeople {
		people = append(people, s.AddPerson(fmt.Sprint("person", i)))
		members = append(members, people[i].ID)
	}
	var places []slacktest.Channel
	for i := range crowdChannels {
		places = append(places, s.AddChannel(fmt.Sprint("room-", i), members...))
	}
	f.write = func(person, place, bot int, text string) error {
		if bot >= 0 {
			text = apps[bot].Mention() + " " + text
		}
		_, err := people[person].Post(places[place].ID, text)
		return err
	}
	f.drop = func(bot int) { apps[bot].Drop() }
	f.written = func() (n int) {
		for _, p := range places {
			n += len(s.Messages(p.ID))
		}
		return n
	}
	return f
}

// settings is an openclaw.json with an agent for each bot, who answers where it is mentioned.
func (f *busyService) settings(b *testing.B) []byte {
	b.Helper()
	channel := map[string]any{"requireMention": true, "dmPolicy": "open", "allowFrom": []string{"*"},
		"collaboration": map[string]any{"rateLimit": map[string]int{"messagePerChannelPerSecond": 1000}}}
	for name, value := range f.more {
		channel[name] = value
	}
	var agents, bindings []any
	accounts := map[string]any{}
	for i, account := range f.accounts {
		id := fmt.Sprint("agent", i)
		agents = append(agents, map[string]any{"id": id, "name": fmt.Sprint("에이전트", i)})
		bindings = append(bindings, map[string]any{"agentId": id, "match": map[string]string{"channel": f.name, "accountId": id}})
		accounts[id] = account
	}
	channel["accounts"] = accounts
	text, err := json.Marshal(map[string]any{
		"agents":   map[string]any{"list": agents, "defaults": map[string]any{"model": "scripted/scripted", "taskContinuation": map[string]any{"enabled": false}}},
		"bindings": bindings, "channels": map[string]any{f.name: channel}, "models": map[string]any{"scripted": map[string]any{"script": "script.json"}},
	})
	if err != nil {
		b.Fatal(err)
	}
	return text
}

// busyProgram is a whole program with the bots of a busy service.
type busyProgram struct {
	*busyService
	b                 *testing.B
	program           *Program
	stop              func()
	deciding, storing *stopwatch
}

func (f *busyService) begin(b *testing.B) *busyProgram {
	b.Helper()
	dir := b.TempDir()
	for name, text := range map[string][]byte{settings.FileName: f.settings(b), "script.json": []byte(crowdScript)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	ready := make(chan net.Addr, 1)
	o := Options{StateDir: dir, DB: filepath.Join(dir, database.Name), API: "127.0.0.1:0", Gateway: settings.NoGateway, Rules: coordination.RulesV2, Now: time.Now,
		Logger: slog.New(slog.DiscardHandler), Durability: sqlite.DurabilityFull, Ready: func(api, _ net.Addr) { ready <- api }}
	f.options(&o)
	p := &busyProgram{busyService: f, b: b, program: New(o)}
	metrics := p.program.channelMetrics.every
	p.deciding, p.storing = &stopwatch{ObserverVec: metrics.deciding}, &stopwatch{ObserverVec: metrics.storing}
	metrics.deciding, metrics.storing = p.deciding, p.storing
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.program.Run(ctx) }()
	p.stop = func() {
		cancel()
		if err := errors.Join(waitFor(b, "Run", ended), p.program.Close()); err != nil {
			b.Fatal(err)
		}
	}
	waitFor(b, "the program", ready)
	p.until("all bots to be connected", func() bool { return p.connected() == crowdBots })
	return p
}

func (p *busyProgram) connected() (up int) {
	for _, s := range p.program.agents.side(p.name).bots.Status() {
		if s.State == health.BotReady {
			up++
		}
	}
	return up
}

func (p *busyProgram) until(what string, so func() bool) {
	p.b.Helper()
	(&crowd{b: p.b, storing: p.storing}).until(what, so)
}

// hears has people write n messages, of which every fifth mentions an agent, while three bots lose their connections, and waits until all is
// decided and done. It returns how long the decisions took.
func (p *busyProgram) hears(n int) time.Duration {
	p.b.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	began := time.Now()
	for i := range n {
		text, bot := fmt.Sprintf("메시지 %d: PR #%d 봤어요 https://github.com/pronto-lab/openclawd/pull/%d", i, i%300, i%300), -1
		if i%5 == 0 {
			bot = random.IntN(crowdBots)
		}
		if i%50 == 0 {
			text += " 말해"
		}
		if err := p.write(random.IntN(crowdPeople), random.IntN(crowdChannels), bot, text); err != nil {
			p.b.Fatal(err)
		}
		if i == n/4 || i == n/2 || i == 3*n/4 {
			p.drop(1 + 4*i/n)
		}
		p.until("decisions", func() bool { return p.storing.n() >= i-crowdAhead })
	}
	p.until("decisions", func() bool { return p.storing.n() >= n })
	took := time.Since(began)
	p.until("all to be done", func() bool { return p.left() == 0 && p.storing.n() >= p.written() && p.connected() == crowdBots })
	return took
}

// left is how much work is not done.
func (p *busyProgram) left() (left int) {
	p.b.Helper()
	err := p.program.log.View(context.Background(), func(tx *sql.Tx) error {
		lanes, err := workqueue.Lanes(context.Background(), tx)
		for _, l := range lanes {
			left += l.Waiting + l.Leased
		}
		return err
	})
	if err != nil {
		p.b.Fatal(err)
	}
	return left
}

// BenchmarkTelegram has ten bots of a whole program hear messages in five groups: every update comes twice, and three bots lose their
// connections. Times are those of BenchmarkDiscord.
func BenchmarkTelegram(b *testing.B) { benchmarkBusy(b, busyTelegram) }

// BenchmarkSlack is BenchmarkTelegram with apps of Slack, over sockets.
func BenchmarkSlack(b *testing.B) { benchmarkBusy(b, busySlack) }

func benchmarkBusy(b *testing.B, service func(*testing.B) *busyService) {
	b.Helper()
	const n = 2_000
	for range b.N {
		p := service(b).begin(b)
		took := p.hears(n)
		written, decided := p.written(), 0
		if err := p.program.log.View(context.Background(), func(tx *sql.Tx) error {
			return tx.QueryRow("SELECT count(*) FROM discord_messages").Scan(&decided)
		}); err != nil {
			b.Fatal(err)
		}
		if decided != written || p.storing.n() != written {
			b.Errorf("%d messages were written, %d are in the log, %d decisions were taken", written, decided, p.storing.n())
		}
		p.stop()
		for name, value := range map[string]float64{
			"decisions/message": float64(p.storing.n()) / float64(written), "messages/s": n / took.Seconds(),
			"decision-p50-ms": p.deciding.quantile(0.5), "decision-p99-ms": p.deciding.quantile(0.99),
			"message-p50-ms": p.storing.quantile(0.5), "message-p99-ms": p.storing.quantile(0.99),
		} {
			b.ReportMetric(value, name)
		}
		b.ReportMetric(0, "ns/op")
	}
}
