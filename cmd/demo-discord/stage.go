package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/server"
	"github.com/pronto-lab/openclawd/server/settings"
)

// script is the script of the agents' answers.
//
//go:embed script.json
var script []byte

const scriptName = "script.json"

// configuration is a minimal configuration in which agents ask each other in Discord.
const configuration = `{
  agents: { list: [%s], defaults: { taskContinuation: { enabled: false } } },
  tools: { agentToAgent: { enabled: true } },
  bindings: [%s],
  channels: { discord: { enabled: true, accounts: { %s }, collaboration: { defaultChannel: %q, escalation: { mentionUserId: %q } } } },
  models: { scripted: { script: %q } },
}
`

// stage is a fake Discord with a person and the bots of the cast, and the program under demonstration.
type stage struct {
	discord *discordtest.Server
	channel discordtest.Channel
	person  *discordtest.Human
	bots    []*discordtest.Bot // of the cast, in cast order
	names   *strings.Replacer  // mentions to display names
	calls   *strings.Replacer  // display names to mentions

	dir     string
	address string // for the API to listen on
	api     string // URL
	program *server.Program
	end     context.CancelFunc
	stopped chan error // nil: not running
	log     *logged
	ahead   atomic.Int64 // ns by which the clock is advanced
}

// openStage returns once all bots are connected. api is the address of the program's API.
func openStage(ctx context.Context, api string) (*stage, error) {
	s := &stage{address: api, end: func() {}, log: &logged{}}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("begin: %w%s", err, s.warnings()), s.close())
	}
	return s, nil
}

func (s *stage) open(ctx context.Context) (err error) {
	if s.discord, err = discordtest.New(discordtest.Options{Now: s.now}); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "openclawd-demo-discord-"); err != nil {
		return err
	}
	text := s.people()
	if err = errors.Join(os.WriteFile(settings.File(s.dir), []byte(text), 0o600), os.WriteFile(filepath.Join(s.dir, scriptName), script, 0o600)); err != nil {
		return err
	}
	if err = s.serve(ctx); err != nil {
		return err
	}
	return s.connected(ctx)
}

func (s *stage) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

// people adds the person and the bots to a guild and writes the configuration.
func (s *stage) people() (text string) {
	guild := s.discord.AddGuild("pronto")
	s.channel, s.person = guild.AddChannel(strings.TrimPrefix(inChannel, "#"), discordtest.ChannelOptions{}), s.discord.AddHuman(human)
	guild.Join(s.person.ID)
	var agents, bindings, accounts, names, calls []string
	for _, a := range cast {
		bot := s.discord.AddBot(a.name, discordtest.BotOptions{})
		guild.Join(bot.ID)
		s.bots, names, calls = append(s.bots, bot), append(names, bot.Mention(), "@"+a.name), append(calls, "@"+a.name, bot.Mention())
		agents = append(agents, fmt.Sprintf(`{ id: %q, name: %q }`, a.id, a.name))
		bindings = append(bindings, fmt.Sprintf(`{ agentId: %q, match: { channel: "discord", accountId: %q } }`, a.id, a.id))
		accounts = append(accounts, fmt.Sprintf(`%s: { token: %q }`, a.id, bot.Token))
	}
	s.names, s.calls = strings.NewReplacer(names...), strings.NewReplacer(calls...)
	join := func(list []string) string { return strings.Join(list, ", ") }
	return fmt.Sprintf(configuration, join(agents), join(bindings), join(accounts), s.channel.ID, s.person.ID, scriptName)
}

// serve starts the program and returns once its API is about to answer.
func (s *stage) serve(ctx context.Context) error {
	ready := make(chan net.Addr, 1)
	s.program = server.New(server.Options{
		StateDir: s.dir, DB: filepath.Join(s.dir, database.Name), API: s.address, Gateway: settings.NoGateway, Rules: coordination.RulesV2,
		Now: s.now, Logger: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelWarn})), DiscordAPI: s.discord.URL(),
		Ready: func(api, _ net.Addr) { ready <- api },
	})
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	s.end, s.stopped = end, make(chan error, 1)
	go func() { s.stopped <- s.program.Run(running) }()
	select {
	case api := <-ready:
		s.api = "http://" + api.String()
		return nil
	case err := <-s.stopped:
		s.stopped = nil
		return cmp.Or(err, errors.New("the program stopped unexpectedly"))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// connected waits until every bot has a session and the program reports it.
func (s *stage) connected(ctx context.Context) error {
	var bots []string
	for _, b := range s.bots {
		bots = append(bots, b.ID)
	}
	if err := s.discord.WaitConnected(ctx, bots...); err != nil {
		return fmt.Errorf("connect the bots: %w", cmp.Or(context.Cause(ctx), err))
	}
	return s.until(ctx, "the program to report its bots connected", func() (bool, error) {
		var answer struct{ Bots []struct{ State string } }
		if err := s.ask(ctx, "/api/discord/bots", &answer); err != nil {
			return false, err
		}
		ready := 0
		for _, b := range answer.Bots {
			if b.State == "ready" {
				ready++
			}
		}
		return ready == len(bots), nil
	})
}

// later advances the clocks of the program and of Discord.
func (s *stage) later(d time.Duration) { s.ahead.Add(int64(d)) }

// close stops the program and the Discord, and removes their files.
func (s *stage) close() (err error) {
	s.end()
	if s.stopped != nil {
		err = <-s.stopped
	}
	if s.program != nil {
		err = errors.Join(err, s.program.Close())
	}
	if s.discord != nil {
		err = errors.Join(err, s.discord.Close())
	}
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

// warnings lists the warnings logged by the program, for diagnosis.
func (s *stage) warnings() string {
	if text := s.log.text(); text != "" {
		return "\nwarnings of the program:\n" + text
	}
	return ""
}

// logged is an in-memory log.
type logged struct {
	mu   sync.Mutex
	kept bytes.Buffer
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept.Write(line)
}

func (l *logged) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimRight(l.kept.String(), "\n")
}
