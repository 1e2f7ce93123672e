package channeltest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/llm/scripted"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/attachments"
	"github.com/pronto-lab/openclawd/channel/inbound"
	"github.com/pronto-lab/openclawd/channel/outbound"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/attach"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/media"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// agentIDs are the agents of the largest team.
var agentIDs = []string{"ruda", "eden", "seum", "dajim", "hana", "dul", "set", "net", "daseot", "yeoseot"}

// team is a program around a channel: a log, what hears and what posts, and agents that answer.
type team struct {
	*testing.T
	a      Amounts
	agents []string
	stage  Stage
	random *rand.Rand
	config *config.Config
	path   string
	ctx    context.Context // of the test
	ahead  atomic.Int64    // of the system's clock, in ms
	ids    atomic.Int64
	storm  bool // so many requests fail that deliveries may be given up

	files *media.Store

	db   *sqlite.DB
	bots channel.Channel
	kill func() // ends the program at once
}

// envSeed repeats what a test has drawn, and envRounds is how often it kills; they are those of the crash tests.
const (
	envSeed   = "OPENCLAWD_CRASH_SEED_BASE"
	envRounds = "OPENCLAWD_CRASH_ROUNDS"
)

func newTeam(t *testing.T, a Amounts, agents int, stage func(t *testing.T, agents []string, now func() time.Time) Stage) *team {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if again, err := strconv.ParseUint(os.Getenv(envSeed), 10, 64); err == nil {
		seed = again
	}
	t.Logf("repeat with %s=%d", envSeed, seed)
	m := &team{T: t, a: a, agents: agentIDs[:agents], random: rand.New(rand.NewPCG(seed, 0)), path: filepath.Join(t.TempDir(), "log.db")}
	var cancel context.CancelFunc
	m.ctx, cancel = context.WithCancel(context.Background())
	t.Cleanup(cancel)
	m.files = media.Open(filepath.Join(t.TempDir(), "files"), func() int64 { return 1 << 30 })
	m.stage = stage(t, m.agents, m.now)
	m.config = m.configured()
	m.begin()
	t.Cleanup(func() { m.kill() })
	return m
}

func (m *team) now() time.Time {
	return time.Now().Add(time.Duration(m.ahead.Load()) * time.Millisecond).Truncate(time.Millisecond)
}

func (m *team) configured() *config.Config {
	m.Helper()
	var agents, bindings []string
	for i, id := range m.agents {
		agents = append(agents, fmt.Sprintf(`{"id": %q, "default": %v}`, id, i == 0))
		bindings = append(bindings, fmt.Sprintf(`{"agentId": %q, "match": {"channel": %q, "accountId": %q}}`, id, m.stage.Name(), id))
	}
	text := fmt.Sprintf(`{"agents": {"list": [%s]}, "bindings": [%s], "channels": {%q: %s}}`, strings.Join(agents, ", "), strings.Join(bindings, ", "),
		m.stage.Name(), m.stage.Settings())
	path := filepath.Join(m.TempDir(), "openclaw.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.Fatal(err)
	}
	c, findings := config.Load(path, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		m.Fatalf("the team's configuration: %v\n%s", err, text)
	}
	return c
}

