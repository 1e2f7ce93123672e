package outbound_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/outbound"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // of the library
	goleak.VerifyTestMain(m)
}

const (
	posting  = "POST /channels/{channel}/messages"
	opening  = "POST /channels/{channel}/threads"
	reading  = "GET /channels/{channel}/messages"
	patience = testscale.Patience
)

// fixture is a log, a worker that delivers, and the Discord that it delivers to.
type fixture struct {
	*discordtest.Server
	t     *testing.T
	ctx   context.Context
	bots  *discord.Bots
	guild *discordtest.Guild

	general    discordtest.Channel
	ruda, eden *discordtest.Bot
	bora       *discordtest.Human
	conf       *config.Config

	path string
	db   *sqlite.DB
	log  *mortal
	then map[string]outbound.Then
	by   outbound.Bots // what posts instead of the bots; nil: they do
	file func(sha256 string) ([]byte, error)
	tell func(messageID string) // as a service that does not tell bots of each other's messages; nil: it does
	hand *worker.Worker
	stop func()

	mu  sync.Mutex
	now time.Time
}

// mortal is a log that may be told to die: it takes no more from the first append on that has an event of a type.
type mortal struct {
	*sqlite.DB
	mu    sync.Mutex
	until string
	dead  chan struct{}
}

func (m *mortal) dieAt(typ string) (dead <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.until, m.dead = typ, make(chan struct{})
	return m.dead
}

func (m *mortal) Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error) {
	return m.DB.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		appends, err := decide(tx)
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, a := range appends {
			for _, e := range a.Events {
				if e.Type == m.until {
					m.until = "*"
					close(m.dead)
				}
			}
		}
		if m.until == "*" {
			return nil, eventstore.ErrClosed
		}
		return appends, err
	})
}

var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, workqueue.Definition(), routing.Definition()))

// open opens a fixture whose worker does not run yet.
func open(t *testing.T, how ...func(*channel.Options)) *fixture {
	t.Helper()
	o := &fixture{t: t, now: time.Now().Truncate(time.Millisecond), then: map[string]outbound.Then{}, stop: func() {}}
	var cancel context.CancelFunc
	o.ctx, cancel = context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	o.path = filepath.Join(t.TempDir(), "log.db")
	storetest.Copy(t, emptyLog, o.path)
	o.openLog()
	t.Cleanup(func() { o.closeLog() })

	s, err := discordtest.New(discordtest.Options{Now: o.clock, Limits: discordtest.NoLimits(), Global: discordtest.Limit{Requests: 100000, Per: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	o.Server = s
	o.ruda, o.eden, o.bora = s.AddBot("ruda", discordtest.BotOptions{}), s.AddBot("eden", discordtest.BotOptions{}), s.AddHuman("bora")
	o.guild = s.AddGuild("lab")
	o.guild.Join(o.ruda.ID, o.eden.ID, o.bora.ID)
	o.general = o.guild.AddChannel("general", discordtest.ChannelOptions{})
	o.conf = o.configure()
	options := channel.Options{OnMessage: func(channel.Inbound) {}, Log: discard(), Transport: s.Transport(),
		Least: 20 * time.Millisecond, Most: 50 * time.Millisecond}
	for _, change := range how {
		change(&options)
	}
	o.bots = discord.New(options)
	o.bots.Configure(o.conf)
	o.runBots()
	return o
}

// poster is what posts: the bots, which are told of each other's messages by tell.
func (o *fixture) poster() outbound.Bots {
	if o.by != nil {
		return o.by
	}
	if o.tell == nil {
		return o.bots
	}
	return teller{o.bots, o.tell}
}

type teller struct {
	outbound.Bots
	tell func(messageID string)
}

func (b teller) Send(ctx context.Context, p channel.Post) (channel.Posted, error) {
	posted, err := b.Bots.Send(ctx, p)
	posted.Tell = func(context.Context) { b.tell(posted.ID) }
	return posted, err
}

// runBots connects the bots until the end of the test.
func (o *fixture) runBots() {
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- o.bots.Run(ctx) }()
	o.t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			o.t.Error(err)
		}
	})
	o.until("the bots to be connected", func() bool {
		return !slices.ContainsFunc(o.bots.Registry().Bots(), func(i channel.Identity) bool { return !i.Connected })
	})
}

