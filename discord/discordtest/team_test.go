package discordtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

const intents = discordgo.IntentsAllWithoutPrivileged | discordgo.IntentMessageContent

// team is a guild with three bots, a person and a channel.
type team struct {
	*discordtest.Server
	t                *testing.T
	guild            *discordtest.Guild
	channel          discordtest.Channel
	ruda, eden, seum *discordtest.Bot
	bora             *discordtest.Human
	clock            *clock
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

func newClock() *clock { return &clock{at: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)} }

func newTeam(t *testing.T, options discordtest.Options) *team {
	t.Helper()
	team := &team{t: t, clock: newClock()}
	if options.Now == nil {
		options.Now = team.clock.now
	}
	if options.Limits == nil {
		options.Limits = discordtest.NoLimits()
		options.Global = discordtest.Limit{Requests: 100000, Per: time.Second}
	}
	server, err := discordtest.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	team.Server = server
	team.ruda, team.eden = server.AddBot("ruda", discordtest.BotOptions{}), server.AddBot("eden", discordtest.BotOptions{})
	team.seum, team.bora = server.AddBot("seum", discordtest.BotOptions{WithoutContent: true}), server.AddHuman("bora")
	team.guild = server.AddGuild("lab")
	team.guild.Join(team.ruda.ID, team.eden.ID, team.seum.ID, team.bora.ID)
	team.channel = team.guild.AddChannel("general", discordtest.ChannelOptions{})
	return team
}

func (m *team) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), testscale.Patience)
	m.t.Cleanup(cancel)
	return ctx
}

// must stops a test that cannot go on.
func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (m *team) post(channelID, content string) discordtest.Message {
	m.t.Helper()
	posted, err := m.bora.Post(channelID, content)
	return must(m.t, posted, err)
}

// rest is a session that is never opened.
func (m *team) rest(b *discordtest.Bot) *discordgo.Session {
	m.t.Helper()
	session, err := b.Session()
	return must(m.t, session, err)
}

// client is a session that is open, and what it was told. The library does not reconnect by itself: where a heartbeat is written while someone closes
// the session, it would open it once more, and try for ever. The client does.
type client struct {
	*discordgo.Session
	bot     *discordtest.Bot
	t       *testing.T
	mu      sync.Mutex
	events  []told
	changed chan struct{}
	lost    chan struct{} // the socket has ended; capacity 1
}

type told struct {
	kind string
	seq  int64
	data json.RawMessage
}

func (m *team) client(b *discordtest.Bot, asks discordgo.Intent) *client {
	m.t.Helper()
	c := &client{Session: m.rest(b), bot: b, t: m.t, changed: make(chan struct{}, 1), lost: make(chan struct{}, 1)}
	c.SyncEvents, c.ShouldReconnectOnError = true, false
	c.Identify.Intents = asks
	c.AddHandler(func(_ *discordgo.Session, e *discordgo.Event) {
		c.mu.Lock()
		c.events = append(c.events, told{e.Type, e.Sequence, slices.Clone(e.RawData)})
		c.mu.Unlock()
		signal(c.changed)
	})
	c.AddHandler(func(*discordgo.Session, *discordgo.Disconnect) { signal(c.lost) })
	return c
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (c *client) start() *client {
	c.t.Helper()
	if err := c.Open(); err != nil {
		c.t.Fatalf("open the session of %s: %v", c.bot.Username, err)
	}
	over, kept := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(kept)
		c.keep(over)
	}()
	c.t.Cleanup(func() {
		close(over)
		<-kept
		if err := c.Close(); err != nil {
			c.t.Errorf("close the session of %s: %v", c.bot.Username, err)
		}
	})
	return c
}

// keep opens the session again whenever it was lost, until it is over.
func (c *client) keep(over <-chan struct{}) {
	var again <-chan time.Time
	for {
		select {
		case <-c.lost:
		case <-again:
		case <-over:
			return
		}
		again = nil
		if err := c.Open(); err != nil && !errors.Is(err, discordgo.ErrWSAlreadyOpen) {
			again = time.After(10 * time.Millisecond)
		}
	}
}

func (c *client) told(kind string) (all []told) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if e.kind == kind {
			all = append(all, e)
		}
	}
	return all
}

// until waits until the client has been told n events of a kind.
func (c *client) until(ctx context.Context, kind string, n int) []told {
	c.t.Helper()
	for {
		if all := c.told(kind); len(all) >= n {
			return all
		}
		select {
		case <-c.changed:
		case <-ctx.Done():
			c.t.Fatalf("%s was told %d of %d %s: %v", c.bot.Username, len(c.told(kind)), n, kind, ctx.Err())
		}
	}
}

// contents of the messages that a client was told, in order.
func (c *client) contents(ctx context.Context, n int) (all []string) {
	c.t.Helper()
	for _, e := range c.until(ctx, "MESSAGE_CREATE", n) {
		all = append(all, read[discordtest.Message](c.t, e.data).Content)
	}
	return all
}

func read[T any](t *testing.T, data []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("read %s: %v", data, err)
	}
	return v
}

// answer of a request that is made without a library.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (m *team) ask(b *discordtest.Bot, method, path, body string) answer {
	m.t.Helper()
	a, err := m.try(context.Background(), b, method, path, body)
	if err != nil {
		m.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

func (m *team) try(ctx context.Context, b *discordtest.Bot, method, path, body string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, "https://discord.com/api/v10"+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return answer{}, err
	}
	if b != nil {
		r.Header.Set("Authorization", "Bot "+b.Token)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Transport: m.Transport()}).Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, text}, err
}

func (a answer) refusal(t *testing.T) discordtest.Error {
	t.Helper()
	e := read[discordtest.Error](t, a.body)
	e.Status = a.status
	return e
}
