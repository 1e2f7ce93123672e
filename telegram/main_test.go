package telegram_test

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
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/telegram"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

func TestMain(m *testing.M) {
	log.SetOutput(noLog{})
	goleak.VerifyTestMain(m)
}

// noLog is where the library must not log, for it shows what it is sent.
type noLog struct{}

func (noLog) Write(p []byte) (int, error) { panic(fmt.Sprintf("logged past our log: %s", p)) }

// team is a forum, a basic group and a private chat with two bots and a person, and the Bots under test.
type team struct {
	*telegramtest.Server
	*telegram.Bots
	t            *testing.T
	ctx          context.Context
	ruda, eden   *telegramtest.Bot // eden has no privacy mode
	bora         *telegramtest.Person
	forum, group *telegramtest.Chat
	private      *telegramtest.Chat // of bora and ruda
	log          *buffer
	accounts     map[string]map[string]any
	more         map[string]any // of channels.telegram
	hold         func(channel.Inbound)
	mu           sync.Mutex
	facts        []channel.Inbound
	asked        []channel.Interaction
	changed      chan struct{}
	stop         context.CancelFunc
	stopped      chan struct{}
	running      bool
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
func newTeam(t *testing.T, how ...func(*channel.Options)) *team {
	t.Helper()
	s, err := telegramtest.New(telegramtest.Options{Limits: telegramtest.NoLimits(), Retry: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	m := &team{t: t, Server: s, log: &buffer{}, changed: make(chan struct{})}
	var cancel context.CancelFunc
	m.ctx, cancel = context.WithTimeout(context.Background(), testscale.Patience)
	t.Cleanup(cancel)
	m.ruda, m.eden = s.AddBot("ruda", telegramtest.BotOptions{}), s.AddBot("eden", telegramtest.BotOptions{WithoutPrivacy: true})
	m.bora = s.AddPerson("Bora")
	m.forum = s.AddGroup("forum", telegramtest.GroupOptions{Topics: true}, m.bora, m.ruda.User, m.eden.User)
	m.forum.Promote(m.ruda.User, telegramtest.Rights{ManageTopics: true})
	m.group = s.AddGroup("basic", telegramtest.GroupOptions{Basic: true}, m.bora, m.ruda.User, m.eden.User)
	m.private = m.bora.Private(m.ruda)
	m.accounts = map[string]map[string]any{"ruda": {"botToken": m.ruda.Token}, "eden": {"botToken": m.eden.Token}}
	m.build(how...)
	return m
}

// build makes the Bots, as after a start of the program.
func (m *team) build(how ...func(*channel.Options)) {
	m.t.Helper()
	transport, err := telegram.Redirect(m.URL())
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(transport.(interface{ CloseIdleConnections() }).CloseIdleConnections)
	o := channel.Options{OnMessage: m.heard, OnInteraction: m.interacted, OnStatus: func(health.Bot) { m.wake() }, Log: slog.New(slog.NewTextHandler(m.log, nil)),
		Transport: transport, Least: 5 * time.Millisecond, Most: 20 * time.Millisecond, Commands: []channel.Command{{Name: "status", Description: "shows the state"}}}
	for _, change := range how {
		change(&o)
	}
	m.Bots = telegram.New(o)
}

func (m *team) read() *config.Config {
	m.t.Helper()
	own := map[string]any{"accounts": m.accounts, "groups": map[string]any{"*": map[string]any{}}, "groupPolicy": "open"}
	for k, v := range m.more {
		own[k] = v
	}
	agents := []any{map[string]any{"id": "ruda", "name": "루다"}, map[string]any{"id": "eden", "name": "이든"}}
	text, err := json.Marshal(map[string]any{"agents": map[string]any{"list": agents}, "channels": map[string]any{"telegram": own}})
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

func (m *team) run() *team {
	m.t.Helper()
	m.Configure(m.read())
	var ctx context.Context
	ctx, m.stop = context.WithCancel(context.Background())
	stopped := make(chan struct{})
	m.stopped = stopped
	bots := m.Bots
	go func() {
		defer close(stopped)
		if err := bots.Run(ctx); err != nil {
			m.t.Errorf("Run says %v, want nil", err)
		}
	}()
	if !m.running {
		m.t.Cleanup(m.halt)
	}
	m.running = true
	return m
}

// start runs the bots, and waits until all of them are connected and have heard what was said before.
func (m *team) start() *team {
	m.t.Helper()
	m.run()
	for id, bot := range map[string]*telegramtest.Bot{"ruda": m.ruda, "eden": m.eden} {
		m.untilState(id, health.BotReady)
		if err := bot.WaitConfirmed(m.ctx); err != nil {
			m.t.Fatal(err)
		}
	}
	m.mu.Lock()
	m.facts, m.asked = nil, nil
	m.mu.Unlock()
	return m
}

// halt ends the bots; twice is fine.
func (m *team) halt() {
	m.stop()
	<-m.stopped
}

func (m *team) heard(in channel.Inbound) {
	m.mu.Lock()
	hold := m.hold
	m.mu.Unlock()
	if hold != nil {
		hold(in)
	}
	m.mu.Lock()
	m.facts = append(m.facts, in)
	m.mu.Unlock()
	m.wake()
}

func (m *team) interacted(i channel.Interaction) {
	m.mu.Lock()
	m.asked = append(m.asked, i)
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
			m.t.Fatalf("waited in vain for %s\nstates: %+v\nfacts: %q\nlog:\n%s", what, m.Status(), m.told(""), m.log)
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

// told is what an account was told, or all were: the kind and content of each fact.
func (m *team) told(id string) (lines []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, in := range m.facts {
		if id == "" || in.AccountID == id {
			lines = append(lines, string(in.Kind)+" "+in.Message.Content)
		}
	}
	return lines
}

// fact waits for a fact of an account.
func (m *team) fact(id, line string) channel.Inbound {
	m.t.Helper()
	m.until(fmt.Sprintf("%s to be told %q", id, line), func() bool { return slices.Contains(m.told(id), line) })
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, in := range m.facts {
		if in.AccountID == id && string(in.Kind)+" "+in.Message.Content == line {
			return in
		}
	}
	return channel.Inbound{}
}

// interaction waits for the interaction with a number, from 0.
func (m *team) interaction(n int) channel.Interaction {
	m.t.Helper()
	m.until("an interaction", func() bool { m.mu.Lock(); defer m.mu.Unlock(); return len(m.asked) > n })
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[n]
}

func (m *team) write(ch *telegramtest.Chat, text string) telegramtest.Message {
	m.t.Helper()
	written, err := m.bora.Write(ch, text)
	if err != nil {
		m.t.Fatal(err)
	}
	return written
}

func (m *team) send(p channel.Post) channel.Posted {
	m.t.Helper()
	posted, err := m.Send(m.ctx, p)
	if err != nil {
		m.t.Fatal(err)
	}
	posted.Tell(m.ctx)
	return posted
}

func (m *team) shows(ch *telegramtest.Chat, text string) telegramtest.Message {
	m.t.Helper()
	found, err := ch.WaitMessage(m.ctx, func(o telegramtest.Message) bool { return o.Text == text })
	if err != nil {
		m.t.Fatalf("%q: %v; the chat shows %q\nlog:\n%s", text, err, ch.Texts(), m.log)
	}
	return found
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func placeID(ch *telegramtest.Chat) string { return fmt.Sprintf("telegram:%d", ch.ID) }

func id(u telegramtest.User) string { return fmt.Sprint(u.ID) }
