package collabtools_test

import (
	"cmp"
	"context"
	"database/sql"
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
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/inbound"
	"github.com/pronto-lab/openclawd/channel/outbound"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/collabtools"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // the library of the bots
	goleak.VerifyTestMain(m)
}

// patience bounds every wait for something that has to happen.
const patience = testscale.Patience

func definitions() []projections.Definition {
	return []projections.Definition{conversations.Routes(coordination.RulesV2), sessions.Definition(), runs.Definition(), workqueue.Definition(), flows.Definition(),
		tasks.Definition(), responses.Definition(), routing.Definition()}
}

var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, definitions()...))

// setting configures a test.
type setting struct {
	config  map[string]any // laid over channels.discord.collaboration
	discord map[string]any // laid over channels.discord
	tools   map[string]any // laid over tools
	noBots  bool           // without Discord
	asleep  bool           // without a poster
	forum   bool           // with a group of Telegram, too
	notices bool           // likewise, and notices there
	silent  []string       // accounts that are switched off
	wait    time.Duration  // of the tool; default: a third of patience
	limit   time.Duration  // for one answer of Discord; default: 5 s
}

// team is a guild with the bots of four agents and a person, a log, and all that carries requests: the service under test, the poster
// and the listener.
type team struct {
	*discordtest.Server
	t      *testing.T
	ctx    context.Context
	set    setting
	guild  *discordtest.Guild
	lobby  discordtest.Channel // the usual one
	lab    discordtest.Channel // allowed beside it
	office discordtest.Channel // not allowed
	alarm  discordtest.Channel // where people are told
	bot    map[string]*discordtest.Bot
	bora   *discordtest.Human
	ahead  *atomic.Int64 // ns that the clock is ahead
	path   string        // of the log

	db      *sqlite.DB
	engine  *projections.Engine
	config  *config.Config
	bots    *discord.Bots
	service *collabtools.Service
	box     *tools.Registry
	logs    *buffer
	stop    func()
	sleep   func() // ends the worker
	worker  *worker.Worker

	dies, gone atomic.Bool   // the process is to die before it writes down what it has posted; it has
	keep       atomic.Int64  // so many such events are written before
	died       chan struct{} // closed then
	dead       func()
}

type buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// accounts are the accounts by agent. That of eden has another name than the agent.
var accounts = map[string]string{"ruda": "ruda", "eden": "codebot", "seum": "seum", "dajim": "dajim"}

var names = map[string]string{"ruda": "루다", "eden": "이든", "seum": "세움", "dajim": "다짐", "mute": "무음"}