// begin starts the program on what is in the log.
func (m *team) begin() {
	m.Helper()
	db, err := sqlite.Open(m.ctx, sqlite.Options{Path: m.path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		m.Fatal(err)
	}
	if _, err := projections.Start(m.ctx, db, []projections.Definition{sessions.Definition(), runs.Definition(), workqueue.Definition(), routing.Definition(),
		responses.Definition()}, projections.Options{Rules: coordination.RulesV2}); err != nil {
		m.Fatal(errors.Join(err, db.Close()))
	}
	m.db = db
	p := &program{team: m, logger: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	p.open(ctx)
	parts.Go(func() { m.check("the channel", m.bots.Run(ctx)) })
	parts.Go(func() { m.check("the worker", p.worker.Run(ctx)) })
	parts.Go(func() { m.check("what hears", p.heard.Run(ctx)) })
	m.kill = sync.OnceFunc(func() {
		p.dead.Store(true)
		m.check("the log", db.Close())
		cancel()
		parts.Wait()
	})
	m.until("all bots are connected", m.connected)
}

// check reports a failure that is not the end of the log.
func (m *team) check(what string, err error) {
	if err != nil && !errors.Is(err, eventstore.ErrClosed) {
		m.Errorf("%s: %v", what, err)
	}
}

// connected reports whether the bots hear and post.
func (m *team) connected() bool {
	for _, id := range m.agents {
		if bot, _ := m.bots.Registry().Bot(id); !bot.Connected {
			return false
		}
	}
	return true
}

// restart kills the program and starts another one.
func (m *team) restart() {
	m.Helper()
	m.kill()
	m.begin()
}

// program is what runs between two kills.
type program struct {
	*team
	logger *slog.Logger
	dead   atomic.Bool
	heard  *inbound.Service
	worker *worker.Worker
}

func (p *program) open(ctx context.Context) {
	p.Helper()
	name := p.stage.Name()
	inForce := func() *config.Config { return p.config }
	p.bots = p.stage.Open(channel.Options{Marks: p.marks(), Log: p.logger, Now: p.now, Least: 10 * time.Millisecond, Most: 50 * time.Millisecond,
		OnMessage: func(in channel.Inbound) {
			p.heard.Handle(ctx, in)
			if p.dead.Load() { // a killed program does not tell the service that it has received something
				<-ctx.Done()
			}
		}})
	p.bots.Configure(p.config)
	script, err := scripted.Read("script.json", []byte(`{"rules": [{"answer": {"text": "heard: {{message}}"}}]}`))
	if err != nil {
		p.Fatal(err)
	}
	models := catalogue.New(p.config, catalogue.Options{Script: script})
	ofModels := func() *catalogue.Catalogue { return models }
	queue := runqueue.New(runqueue.Options{Log: p.db, Config: inForce, Models: ofModels, Now: p.now, NewID: p.newID})
	replies := &outbound.Replies{Channel: name, Accounts: p.bots.Registry, Config: inForce}
	agents := runner.New(runner.Options{Queue: queue, Config: inForce, Models: ofModels, Prompt: prompt.New(prompt.Options{Logger: p.logger}), Grace: 100 * time.Millisecond,
		Runs: runner.NewRuns(runner.RunsOptions{Log: p.db, Now: p.now, NewID: p.newID, Logger: p.logger,
			Then: func(tx eventstore.Tx, e *runner.EndedRun) ([]eventstore.StreamAppend, error) {
				return replies.Then(tx, e.Asked, &e.Result, e.Now, e.Media...)
			}})})
	p.heard = inbound.New(inbound.Options{Channel: name, Log: p.db, Queue: queue, Bots: p.bots, Config: inForce, Now: p.now, Logger: p.logger})
	posts := outbound.New(outbound.Options{Log: p.db, Bots: p.bots, Now: p.now, Logger: p.logger,
		File: func(id string) ([]byte, error) { return p.files.Read(id, maxFile) }})
	fetches := worker.Task(worker.Policy{MaxAttempts: maxAttempts, Timeout: attachments.Timeout}, attachments.New(attachments.Options{
		Bots: func(string) channel.Fetcher { return p.bots }, Store: p.files, Limit: func(string, string) int64 { return maxFile },
		Logger: p.logger, Attempts: maxAttempts}).Do)
	p.worker = worker.New(worker.Options{Log: p.db, Handlers: map[string]worker.Handler{workqueue.KindRun: agents, name: posts, attach.Kind: fetches}, Now: p.now, Logger: p.logger,
		Jitter: func() float64 { return 0 }, Drain: 50 * time.Millisecond,
		Pools: func() map[string]int {
			return map[string]int{run.LaneMain: 4, run.LaneNested: 4, run.LaneSubagent: 4, name: 4, attach.Pool: 4}
		}})
}

// marks are the last messages that the log has of the channel's places.
func (p *program) marks() (marks []channel.Mark) {
	p.Helper()
	err := p.db.View(p.ctx, func(tx *sql.Tx) error {
		known, err := routing.Marks(p.ctx, tx)
		for _, m := range known {
			marks = append(marks, channel.Mark{AccountID: m.AccountID, GuildID: m.GuildID, ChannelID: m.PlaceID, MessageID: m.LastMessageID})
		}
		return err
	})
	if err != nil {
		p.Fatal(err)
	}
	return marks
}

func (m *team) newID() string { return fmt.Sprint("id-", m.ids.Add(1)) }

// until waits, not longer than the patience, for something in the service or in the log. Meanwhile time goes by for what waits in the work queue.
func (m *team) until(what string, so func() bool) {
	m.Helper()
	ctx, cancel := context.WithTimeout(m.ctx, m.a.Patience)
	defer cancel()
	for !so() {
		m.letTimePass()
		head, err := m.db.Head(m.ctx)
		if err != nil {
			m.Fatalf("wait until %s: %v", what, err)
		}
		waiting, stop := context.WithTimeout(ctx, 20*time.Millisecond) // nothing tells of a bot's state
		_, _ = m.db.Wait(waiting, head.Seq+1)
		stop()
		if ctx.Err() != nil {
			m.Fatalf("it does not happen that %s", what)
		}
	}
}

// letTimePass moves the clock to what waits in the work queue, and has the worker notice.
func (m *team) letTimePass() {
	m.Helper()
	var items []workqueue.Item
	err := m.db.View(m.ctx, func(tx *sql.Tx) error {
		for _, kind := range []string{m.stage.Name(), attach.Kind} {
			some, err := workqueue.List(m.ctx, tx, workqueue.Query{Kind: kind})
			if items = append(items, some...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		m.Fatal(err)
	}
	for i := range items {
		if items[i].DueAt > m.now().UnixMilli() {
			m.ahead.Add(items[i].DueAt - m.now().UnixMilli())
			m.append(eventstore.StreamAppend{Stream: coordination.LogStream, Events: []eventstore.NewEvent{{Type: "test.later", Data: json.RawMessage("{}")}}})
			return
		}
	}
}

func (m *team) append(appends ...eventstore.StreamAppend) {
	m.Helper()
	if _, err := m.db.Append(m.ctx, appends...); err != nil {
		m.Fatal(err)
	}
}

// stream returns the events of a stream.
func (m *team) stream(name string) []eventstore.Event {
	m.Helper()
	events, err := m.db.ReadStream(m.ctx, name, 0, 1_000)
	if err != nil {
		m.Fatal(err)
	}
	return events
}

// anyAgent is an agent by chance.
func (m *team) anyAgent() string { return m.agents[m.random.IntN(len(m.agents))] }
