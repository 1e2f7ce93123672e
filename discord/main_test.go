package discord_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

func TestMain(m *testing.M) {
	log.SetOutput(noLog{})
	goleak.VerifyTestMain(m)
}

// noLog is where the library must not log, for it shows what it is sent.
type noLog struct{}

func (noLog) Write(p []byte) (int, error) { panic(fmt.Sprintf("logged past our log: %s", p)) }

// account is a bot as a configuration names it.
type account struct {
	id, token string
	user      string // id; "": it is not configured
	disabled  bool
}

// settings are those that tests change.
type settings struct {
	accounts []account
	agents   []string          // ids; one with a = has a name, too
	bindings map[string]string // agent by account
	discord  map[string]any    // more of channels.discord
}

// read makes a configuration of settings, by its file.
func (s settings) read(t *testing.T) *config.Config {
	t.Helper()
	accounts, agents, bindings := map[string]any{}, []any{}, []any{}
	for _, a := range s.accounts {
		of := map[string]any{"token": a.token, "enabled": !a.disabled}
		if a.user != "" {
			of["botUserId"] = a.user
		}
		accounts[a.id] = of
	}
	for _, a := range s.agents {
		id, name, named := strings.Cut(a, "=")
		agent := map[string]any{"id": id}
		if named {
			agent["name"] = name
		}
		agents = append(agents, agent)
	}
	for account, agent := range s.bindings {
		bindings = append(bindings, map[string]any{"agentId": agent, "match": map[string]any{"channel": "discord", "accountId": account}})
	}
	channel := map[string]any{"accounts": accounts}
	for key, v := range s.discord {
		channel[key] = v
	}
	text, err := json.Marshal(map[string]any{"agents": map[string]any{"list": agents}, "bindings": bindings, "channels": map[string]any{"discord": channel}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "openclaw.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c, findings := config.Load(path, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		t.Fatalf("the test's configuration: %v", err)
	}
	return c
}

// team is a guild with two bots and a person, and the Bots under test.
type team struct {
	*discordtest.Server
	*discord.Bots
	t          *testing.T
	ctx        context.Context
	guild      *discordtest.Guild
	channel    discordtest.Channel
	ruda, eden *discordtest.Bot
	bora       *discordtest.Human
	settings   settings
	log        *buffer

	mu      sync.Mutex
	facts   []channel.Inbound
	changed chan struct{}
	running bool
	stop    context.CancelFunc
	stopped chan struct{}
}

type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
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

// newTeam makes a team whose bots do not run yet.
func newTeam(t *testing.T, how ...func(*discordtest.Options, *channel.Options)) *team {
	t.Helper()
	m := &team{t: t, changed: make(chan struct{}), stopped: make(chan struct{}), log: &buffer{}}
	server := discordtest.Options{Limits: discordtest.NoLimits(), Global: discordtest.Limit{Requests: 100000, Per: time.Second}}
	options := channel.Options{OnMessage: m.heard, OnStatus: func(health.Bot) { m.wake() }, Log: slog.New(slog.NewTextHandler(m.log, nil)),
		Least: 20 * time.Millisecond, Most: 50 * time.Millisecond}
	for _, change := range how {
		change(&server, &options)
	}
	s, err := discordtest.New(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	options.Transport = s.Transport()
	var cancel context.CancelFunc
	m.ctx, cancel = context.WithTimeout(context.Background(), testscale.Patience)
	t.Cleanup(cancel)
	m.Server, m.Bots = s, discord.New(options)
	m.ruda, m.eden, m.bora = s.AddBot("ruda", discordtest.BotOptions{}), s.AddBot("eden", discordtest.BotOptions{}), s.AddHuman("bora")
	m.guild = s.AddGuild("lab")
	m.guild.Join(m.ruda.ID, m.eden.ID, m.bora.ID)
	m.channel = m.guild.AddChannel("general", discordtest.ChannelOptions{})
	m.settings = settings{accounts: []account{{id: "ruda", token: m.ruda.Token}, {id: "eden", token: m.eden.Token}}, agents: []string{"ruda=루다", "eden=이든"},
		bindings: map[string]string{"ruda": "ruda", "eden": "eden"}}
	return m
}

// start runs the bots, and waits until all of them are ready.
func (m *team) start() *team {
	m.t.Helper()
	m.run()
	for _, a := range m.settings.accounts {
		m.untilState(a.id, health.BotReady)
		m.until(a.id+" to be known as connected", func() bool {
			who, _ := m.Registry().Account(a.id)
			return who.Connected
		})
	}
	return m
}

func (m *team) run() {
	m.t.Helper()
	m.Configure(m.settings.read(m.t))
	var ctx context.Context
	ctx, m.stop = context.WithCancel(context.Background())
	m.running = true
	go func() {
		defer close(m.stopped)
		if err := m.Run(ctx); err != nil {
			m.t.Errorf("Run says %v, want nil", err)
		}
	}()
	m.t.Cleanup(m.halt)
}

// halt ends the bots; twice is fine.
func (m *team) halt() {
	m.stop()
	<-m.stopped
}

func (m *team) heard(in channel.Inbound) {
	m.mu.Lock()
	m.facts = append(m.facts, in)
	m.mu.Unlock()
	m.wake()
}

func (m *team) wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.changed)
	m.changed = make(chan struct{})
}