// newTeam returns a connected team.
func newTeam(t *testing.T, set setting) *team {
	t.Helper()
	m := &team{t: t, set: set, bot: map[string]*discordtest.Bot{}, ahead: &atomic.Int64{}, path: filepath.Join(t.TempDir(), "log.db"), logs: &buffer{}}
	storetest.Copy(t, emptyLog, m.path)
	server, err := discordtest.New(discordtest.Options{Now: m.now, Limits: discordtest.NoLimits(), Global: discordtest.Limit{Requests: 100000, Per: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	m.Server = server
	var cancel context.CancelFunc
	m.ctx, cancel = context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	m.guild, m.bora = server.AddGuild("lab"), server.AddHuman("bora")
	m.guild.Join(m.bora.ID)
	for agent := range accounts {
		m.bot[agent] = server.AddBot(agent, discordtest.BotOptions{})
		m.guild.Join(m.bot[agent].ID)
	}
	for _, c := range []struct {
		name string
		is   *discordtest.Channel
	}{{"lobby", &m.lobby}, {"lab", &m.lab}, {"office", &m.office}, {"alarm", &m.alarm}} {
		*c.is = m.guild.AddChannel(c.name, discordtest.ChannelOptions{})
	}
	m.open()
	return m
}

// open wires the parts as the program does, at an existing log.
func (m *team) open() {
	m.t.Helper()
	db, err := sqlite.Open(m.ctx, sqlite.Options{Path: m.path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		m.t.Fatal(err)
	}
	m.db = db
	if m.engine, err = projections.Start(m.ctx, db, definitions(), projections.Options{Rules: coordination.RulesV2}); err != nil {
		m.t.Fatal(errors.Join(err, db.Close()))
	}
	m.config = m.read()
	m.died = make(chan struct{})
	m.dead = sync.OnceFunc(func() { m.gone.Store(true); close(m.died) })
	m.gone.Store(false)
	m.dies.Store(false)
	logger := slog.New(slog.NewTextHandler(m.logs, &slog.HandlerOptions{Level: slog.LevelWarn}))
	inForce := func() *config.Config { return m.config }
	models := catalogue.New(m.config, catalogue.Options{})
	asks := runqueue.New(runqueue.Options{Log: db, Config: inForce, Models: func() *catalogue.Catalogue { return models }, Now: m.now, NewID: uuid.NewString})
	ctx, cancel := context.WithCancel(context.Background())
	var monitor *inbound.Service
	m.bots = discord.New(channel.Options{OnMessage: func(in channel.Inbound) { monitor.Handle(ctx, in) }, Transport: m.Transport(), Log: logger,
		Least: 20 * time.Millisecond, Most: 50 * time.Millisecond, TimeLimit: cmp.Or(m.set.limit, 5*time.Second)})
	o := collabtools.Options{Log: db, Channels: []collabtools.Channel{seen{m.bots}}, Config: inForce, Now: m.now, NewID: uuid.NewString, Logger: logger,
		Wait: cmp.Or(m.set.wait, patience/3)}
	if m.set.noBots {
		o.Channels = nil
	}
	if m.set.forum {
		o.Channels = append(o.Channels, forum{})
	}
	m.service = collabtools.New(o)
	monitor = inbound.New(inbound.Options{Log: db, Queue: asks, Bots: m.bots, Config: inForce, Now: m.now, Logger: logger,
		Answered: func(tx eventstore.Tx, r *response.Request, answer *channel.Message, now time.Time) ([]eventstore.StreamAppend, error) {
			return m.service.Answered(tx, r, answer.ID, answer.Content, now)
		}})
	if m.box, err = tools.New(tools.Options{Config: inForce, Logger: logger, Tools: []tools.Tool{m.service.Tool()}}); err != nil {
		m.t.Fatal(err)
	}
	stopped := make(chan error, 1)
	m.bots.Configure(m.config)
	if !m.set.noBots {
		go func() { stopped <- m.bots.Run(ctx) }()
		m.untilConnected()
	} else {
		stopped <- nil
	}
	m.sleep = func() {}
	if !m.set.asleep {
		m.wake()
	}
	m.stop = sync.OnceFunc(func() {
		m.sleep()
		cancel()
		if err := errors.Join(<-stopped, db.Close()); err != nil && !errors.Is(err, eventstore.ErrClosed) {
			m.t.Errorf("close: %v", err)
		}
		if m.t.Failed() {
			m.t.Log(m.logs)
		}
	})
	m.t.Cleanup(m.stop)
}

// seen is the service's view of the bots.
type seen struct{ *discord.Bots }

func (s seen) Connected() []collaborate.Bot { return s.Registry().ForCollaborate() }

// wake starts the poster and the tracker.
func (m *team) wake() {
	m.t.Helper()
	logger := slog.New(slog.NewTextHandler(m.logs, &slog.HandlerOptions{Level: slog.LevelWarn}))
	posts := outbound.New(outbound.Options{Log: &dying{m.db, m}, Bots: m.bots, Now: m.now, Logger: logger,
		Then: map[string]outbound.Then{delivery.Request: m.service.Delivered, delivery.Reminder: m.service.Reported, delivery.Escalate: m.service.Reported}})
	w := worker.New(worker.Options{Log: m.db, Now: m.now, Logger: logger,
		Pools:    func() map[string]int { return map[string]int{delivery.Pool: 4, collabtools.TrackerPool: 4} },
		Handlers: map[string]worker.Handler{delivery.Kind: posts, collabtools.TrackerKind: m.service.Tracker()}})
	m.worker = w
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	m.sleep = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, eventstore.ErrClosed) {
			m.t.Errorf("worker: %v", err)
		}
	})
}

// dying is a log that rejects writes once the process has died, just before it records what it did in Discord.
type dying struct {
	*sqlite.DB
	m *team
}

var errDied = errors.New("the process is gone")

func (l *dying) Decide(ctx context.Context, decides func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error) {
	return l.DB.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		appends, err := decides(tx)
		for _, a := range appends {
			for _, e := range a.Events {
				if (e.Type == coordination.TypeDiscordSent || e.Type == coordination.TypeThreadCreated) && l.m.dies.Load() && l.m.keep.Add(-1) < 0 {
					l.m.dead()
				}
			}
		}
		if l.m.gone.Load() {
			return nil, errDied
		}
		return appends, err
	})
}

// again restarts the team: everything in memory is gone.
func (m *team) again() {
	m.t.Helper()
	m.stop()
	m.open()
}

func (m *team) now() time.Time { return time.Now().Add(time.Duration(m.ahead.Load())) }

// advance sets the clock forward and wakes all that wait.
func (m *team) advance(d time.Duration) {
	m.t.Helper()
	m.ahead.Add(int64(d))
	_, err := m.db.Append(m.ctx, eventstore.StreamAppend{Stream: coordination.LogStream, Events: []eventstore.NewEvent{
		{Type: "test.clock", Data: json.RawMessage(fmt.Sprintf(`{"eventRole":%q}`, coordination.RoleObservability))}}})
	if err != nil {
		m.t.Fatal(err)
	}
}

