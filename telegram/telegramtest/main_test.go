package telegramtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// team is a forum, a plain group and a private chat, with two bots and a person.
type team struct {
	*telegramtest.Server
	t            *testing.T
	ruda, eden   *telegramtest.Bot // eden has no privacy mode
	bora         *telegramtest.Person
	group, forum *telegramtest.Chat
	private      *telegramtest.Chat // of bora and ruda
	clock        *clock
}

// clock stands still until a test moves it.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newTeam(t *testing.T, options telegramtest.Options) *team {
	t.Helper()
	m := &team{t: t, clock: &clock{at: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}}
	options.Now = m.clock.now
	if options.Limits == nil {
		options.Limits = telegramtest.NoLimits()
	}
	server, err := telegramtest.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	m.Server = server
	m.ruda, m.eden = server.AddBot("ruda", telegramtest.BotOptions{}), server.AddBot("eden", telegramtest.BotOptions{WithoutPrivacy: true})
	m.bora = server.AddPerson("Bora")
	m.group = server.AddGroup("lab", telegramtest.GroupOptions{}, m.bora, m.ruda.User, m.eden.User)
	m.forum = server.AddGroup("forum", telegramtest.GroupOptions{Topics: true}, m.bora, m.ruda.User, m.eden.User)
	m.forum.Promote(m.ruda.User, telegramtest.Rights{ManageTopics: true, DeleteMessages: true})
	m.private = m.bora.Private(m.ruda)
	return m
}

func (m *team) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), testscale.Patience)
	m.t.Cleanup(cancel)
	return ctx
}

// answer is what a method has answered.
type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		MigrateTo  int64 `json:"migrate_to_chat_id"`
		RetryAfter int   `json:"retry_after"`
	} `json:"parameters"`
}

// ask calls a method with a JSON body. An error is one of the network.
func ask(ctx context.Context, s *telegramtest.Server, token, method string, params any) (a answer, err error) {
	body, err := json.Marshal(params)
	if err != nil {
		return a, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/bot"+token+"/"+method, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	r.GetBody = nil
	r.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		return a, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(text, &a)
}

// params are those of a request.
type params map[string]any

func (m *team) ask(b *telegramtest.Bot, method string, p params) answer {
	m.t.Helper()
	a, err := ask(m.context(), m.Server, b.Token, method, p)
	if err != nil {
		m.t.Fatalf("%s: %v", method, err)
	}
	return a
}

// must calls a method that succeeds.
func (m *team) must(b *telegramtest.Bot, method string, p params) json.RawMessage {
	m.t.Helper()
	a := m.ask(b, method, p)
	if !a.OK {
		m.t.Fatalf("%s %v: %d %s", method, p, a.Code, a.Description)
	}
	return a.Result
}

func (m *team) send(b *telegramtest.Bot, p params) telegramtest.Message {
	m.t.Helper()
	return parse[telegramtest.Message](m.t, m.must(b, "sendMessage", p))
}

func parse[T any](t *testing.T, text json.RawMessage) (v T) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// updates requests updates without waiting.
func (m *team) updates(b *telegramtest.Bot, p params) []telegramtest.Update {
	m.t.Helper()
	return parse[[]telegramtest.Update](m.t, m.must(b, "getUpdates", p))
}

// heard confirms everything so far and returns the texts of its messages.
func (m *team) heard(b *telegramtest.Bot) (texts []string) {
	m.t.Helper()
	last := int64(0)
	for _, u := range m.updates(b, nil) {
		last = u.UpdateID
		if u.Message != nil && u.Message.Text+u.Message.Caption != "" {
			texts = append(texts, u.Message.Text+u.Message.Caption)
		}
	}
	if last != 0 {
		m.updates(b, params{"offset": last + 1})
	}
	return texts
}

func (m *team) write(ch *telegramtest.Chat, text string) telegramtest.Message {
	m.t.Helper()
	written, err := m.bora.Write(ch, text)
	if err != nil {
		m.t.Fatal(err)
	}
	return written
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func get(t *testing.T, address string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
