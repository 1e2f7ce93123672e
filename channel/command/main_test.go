package command_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/command"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeApprovals decides each thing once, as the real one does.
type fakeApprovals struct {
	mu      sync.Mutex
	decided map[string]string
	asked   []string
	hold    chan struct{} // decides when it is closed; nil: at once
}

func (o *fakeApprovals) decide(ctx context.Context, what, id, person string) (string, error) {
	if o.hold != nil {
		select {
		case <-o.hold:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, what+" "+id)
	if before := o.decided[id]; before != "" {
		return before, errors.New("decided before")
	}
	if id == "broken" {
		return "", errors.New("the disk is full of geheim")
	}
	o.decided[id] = fmt.Sprintf("%s by %s", what, person)
	return o.decided[id], nil
}

func (o *fakeApprovals) Approve(ctx context.Context, id, person string) (string, error) {
	return o.decide(ctx, "approved", id, person)
}

func (o *fakeApprovals) ApproveAlways(ctx context.Context, id, person string) (string, error) {
	return o.decide(ctx, "approved for good", id, person)
}

func (o *fakeApprovals) Reject(ctx context.Context, id, person, reason string) (string, error) {
	return o.decide(ctx, "rejected, "+reason+",", id, person)
}

func (o *fakeApprovals) calls() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string{}, o.asked...)
}

// sessions remembers what was asked of it.
type sessions struct {
	mu   sync.Mutex
	did  []string
	fail error
	hold chan struct{}
	mad  bool // it panics
}

func (s *sessions) Reset(ctx context.Context, key coordination.SessionKey, how, by string) error {
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did = append(s.did, fmt.Sprintf("%s %s by %s", how, key, by))
	return s.fail
}

func (s *sessions) Status(_ context.Context, key coordination.SessionKey) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mad {
		panic("geheim")
	}
	return "all is well with " + key.String() + strings.Repeat(" 가", 2000), s.fail
}

func (s *sessions) done() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.did...)
}