func over(base, more map[string]any) map[string]any {
	for name, v := range more {
		base[name] = v
	}
	return base
}

func (m *team) read() *config.Config {
	m.t.Helper()
	var agents, bindings []any
	bots := map[string]any{}
	for _, agent := range []string{"ruda", "eden", "seum", "dajim", "mute"} {
		agents = append(agents, map[string]any{"id": agent, "name": names[agent], "default": agent == "ruda"})
		if account, has := accounts[agent]; has {
			bots[account] = map[string]any{"token": m.bot[agent].Token, "enabled": !slices.Contains(m.set.silent, account)}
			bindings = append(bindings, map[string]any{"agentId": agent, "match": map[string]any{"channel": "discord", "accountId": account}})
		}
	}
	agents = append(agents, map[string]any{"id": "quick", "utility": true})
	collaboration := over(map[string]any{"language": "en", "defaultChannel": m.lobby.ID, "allowedChannels": []string{m.lab.ID},
		"rateLimit":  map[string]any{"threadCreationPerMinute": 1000, "messagePerChannelPerSecond": 1000},
		"escalation": map[string]any{"channelId": m.alarm.ID, "mentionUserId": m.bora.ID}}, m.set.config)
	channels := map[string]any{"discord": over(map[string]any{"accounts": bots, "collaboration": collaboration, "mentions": map[string]any{m.bora.ID: "병욱"}}, m.set.discord)}
	if m.set.forum {
		collaboration := map[string]any{"allowedChannels": []string{telegramGroup}}
		channels["telegram"] = map[string]any{"collaboration": collaboration}
		if m.set.notices {
			collaboration["escalation"] = map[string]any{"channelId": telegramGroup}
			channels["telegram"] = map[string]any{"collaboration": collaboration, "botToken": "7000001009:AAabcdefghijklmnopqrstuvwxyz01234567"}
		}
	}
	text, err := json.Marshal(map[string]any{"agents": map[string]any{"list": agents}, "bindings": bindings,
		"tools": over(map[string]any{"agentToAgent": map[string]any{"enabled": true}}, m.set.tools), "channels": channels})
	if err != nil {
		m.t.Fatal(err)
	}
	path := filepath.Join(m.t.TempDir(), "openclaw.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		m.t.Fatal(err)
	}
	c, findings := config.Load(path, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		m.t.Fatalf("the test's configuration: %v", err)
	}
	return c
}

func (m *team) untilConnected() {
	m.t.Helper()
	err := m.Until(m.ctx, func() bool { return true })
	for err == nil && len(m.bots.Registry().ForCollaborate()) < len(accounts)-len(m.set.silent) {
		n := len(m.Connected())
		err = m.Until(m.ctx, func() bool {
			return len(m.Connected()) != n || len(m.bots.Registry().ForCollaborate()) == len(accounts)-len(m.set.silent)
		})
	}
	if err != nil {
		m.t.Fatalf("the bots do not connect: %v\n%s", err, m.logs)
	}
}

// until waits until a condition on the log holds.
func (m *team) until(what string, so func() bool) {
	m.t.Helper()
	for {
		head, err := m.db.Head(m.ctx)
		if err != nil {
			m.t.Fatal(err)
		}
		if so() {
			return
		}
		if _, err := m.db.Wait(m.ctx, head.Seq+1); err != nil {
			m.t.Fatalf("waited in vain for %s: %v\nevents: %s\nlog: %s", what, err, strings.Join(m.types(""), " "), m.logs)
		}
	}
}

// events returns the events of a family, such as a2a., in order.
func (m *team) events(family string) (list []eventstore.Event) {
	m.t.Helper()
	for after := int64(0); ; {
		page, err := m.db.Read(m.ctx, after, 500)
		if err != nil {
			m.t.Fatal(err)
		}
		if len(page) == 0 {
			return list
		}
		for _, e := range page {
			if after = e.Seq; strings.HasPrefix(e.Type, family) && !strings.HasPrefix(e.Type, "test.") {
				list = append(list, e)
			}
		}
	}
}

func (m *team) types(family string) (list []string) {
	m.t.Helper()
	for _, e := range m.events(family) {
		list = append(list, e.Type)
	}
	return list
}

// last decodes the newest event of a type.
func last[D any](m *team, typ string) (d D) {
	m.t.Helper()
	all := m.events(typ)
	if len(all) == 0 {
		m.t.Fatalf("there is no %s; events: %s", typ, strings.Join(m.types(""), " "))
	}
	if err := json.Unmarshal(all[len(all)-1].Data, &d); err != nil {
		m.t.Fatal(err)
	}
	return d
}