// until waits until something holds that facts or states make so.
func (m *team) until(what string, so func() bool) {
	m.t.Helper()
	for {
		m.mu.Lock()
		changed := m.changed
		m.mu.Unlock()
		if so() {
			return
		}
		select {
		case <-changed:
		case <-m.ctx.Done():
			m.t.Fatalf("waited in vain for %s\nstates: %+v\nfacts: %v\nlog:\n%s", what, m.Status(), m.told(""), m.log)
		}
	}
}

func (m *team) status(id string) health.Bot {
	m.t.Helper()
	for _, s := range m.Status() {
		if s.AccountID == id {
			return s
		}
	}
	m.t.Fatalf("there is no status of %s", id)
	return health.Bot{}
}

func (m *team) untilState(id string, state health.BotState) health.Bot {
	m.t.Helper()
	m.until(id+" to be "+string(state), func() bool { return m.status(id).State == state })
	return m.status(id)
}

// told is what an account was told, or all were: each fact in a line.
func (m *team) told(id string) (lines []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, in := range m.facts {
		if id == "" || in.AccountID == id {
			lines = append(lines, line(in))
		}
	}
	return lines
}

func line(in channel.Inbound) string {
	s := fmt.Sprintf("%s %s", in.Kind, in.Message.Content)
	if in.Missed {
		s += " (missed)"
	}
	return s
}

// untilTold waits until an account was told a line.
func (m *team) untilTold(id, line string) {
	m.t.Helper()
	m.until(fmt.Sprintf("%s to be told %q", id, line), func() bool { return slices.Contains(m.told(id), line) })
}

func (m *team) fact(id, line1 string) channel.Inbound {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, in := range m.facts {
		if in.AccountID == id && line(in) == line1 {
			return in
		}
	}
	m.t.Fatalf("%s was not told %q", id, line1)
	return channel.Inbound{}
}

func (m *team) post(channelID, content string) discordtest.Message {
	m.t.Helper()
	return must(m.t)(m.bora.Post(channelID, content))
}

func must(t *testing.T) func(discordtest.Message, error) discordtest.Message {
	return func(v discordtest.Message, err error) discordtest.Message {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// connected waits until a bot can be cut off so that its session is resumed.
func (m *team) connected(b *discordtest.Bot) {
	m.t.Helper()
	if err := m.WaitHeartbeat(m.ctx, b.ID); err != nil {
		m.t.Fatal(err)
	}
}
