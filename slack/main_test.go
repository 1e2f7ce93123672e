package slack_test

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
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/slack"
	"github.com/pronto-lab/openclawd/slack/slacktest"
)

var _ channel.Channel = (*slack.Apps)(nil)

func TestMain(m *testing.M) {
	log.SetOutput(noLog{})
	goleak.VerifyTestMain(m)
}

// noLog is where the library must not log, for it shows what it is sent.
type noLog struct{}

func (noLog) Write(p []byte) (int, error) { panic(fmt.Sprintf("logged past our log: %s", p)) }

// team is a workspace with two apps and a person, and the Apps under test.
type team struct {
	*slacktest.Server
	*slack.Apps
	t          *testing.T
	ctx        context.Context
	channel    slacktest.Channel
	place      string // the channel's id in the log
	ruda, eden *slacktest.App
	bora       *slacktest.Person
	accounts   []config.Account
	options    channel.Options
	log        *buffer

	mu      sync.Mutex
	facts   []channel.Inbound
	uses    []channel.Interaction
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

// newTeam makes a team whose apps do not run yet.
func newTeam(t *testing.T, how ...func(*slacktest.Options, *channel.Options)) *team {
	t.Helper()
	m := &team{t: t, log: &buffer{}}
	server := slacktest.Options{Limits: slacktest.NoLimits()}
	m.options = channel.Options{OnMessage: m.heard, OnInteraction: m.used, OnStatus: func(health.Bot) { m.Wake() }, Log: slog.New(slog.NewTextHandler(m.log, nil)),
		Least: 20 * time.Millisecond, Most: 50 * time.Millisecond}
	for _, change := range how {
		change(&server, &m.options)
	}
	s, err := slacktest.New(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	transport, err := slack.Redirect(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	m.options.Transport = transport
	t.Cleanup(transport.(interface{ CloseIdleConnections() }).CloseIdleConnections)
	var cancel context.CancelFunc
	m.ctx, cancel = context.WithTimeout(context.Background(), testscale.Patience)
	t.Cleanup(cancel)
	m.Server, m.Apps = s, slack.New(m.options)
	m.ruda = s.AddApp("ruda", slacktest.AppOptions{Commands: []string{"/openclaw"}})
	m.eden, m.bora = s.AddApp("eden", slacktest.AppOptions{}), s.AddPerson("bora")
	m.channel = s.AddChannel("general", m.bora.ID, m.ruda.UserID, m.eden.UserID)
	m.place = place(m.channel.ID)
	m.accounts = []config.Account{account("ruda", m.ruda), account("eden", m.eden)}
	return m
}

func place(id string) string { return "slack:" + strings.ToLower(id) }

func account(id string, a *slacktest.App) config.Account {
	return config.Account{ID: id, Enabled: true, Token: config.Secret(a.Token), AppToken: config.Secret(a.AppToken)}
}

// settings is the configuration of the team: an agent for each account.
func (m *team) settings() *config.Config {
	m.t.Helper()
	agents := []any{}
	for _, a := range m.accounts {
		agents = append(agents, map[string]any{"id": a.ID, "name": strings.ToUpper(a.ID)})
	}
	text, err := json.Marshal(map[string]any{"agents": map[string]any{"list": agents}})
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
	c.Slack.Enabled, c.Slack.Accounts = true, slices.Clone(m.accounts)
	return c
}

// start runs the apps, and waits until all of them are ready.
func (m *team) start() *team {
	m.t.Helper()
	m.run()
	for _, a := range m.accounts {
		m.untilState(a.ID, health.BotReady)
	}
	return m
}

func (m *team) run() {
	m.t.Helper()
	m.Configure(m.settings())
	var ctx context.Context
	ctx, m.stop = context.WithCancel(context.Background())
	stopped, apps := make(chan struct{}), m.Apps
	m.stopped = stopped
	go func() {
		defer close(stopped)
		if err := apps.Run(ctx); err != nil {
			m.t.Errorf("Run says %v, want nil", err)
		}
	}()
	m.t.Cleanup(m.halt)
}

// halt ends the apps; twice is fine.
func (m *team) halt() {
	m.stop()
	<-m.stopped
}

func (m *team) heard(in channel.Inbound) {
	m.mu.Lock()
	m.facts = append(m.facts, in)
	m.mu.Unlock()
	m.Wake()
}

func (m *team) used(i channel.Interaction) {
	m.mu.Lock()
	m.uses = append(m.uses, i)
	m.mu.Unlock()
	m.Wake()
}

// until waits until something holds that facts, states or the server make so.
func (m *team) until(what string, so func() bool) {
	m.t.Helper()
	if err := m.Until(m.ctx, so); err != nil {
		m.t.Fatalf("waited in vain for %s: %v\nstates: %+v\nfacts: %v\nlog:\n%s", what, err, m.Status(), m.told(""), m.log)
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
func (m *team) untilTold(id, line string) channel.Inbound {
	m.t.Helper()
	m.until(fmt.Sprintf("%s to be told %q", id, line), func() bool { return slices.Contains(m.told(id), line) })
	return m.fact(id, line)
}

func (m *team) fact(id, want string) channel.Inbound {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, in := range m.facts {
		if in.AccountID == id && line(in) == want {
			return in
		}
	}
	m.t.Fatalf("%s was not told %q", id, want)
	return channel.Inbound{}
}

func (m *team) post(channelID, text string) slacktest.Message {
	m.t.Helper()
	return must(m.t)(m.bora.Post(channelID, text))
}

func must(t *testing.T) func(slacktest.Message, error) slacktest.Message {
	return func(v slacktest.Message, err error) slacktest.Message {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// use waits for an interaction.
func (m *team) use(n int) channel.Interaction {
	m.t.Helper()
	var i channel.Interaction
	m.until("an interaction", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		if len(m.uses) > n {
			i = m.uses[n]
		}
		return len(m.uses) > n
	})
	return i
}

func (m *team) last(channelID string) slacktest.Message {
	m.t.Helper()
	all := m.Messages(channelID)
	if len(all) == 0 {
		m.t.Fatal("there are no messages")
	}
	return all[len(all)-1]
}

// untilSeen is until for what nothing tells of: it looks again after a moment.
func (m *team) untilSeen(what string, so func() bool) {
	m.t.Helper()
	m.until(what, func() bool {
		if so() {
			return true
		}
		time.AfterFunc(time.Millisecond, m.Wake)
		return false
	})
}

// waiting waits until so many posts wait for their turn in the channel.
func (m *team) waiting(n int) {
	m.t.Helper()
	m.untilSeen("posts to wait", func() bool { return slack.Waiting(m.Apps, m.channel.ID) >= n })
}