// fixture is a guild with two people and the bots of two agents, whose interactions are answered.
type fixture struct {
	*discordtest.Server
	bots       *discord.Bots
	t          *testing.T
	ctx        context.Context
	guild      *discordtest.Guild
	channel    discordtest.Channel
	ruda, eden *discordtest.Bot
	bora, dan  *discordtest.Human
	role       string // of dan
	approvals  *fakeApprovals
	sessions   *sessions
	log        *buffer
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

// setup is what tests change. Settings names bora, dan, dan's role, the guild and the channel by $bora, $dan, $role,
// $guild and $channel.
type setup struct {
	settings  string // JSON, of channels.discord but accounts
	root      string // JSON, members beside channels
	patience  time.Duration
	approvals *fakeApprovals
	sessions  *sessions
}

func newFixture(t *testing.T, with setup) *fixture {
	t.Helper()
	s, err := discordtest.New(discordtest.Options{Limits: discordtest.NoLimits(), Global: discordtest.Limit{Requests: 100000, Per: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	h := &fixture{Server: s, t: t, log: &buffer{}, approvals: cmp.Or(with.approvals, &fakeApprovals{}), sessions: cmp.Or(with.sessions, &sessions{})}
	h.approvals.decided = map[string]string{}
	h.ruda, h.eden = s.AddBot("ruda", discordtest.BotOptions{}), s.AddBot("eden", discordtest.BotOptions{})
	h.bora, h.dan = s.AddHuman("bora"), s.AddHuman("dan")
	h.guild = s.AddGuild("lab")
	h.guild.Join(h.ruda.ID, h.eden.ID, h.bora.ID, h.dan.ID)
	h.channel, h.role = h.guild.AddChannel("general", discordtest.ChannelOptions{}), h.guild.Grant(h.dan.ID, 0)
	var cancel context.CancelFunc
	h.ctx, cancel = context.WithTimeout(context.Background(), testscale.Patience)
	t.Cleanup(cancel)

	conf := h.configure(with)
	logger := slog.New(slog.NewTextHandler(h.log, nil))
	var handler *command.Handler
	h.bots = discord.New(channel.Options{Transport: s.Transport(), Commands: append(command.Commands(coordination.English), channel.Command{Name: "other", Description: "of another user"}),
		Log: logger, OnInteraction: func(i channel.Interaction) { handler.Handle(h.ctx, i) }})
	handler = command.New(command.Options{Bots: h.bots, Sessions: h.sessions, Approvals: h.approvals, Config: func() *config.Config { return conf }, Now: time.Now,
		Logger: logger, Patience: cmp.Or(with.patience, 20*time.Second)})
	h.bots.Configure(conf)
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if err := h.bots.Run(ctx); err != nil {
			t.Errorf("Run says %v, want nil", err)
		}
	}()
	t.Cleanup(func() { stop(); <-stopped })
	if err := s.Until(h.ctx, func() bool { return len(s.Commands(h.ruda.ID, "")) > 0 && len(s.Commands(h.eden.ID, "")) > 0 }); err != nil {
		t.Fatalf("commands to be registered: %v\n%s", err, h.log)
	}
	return h
}

func (h *fixture) configure(with setup) *config.Config {
	h.t.Helper()
	fill := strings.NewReplacer("$bora", h.bora.ID, "$dan", h.dan.ID, "$role", h.role, "$guild", h.guild.ID, "$channel", h.channel.ID)
	text := fmt.Sprintf(`{"agents":{"list":[{"id":"ruda"},{"id":"eden"}]},`+
		`"channels":{"discord":{"accounts":{"ruda":{"token":%q},"eden":{"token":%q}}%s}}%s}`, h.ruda.Token, h.eden.Token, fill.Replace(with.settings), fill.Replace(with.root))
	if !json.Valid([]byte(text)) {
		h.t.Fatalf("the test's configuration is no JSON: %s", text)
	}
	path := filepath.Join(h.t.TempDir(), "openclaw.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	c, findings := config.Load(path, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		h.t.Fatalf("the test's configuration: %v", err)
	}
	return c
}

// ask posts what waits for a decision.
func (h *fixture) ask(id string) discordtest.Message {
	h.t.Helper()
	p, err := h.bots.Send(h.ctx, channel.Post{AccountID: "ruda", ChannelID: h.channel.ID, Content: "deploy? <@" + h.bora.ID + ">", Nonce: id, Components: h.bots.Components(command.Buttons(coordination.English, id))})
	if err != nil {
		h.t.Fatal(err)
	}
	return h.message(p.ID)
}

func (h *fixture) message(id string) discordtest.Message {
	h.t.Helper()
	for _, m := range h.Messages(h.channel.ID) {
		if m.ID == id {
			return m
		}
	}
	h.t.Fatalf("there is no message %s", id)
	return discordtest.Message{}
}

func (h *fixture) click(who *discordtest.Human, m discordtest.Message, button string) discordtest.Interaction {
	h.t.Helper()
	return h.answered(who.Click(m, button))
}

func (h *fixture) slash(who *discordtest.Human, place string, bot *discordtest.Bot, name string) discordtest.Interaction {
	h.t.Helper()
	return h.answered(who.Slash(place, bot.ID, name))
}

// answered waits for the last word to what someone has done.
func (h *fixture) answered(i discordtest.Interaction, err error) discordtest.Interaction {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
	return h.until(i, "an answer", func(now discordtest.Interaction) bool { return now.Answer != 0 })
}

func (h *fixture) until(i discordtest.Interaction, what string, so func(discordtest.Interaction) bool) (now discordtest.Interaction) {
	h.t.Helper()
	if err := h.Until(h.ctx, func() bool { now, _ = h.Interaction(i.ID); return so(now) }); err != nil {
		h.t.Fatalf("interaction %s waits for %s in vain: %v, it is %+v\n%s", i.ID, what, err, now, h.log)
	}
	return now
}

// wantPrivate checks that the asker got a private answer.
func (h *fixture) wantPrivate(why string, i discordtest.Interaction, part string) {
	h.t.Helper()
	if i.Original == nil || i.Answer != discordtest.AnswerMessage || i.Original.Flags&discordtest.FlagEphemeral == 0 || !strings.Contains(i.Original.Content, part) {
		h.t.Errorf("%s: the answer is %d %+v, want a private one with %q", why, i.Answer, i.Original, part)
	}
}