// configure is the configuration of the team: two bots, two agents with names, one without a bot, and a person with a name.
func (o *fixture) configure() *config.Config {
	o.t.Helper()
	text := fmt.Sprintf(`{
		"agents": {"list": [{"id": "ruda", "name": "루다"}, {"id": "eden", "name": "이든"}, {"id": "seum", "name": "세움"}]},
		"bindings": [{"agentId": "ruda", "match": {"channel": "discord", "accountId": "ruda"}}, {"agentId": "eden", "match": {"channel": "discord", "accountId": "eden"}}],
		"channels": {"discord": {"mentions": {%q: "보라"}, "collaboration": {"rateLimit": {"threadCreationPerMinute": 1000, "messagePerChannelPerSecond": 100}}, "accounts": {"ruda": {"token": %q}, "eden": {"token": %q}}}}
	}`, o.bora.ID, o.ruda.Token, o.eden.Token)
	path := filepath.Join(o.t.TempDir(), "openclaw.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
	c, findings := config.Load(path, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		o.t.Fatal(err)
	}
	return c
}

func (o *fixture) openLog() {
	o.t.Helper()
	db, err := sqlite.Open(context.Background(), sqlite.Options{Path: o.path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		o.t.Fatal(err)
	}
	if _, err := projections.Start(context.Background(), db, []projections.Definition{workqueue.Definition(), routing.Definition()}, projections.Options{Rules: coordination.RulesV2}); err != nil {
		o.t.Fatal(errors.Join(err, db.Close()))
	}
	o.db, o.log = db, &mortal{DB: db}
}

func (o *fixture) closeLog() {
	o.stop()
	if err := o.db.Close(); err != nil {
		o.t.Error(err)
	}
}

// restart is the end of the process and another one.
func (o *fixture) restart() {
	o.t.Helper()
	o.closeLog()
	o.openLog()
	o.work()
}

// work runs a worker until the end of the test, or of the process.
func (o *fixture) work() {
	o.t.Helper()
	logger := slog.New(slog.NewTextHandler(o.t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	h := outbound.New(outbound.Options{Log: o.log, Bots: o.poster(), Then: o.then, Now: o.clock, Logger: logger, File: o.file})
	w := worker.New(worker.Options{Log: o.log, Handlers: map[string]worker.Handler{delivery.Kind: h, coordination.Slack: h},
		Pools: func() map[string]int { return map[string]int{delivery.Pool: 4, coordination.Slack: 4} },
		Now:   o.clock, Jitter: func() float64 { return 0 }, Logger: logger, Drain: 50 * time.Millisecond, Grace: patience})
	o.hand = w
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := w.Run(ctx); err != nil && !errors.Is(err, eventstore.ErrClosed) {
			o.t.Errorf("the worker says %v", err)
		}
	}()
	o.stop = func() {
		cancel()
		<-over
		o.stop = func() {}
	}
}

func (o *fixture) clock() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now
}

// later lets time go by, and the worker see it.
func (o *fixture) later(d time.Duration) {
	o.t.Helper()
	o.mu.Lock()
	o.now = o.now.Add(d)
	o.mu.Unlock()
	o.append(eventstore.StreamAppend{Stream: coordination.LogStream, Events: []eventstore.NewEvent{{Type: "test.later", Data: json.RawMessage("{}")}}})
}

func (o *fixture) append(appends ...eventstore.StreamAppend) {
	o.t.Helper()
	if _, err := o.db.Append(o.ctx, appends...); err != nil {
		o.t.Fatal(err)
	}
}

// draft is a delivery of ruda's in the channel.
func (o *fixture) draft(messages ...string) *delivery.Delivery {
	return &delivery.Delivery{Purpose: delivery.Reply, AgentID: "ruda", AccountID: "ruda", GuildID: o.guild.ID, ChannelID: o.general.ID, Messages: messages, RunID: "r1"}
}

// inThread is one that opens a thread.
func (o *fixture) inThread(messages ...string) *delivery.Delivery {
	d := o.draft(messages...)
	d.Purpose, d.CollabID, d.RunID = delivery.Request, "c1", ""
	d.Open = &delivery.Opening{Name: "about", Kind: "collab", ReuseKey: "ruda:eden", FromAgent: "ruda", ToAgent: "eden"}
	return d
}

// ask schedules a delivery.
func (o *fixture) ask(effectID string, d *delivery.Delivery) {
	o.t.Helper()
	what, err := d.Work(effectID, 0)
	if err != nil {
		o.t.Fatal(err)
	}
	a, err := worker.Schedule(what)
	if err != nil {
		o.t.Fatal(err)
	}
	o.append(a)
}

func (o *fixture) stream(effectID string) []eventstore.Event {
	o.t.Helper()
	events, err := o.db.ReadStream(context.Background(), coordination.WorkStream(effectID), 0, 1000)
	if err != nil {
		o.t.Fatal(err)
	}
	return events
}

// history is what happened to a delivery, each event in a word or some.
func (o *fixture) history(effectID string) (lines []string) {
	o.t.Helper()
	for _, e := range o.stream(effectID) {
		line := strings.TrimPrefix(strings.TrimPrefix(e.Type, "work."), "discord.")
		switch {
		case e.Redacted():
		case strings.HasPrefix(e.Type, "discord."):
			data := read[coordination.DiscordOutbound](o.t, e)
			line += fmt.Sprintf(" %s %d", data.Step, data.Index)
			for _, more := range []string{data.ErrorClass, data.ErrorCode} {
				if more != "" {
					line += " " + more
				}
			}
			if data.Found {
				line += " found"
			}
		case strings.HasPrefix(e.Type, "work."):
			if data := read[coordination.WorkAttempt](o.t, e); data.DueAtMs > 0 {
				line += fmt.Sprint(" for ", time.Duration(data.DueAtMs-e.TS)*time.Millisecond)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func read[D any](t *testing.T, e eventstore.Event) (data D) {
	t.Helper()
	if err := json.Unmarshal(e.Data, &data); err != nil {
		t.Fatalf("%s: %v", e.Type, err)
	}
	return data
}

// last waits until the last event of a delivery is of one of the types, for the nth time, and gives its history.
func (o *fixture) last(effectID string, n int, types ...string) []string {
	o.t.Helper()
	o.untilLogged(fmt.Sprint(effectID, " to be ", types), func() bool {
		all := o.stream(effectID)
		count := 0
		for _, e := range all {
			if slices.Contains(types, e.Type) {
				count++
			}
		}
		return count >= n && slices.Contains(types, all[len(all)-1].Type)
	})
	return o.history(effectID)
}

// over waits until a delivery has ended.
func (o *fixture) over(effectID string) []string {
	o.t.Helper()
	return o.last(effectID, 1, coordination.TypeWorkCompleted, coordination.TypeWorkDead)
}

// released waits until a delivery was put off for the nth time.
func (o *fixture) released(effectID string, n int) []string {
	o.t.Helper()
	return o.last(effectID, n, coordination.TypeWorkReleased)
}

// untilLogged waits until something holds that events make so.
func (o *fixture) untilLogged(what string, so func() bool) {
	o.t.Helper()
	for {
		head, err := o.db.Head(o.ctx)
		if err != nil {
			o.t.Fatalf("waited in vain for %s: %v", what, err)
		}
		if so() {
			return
		}
		if _, err := o.db.Wait(o.ctx, head.Seq+1); err != nil {
			o.t.Fatalf("waited in vain for %s: %v", what, err)
		}
	}
}

// until waits until something holds that happens in Discord, or soon after.
func (o *fixture) until(what string, so func() bool) {
	o.t.Helper()
	for !so() {
		select {
		case <-time.After(2 * time.Millisecond):
		case <-o.ctx.Done():
			o.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// texts are the messages of a place.
func (o *fixture) texts(channel string) (list []string) {
	for _, m := range o.Messages(channel) {
		if m.Type == discordtest.PlainMessage || m.Type == discordtest.ReplyMessage {
			list = append(list, m.Content)
		}
	}
	return list
}

// fault lets requests fail.
func (o *fixture) fault(route string, times int, e discordtest.Effect) *discordtest.Injected {
	return o.Inject(discordtest.Fault{Match: discordtest.Match{Route: route}, Times: times, Effect: e})
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// outcomes keeps what a purpose is told.
type outcomes struct {
	mu   sync.Mutex
	list []delivery.Outcome
}

func (l *outcomes) then(_ eventstore.Tx, effectID string, _ *delivery.Delivery, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, *o)
	text, err := json.Marshal(map[string]string{"of": effectID, "state": string(o.State)})
	return []eventstore.StreamAppend{{Stream: coordination.LogStream, Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: "test.told", Data: text}.WithTS(now.UnixMilli())}}}, err
}

func (l *outcomes) only(t *testing.T) delivery.Outcome {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) != 1 {
		t.Fatalf("%d ends reported, want one: %+v", len(l.list), l.list)
	}
	return l.list[0]
}