// row returns a request from the tables.
func (m *team) row(collabID string) responses.Row {
	m.t.Helper()
	list := projectiontest.Read(m.t, m.db, func(ctx context.Context, tx *sql.Tx) ([]responses.Row, error) {
		return responses.List(ctx, tx, responses.Query{CollabID: collabID})
	})
	if len(list) != 1 {
		m.t.Fatalf("request %s is there %d times", collabID, len(list))
	}
	return list[0]
}

// participants returns the agents in a thread, in order.
func (m *team) participants(thread string) (agents []string) {
	m.t.Helper()
	for _, p := range projectiontest.Read(m.t, m.db, func(ctx context.Context, tx *sql.Tx) ([]routing.Participant, error) {
		return routing.Participants(ctx, tx, thread)
	}) {
		agents = append(agents, p.AgentID)
	}
	slices.Sort(agents)
	return agents
}

// said returns the transcript of a session.
func (m *team) said(key string) (texts []string) {
	m.t.Helper()
	for _, one := range projectiontest.Read(m.t, m.db, func(ctx context.Context, tx *sql.Tx) ([]sessions.Message, error) {
		s, err := sessions.ByKey(ctx, tx, key)
		if err != nil || s == nil {
			return nil, err
		}
		return sessions.Newest(ctx, tx, s.ID, 100, 1<<20)
	}) {
		texts = append(texts, one.Data.Text)
	}
	return texts
}

// posted returns what bots have written in a channel or thread.
func (m *team) posted(place string) (texts []string) {
	for _, one := range m.Messages(place) {
		if one.Type == discordtest.PlainMessage && one.Author.Bot {
			texts = append(texts, one.Content)
		}
	}
	return texts
}

// threads returns the threads that bots have opened in a channel.
func (m *team) threads(channel discordtest.Channel) (list []string) {
	for _, one := range m.Threads(channel.ID) {
		list = append(list, one.ID)
	}
	return list
}

// caller is an agent in its main session, which has no Discord target.
func caller(agent string) tool.Caller {
	return tool.Caller{Entry: tool.ByRun, AgentID: agent, SessionKey: coordination.MainKey(agent).String(), WorkSessionID: "ws_test"}
}

// in is an agent in its session of a channel or thread.
func in(agent, place string) tool.Caller {
	c := caller(agent)
	c.SessionKey = coordination.ChannelKey(agent, "discord", place).String()
	c.Channel, c.To, c.AccountID = "discord", "channel:"+place, accounts[agent]
	return c
}

// answer is what the tool has said.
type answer map[string]any

func (a answer) text(name string) string { s, _ := a[name].(string); return s }

// call calls the tool, whatever the result.
func (m *team) call(c tool.Caller, args map[string]any) (answer, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	out, err := m.box.Call(m.ctx, c, collabtools.Name, text)
	if err != nil {
		return nil, err
	}
	var a answer
	if err := json.Unmarshal([]byte(out.Text), &a); err != nil {
		return nil, fmt.Errorf("%s: %w", out.Text, err)
	}
	if success, _ := a["success"].(bool); success == out.IsError {
		return a, fmt.Errorf("success is %t, but the output says %t", success, !out.IsError)
	}
	return a, nil
}

// asks asks eden, or the agent that more names, and fails the test on a refusal.
func (m *team) asks(c tool.Caller, message string, more ...string) answer {
	m.t.Helper()
	a, err := m.call(c, arguments(message, more))
	if err != nil || a["success"] != true {
		m.t.Fatalf("%s asks %q: %v, %v\n%s\nevents: %s", c.AgentID, message, a, err, m.logs, strings.Join(m.types(""), " "))
	}
	return a
}

// refuses fails the test unless a request is refused with that code.
func (m *team) refuses(code string, c tool.Caller, message string, more ...string) answer {
	m.t.Helper()
	a, err := m.call(c, arguments(message, more))
	if err != nil || a["success"] != false || a.text("code") != code || a.text("error") == "" || a.text("hint") == "" {
		m.t.Fatalf("%s asks %.100q: %v, %v; want code %s", c.AgentID, message, a, err, code)
	}
	return a
}

func arguments(message string, more []string) map[string]any {
	args := map[string]any{"targetAgent": "eden", "message": message}
	for i := 0; i < len(more); i += 2 {
		args[more[i]] = more[i+1]
	}
	return args
}

// says has the bot of an agent write in a thread, as at the end of a run, and waits until the message is decided.
func (m *team) says(agent, thread, text string) {
	m.t.Helper()
	p, err := m.bots.Send(m.ctx, channel.Post{AccountID: accounts[agent], ChannelID: thread, Content: text, Nonce: uuid.NewString()[:25]})
	if err != nil {
		m.t.Fatal(err)
	}
	m.until("a decision about "+text, func() bool {
		return slices.ContainsFunc(m.events("discord.inbound."), func(e eventstore.Event) bool {
			return strings.Contains(string(e.Data), `"messageId":"`+p.ID+`"`)
		})
	})
}
