package demo

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
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
	"github.com/pronto-lab/openclawd/server"
	"github.com/pronto-lab/openclawd/server/settings"
)

// script is the script of the agents' answers.
//
//go:embed script.json
var script []byte

const scriptName = "script.json"

// configuration is a minimal configuration in which agents ask each other in a channel.
const configuration = `{
  agents: { list: [%s], defaults: { taskContinuation: { enabled: false } } },
  tools: { agentToAgent: { enabled: true } },
  bindings: [%s],
  channels: { %s: { %s } },
  models: { scripted: { script: %q } },
}
`

// stage is a fake service with a person and the bots of the cast, and the program under demonstration.
type stage struct {
	service
	channel string // its name

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
func openStage(ctx context.Context, channel, api string) (*stage, error) {
	s := &stage{channel: channel, address: api, end: func() {}, log: &logged{}}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("begin: %w%s", err, s.warnings()), s.close())
	}
	return s, nil
}

func (s *stage) open(ctx context.Context) (err error) {
	if s.service, err = newService(s.channel, s.now); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "openclawd-demo-"); err != nil {
		return err
	}
	text := s.configuration()
	if err = errors.Join(os.WriteFile(settings.File(s.dir), []byte(text), 0o600), os.WriteFile(filepath.Join(s.dir, scriptName), script, 0o600)); err != nil {
		return err
	}
	if err = s.start(ctx); err != nil {
		return err
	}
	return s.ready(ctx)
}

func (s *stage) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

// configuration is the configuration of the program.
func (s *stage) configuration() string {
	var agents, bindings []string
	for _, a := range cast {
		agents = append(agents, fmt.Sprintf(`{ id: %q, name: %q }`, a.id, a.name))
		bindings = append(bindings, fmt.Sprintf(`{ agentId: %q, match: { channel: %q, accountId: %q } }`, a.id, s.channel, a.id))
	}
	return fmt.Sprintf(configuration, strings.Join(agents, ", "), strings.Join(bindings, ", "), s.channel, s.settings(), scriptName)
}

// start starts the program and returns once its API is about to answer.
func (s *stage) start(ctx context.Context) error {
	ready := make(chan net.Addr, 1)
	o := server.Options{
		StateDir: s.dir, DB: filepath.Join(s.dir, database.Name), API: s.address, Gateway: "127.0.0.1:0", Rules: coordination.RulesV2,
		Now: s.now, Logger: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Ready: func(api, _ net.Addr) { ready <- api },
	}
	s.serve(&o)
	s.program = server.New(o)
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

// ready waits until every bot is connected and the log has all of them.
func (s *stage) ready(ctx context.Context) error {
	if err := s.connected(ctx); err != nil {
		return fmt.Errorf("connect the bots: %w", cmp.Or(context.Cause(ctx), err))
	}
	return s.poll(ctx, "the program to report its bots connected", func() (bool, error) {
		var answer struct{ Events []json.RawMessage }
		err := s.ask(ctx, "/api/events?scope=all&type="+coordination.TypeIdentityBotRegistered, &answer)
		return len(answer.Events) == len(cast), err
	})
}

// later advances the clocks of the program and of the service.
func (s *stage) later(d time.Duration) { s.ahead.Add(int64(d)) }

// close stops the program and the service, and removes their files.
func (s *stage) close() (err error) {
	s.end()
	if s.stopped != nil {
		err = <-s.stopped
	}
	if s.program != nil {
		err = errors.Join(err, s.program.Close())
	}
	if s.service != nil {
		err = errors.Join(err, s.service.close())
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
