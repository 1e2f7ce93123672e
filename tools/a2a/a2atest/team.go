// Package a2atest is a team of agents for tests: a log on disk, a runner and a worker, a coordinator, their tools, and an OpenAI-compatible
// server of models that the test answers for. It is for tests only.
package a2atest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/llm/openai"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	queue "github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	flows "github.com/pronto-lab/openclawd/projections/a2a"
	states "github.com/pronto-lab/openclawd/projections/continuation"
	"github.com/pronto-lab/openclawd/projections/conversation"
	"github.com/pronto-lab/openclawd/projections/index"
	runs "github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/projections/session"
	tasks "github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/projections/work"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/a2a"
	"github.com/pronto-lab/openclawd/tools/continuation"
	"github.com/pronto-lab/openclawd/tools/task"
)

// Patience is how long a test waits for what has to come; it is never waited for in vain.
const Patience = 30 * time.Second

// Store is a log. *sqlite.DB is one.
type Store interface {
	projections.Log
	runner.Log
	worker.Log
	Append(ctx context.Context, appends ...eventstore.StreamAppend) (eventstore.Result, error)
	io.Closer
}

// Definitions are the projections that a team needs.
func Definitions() []projections.Definition {
	return []projections.Definition{session.Definition(), runs.Definition(), work.Definition(), flows.Definition(),
		conversation.Routes(coordination.RulesV2)}
}

// Keeping are the projections that a team needs beside Definitions whose agents are kept going.
func Keeping() []projections.Definition {
	rules := coordination.RulesV2
	return []projections.Definition{tasks.Definition(), states.Definition(), index.Definition(rules), conversation.Definition(rules)}
}

// Setting is what a test has of its own. Open and Empty are required, everything else has a default.
type Setting struct {
	Open  func(path string) (Store, error)
	Empty func() ([]byte, error) // the file of a log that has the tables of Definitions, see projectiontest.Empty

	Path     string         // of a log that is there; "" is a new one
	Agents   []string       // default: eden, seum, dajim
	Config   string         // JSON, laid over the usual configuration
	Lanes    map[string]int // default: main 4, nested 8, subagent 8
	Answer   func(Asked) Answer
	Models   string // URL of models that answer elsewhere; then Answer is not asked
	Channels a2a.Channels
	Tasks    func(*Team) a2a.Tasks                 // made before the Coordinator
	Tables   []projections.Definition              // beside Definitions; Empty has them too
	Tools    func(*Team) []tools.Tool              // beside sessions_send
	Handlers func(*Team) map[string]worker.Handler // beside those of runs and flows
	Jitter   float64                               // default: 1, which makes pauses short
	Asleep   bool                                  // no worker yet, and nobody is kept going
	Begin    time.Time                             // the clock stands still there until it is set forward; default: it goes

	// KeepGoing gives agents tasks, with the tools for them, and keeps them going. Empty then has the tables of Keeping, too.
	KeepGoing bool
	ByHand    bool                    // they are kept going only when the test has the Executor Look
	Then      func(*Team) []task.Then // what follows from changes of tasks, where there are any
	Logs      io.Writer               // default: the test's own
	Drain     time.Duration           // how long what is under way may go on when the team is closed
}

// Team is agents that answer, and write to each other.
type Team struct {
	*a2a.Coordinator
	Log    Store
	Runner *runner.Runner
	Tools  *tools.Registry
	Worker *worker.Worker
	Model  *Model
	Clock  *Clock
	Path   string // of the log

	Desk     *task.Desk             // of tasks; nil without KeepGoing, as what follows
	Executor *continuation.Executor // that keeps agents going

	t    testing.TB
	set  Setting
	conf atomic.Pointer[config.Config]
	own  *slog.Logger

	forget  atomic.Bool
	unleash func() // ends the worker, and who keeps agents going
	close   func()
}

// New makes a team. It is closed at the end of the test at the latest.
func New(t testing.TB, set Setting) *Team {
	t.Helper()
	if set.Agents == nil {
		set.Agents = []string{"eden", "seum", "dajim"}
	}
	if set.Path == "" {
		set.Path = newLog(t, set.Empty)
	}
	if set.Jitter == 0 {
		set.Jitter = 1
	}
	if set.Logs == nil {
		set.Logs = t.Output()
	}
	model := &Model{URL: set.Models}
	if set.Models == "" {
		model = NewModel(t, set.Answer)
	}
	return open(t, set, model, newClock(set.Begin), time.Time{})
}

func newLog(t testing.TB, empty func() ([]byte, error)) string {
	t.Helper()
	file, err := empty()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "log.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// open opens a team. restartedAt is when, if there was another one before it.
func open(t testing.TB, set Setting, model *Model, clock *Clock, restartedAt time.Time) *Team {
	t.Helper()
	log, err := set.Open(set.Path)
	if err != nil {
		t.Fatal(err)
	}
	tables := append(Definitions(), set.Tables...)
	if set.KeepGoing {
		tables = append(tables, Keeping()...)
	}
	if _, err := projections.Start(t.Context(), log, tables, projections.Options{Rules: coordination.RulesV2}); err != nil {
		t.Fatal(errors.Join(err, log.Close()))
	}
	team := &Team{Log: log, Model: model, Clock: clock, Path: set.Path, t: t, set: set, unleash: func() {},
		own: slog.New(slog.NewTextHandler(set.Logs, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	team.Configure(set.Config)
	transport := openai.NewTransport()
	options := a2a.Options{
		Log: log, Runs: laterRuns{team}, Config: team.conf.Load, Channels: set.Channels, Now: clock.Now, NewID: uuid.NewString,
		Jitter: func() float64 { return set.Jitter }, Logger: team.own,
	}
	if set.Tasks != nil {
		options.Tasks = set.Tasks(team)
	}
	if set.KeepGoing {
		team.keep(restartedAt)
		options.Tasks = team.Desk
	}
	team.Coordinator = a2a.New(options)
	list := []tools.Tool{a2a.SendTool(team.Coordinator)}
	if set.KeepGoing {
		list = append(list, team.Desk.Tools()...)
	}
	if set.Tools != nil {
		list = append(list, set.Tools(team)...)
	}
	if team.Tools, err = tools.New(tools.Options{Config: team.conf.Load, Logger: team.own, Tools: list}); err != nil {
		t.Fatal(errors.Join(err, log.Close()))
	}
	models := catalogues{transport: transport}
	team.Runner = runner.New(runner.Options{
		Log: log, Config: team.conf.Load, Models: func() *catalogue.Catalogue { return models.of(team.conf.Load()) }, Tools: team.Tools,
		Prompt: prompt.New(prompt.Options{Logger: team.own}), Now: clock.Now, NewID: uuid.NewString, Logger: team.own, Then: team.follow, Wanted: team.Wanted,
		Grace: 100 * time.Millisecond, Backoff: func(int) time.Duration { return time.Millisecond },
	})
	team.close = sync.OnceFunc(func() {
		team.unleash()
		if err := log.Close(); err != nil && !errors.Is(err, eventstore.ErrClosed) {
			t.Error(err)
		}
		transport.CloseIdleConnections()
	})
	t.Cleanup(team.close)
	if !set.Asleep {
		team.Wake()
	}
	return team
}

// keep makes the desk of tasks and who keeps agents going.
func (team *Team) keep(restartedAt time.Time) {
	var then []task.Then
	if team.set.Then != nil {
		then = team.set.Then(team)
	}
	team.Desk = task.New(task.Options{Log: team.Log, Spawner: laterCoordinator{team}, Now: team.Clock.Now, NewID: uuid.NewString, NewTaskID: newTaskID, Then: then})
	team.Executor = continuation.New(continuation.Options{Log: team.Log, Runs: laterRuns{team}, Messages: laterCoordinator{team}, Tasks: team.Desk,
		Config: team.conf.Load, Now: team.Clock.Now, NewID: uuid.NewString, RestartedAt: restartedAt, Logger: team.own})
}

func newTaskID() string { return "task_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:20] }

// Later asks the runner of a team, which is made after what asks it.
func (team *Team) Later() continuation.Runs { return laterRuns{team} }

// laterCoordinator asks the coordinator, which is made after the desk of tasks.
type laterCoordinator struct{ team *Team }

func (l laterCoordinator) Ask(tx eventstore.Tx, r a2a.Request, now time.Time) (a2a.Result, []eventstore.StreamAppend, error) {
	return l.team.Coordinator.Ask(tx, r, now)
}

func (l laterCoordinator) Spawn(ctx context.Context, r a2a.SpawnRequest) (a2a.SpawnResult, error) {
	return l.team.Coordinator.Spawn(ctx, r)
}

// laterRuns asks the runner, which is made after the coordinator.
type laterRuns struct{ *Team }

func (l laterRuns) Ask(tx eventstore.Tx, ask run.Ask, now time.Time) ([]eventstore.StreamAppend, error) {
	return l.Runner.Ask(tx, ask, now)
}

func (l laterRuns) Stop(ctx context.Context, stop run.Stop) ([]string, error) {
	return l.Runner.Stop(ctx, stop)
}

// Forget has nothing follow from the end of a run, as if that could not be written, until it is called with false.
func (team *Team) Forget(forget bool) { team.forget.Store(forget) }

func (team *Team) follow(tx eventstore.Tx, e *runner.Ending) ([]eventstore.StreamAppend, error) {
	if team.forget.Load() {
		return nil, nil
	}
	return team.Then(tx, e)
}

// Configure has another configuration in force: JSON, laid over the usual one.
func (team *Team) Configure(over string) {
	team.t.Helper()
	whole := team.usual()
	if over != "" {
		var own map[string]any
		if err := json.Unmarshal([]byte(over), &own); err != nil {
			team.t.Fatalf("configuration: %v", err)
		}
		whole = laidOver(whole, own)
	}
	text, err := json.Marshal(whole)
	if err != nil {
		team.t.Fatal(err)
	}
	path := filepath.Join(team.t.TempDir(), "openclaw.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		team.t.Fatal(err)
	}
	c, findings := config.Load(path, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		team.t.Fatal(err)
	}
	team.conf.Store(c)
}

// InForce is the configuration.
func (team *Team) InForce() *config.Config { return team.conf.Load() }

// usual lets all agents write to each other. Each has a model of its own name.
func (team *Team) usual() map[string]any {
	var agents, models []any
	for i, id := range team.set.Agents {
		agents = append(agents, map[string]any{"id": id, "default": i == 0, "model": "test/" + id})
		models = append(models, map[string]any{"id": id})
	}
	return map[string]any{
		"agents": map[string]any{"list": agents},
		"tools":  map[string]any{"agentToAgent": map[string]any{"enabled": true}},
		"models": map[string]any{"providers": map[string]any{"test": map[string]any{"baseUrl": team.Model.URL, "apiKey": "none", "models": models}}},
	}
}

func laidOver(under, over map[string]any) map[string]any {
	whole := maps.Clone(under)
	for name, value := range over {
		below, isObject := whole[name].(map[string]any)
		if above, too := value.(map[string]any); isObject && too {
			value = laidOver(below, above)
		}
		whole[name] = value
	}
	return whole
}

// Wake lets the worker begin. What the process before has left is looked after first, as the program does.
func (team *Team) Wake() {
	team.t.Helper()
	if _, err := team.Resume(context.Background()); err != nil {
		team.t.Fatalf("resume: %v", err)
	}
	handlers := map[string]worker.Handler{work.KindRun: team.Runner, work.KindJob: team.Coordinator}
	if team.set.Handlers != nil {
		maps.Copy(handlers, team.set.Handlers(team))
	}
	team.Worker = worker.New(worker.Options{Log: team.Log, Handlers: handlers, Pools: team.pools, Now: team.Clock.Now, Logger: team.own,
		Drain: team.set.Drain, Jitter: func() float64 { return team.set.Jitter }})
	ctx, cancel := context.WithCancel(context.Background())
	services := []func(context.Context) error{team.Worker.Run}
	if team.Executor != nil && !team.set.ByHand {
		services = append(services, team.Executor.Run)
	}
	done := make(chan error, len(services))
	for _, run := range services {
		go func() { done <- run(ctx) }()
	}
	team.unleash = sync.OnceFunc(func() {
		cancel()
		for range services {
			if err := <-done; err != nil && !errors.Is(err, eventstore.ErrClosed) {
				team.t.Errorf("a service of the team: %v", err)
			}
		}
	})
}

// jobSlots is how many flows are looked after at a time.
const jobSlots = 16

func (team *Team) pools() map[string]int {
	lanes := team.set.Lanes
	if lanes == nil {
		lanes = map[string]int{run.LaneMain: 4, run.LaneNested: 8, run.LaneSubagent: 8}
	}
	pools := maps.Clone(lanes)
	for lane, n := range team.Waiting() {
		pools[lane] += n
	}
	pools[queue.PoolJobs] = jobSlots
	return pools
}

// Close ends the team as the program ends: what is under way is told to.
func (team *Team) Close() { team.close() }

// Reopen ends the team as the program ends, and begins again with the same log, models and clock.
func (team *Team) Reopen() *Team {
	team.t.Helper()
	team.close()
	return open(team.t, team.set, team.Model, team.Clock, team.Clock.Now())
}

// Crash ends the team so that nothing of what is under way is written any more, and begins again with the same log, models and clock.
func (team *Team) Crash() *Team {
	team.t.Helper()
	if err := team.Log.Close(); err != nil {
		team.t.Fatal(err)
	}
	return team.Reopen()
}

// Configured are the ids of the agents.
func (team *Team) Configured() []string { return slices.Clone(team.set.Agents) }

// Clock is the time of day of a team: that of the machine, or one that stands still, set forward by the test.
type Clock struct{ ahead, still atomic.Int64 }

func newClock(begin time.Time) *Clock {
	c := &Clock{}
	if !begin.IsZero() {
		c.still.Store(begin.UnixNano())
	}
	return c
}

// Now is the time.
func (c *Clock) Now() time.Time {
	if still := c.still.Load(); still != 0 {
		return time.Unix(0, still)
	}
	return time.Now().Add(time.Duration(c.ahead.Load()))
}

// Forward sets it forward. Nobody is told.
func (c *Clock) Forward(d time.Duration) {
	if c.still.Load() != 0 {
		c.still.Add(int64(d))
		return
	}
	c.ahead.Add(int64(d))
}

// Advance sets the clock forward, and has the worker, and who keeps agents going, look at it.
func (team *Team) Advance(d time.Duration) {
	team.t.Helper()
	team.Clock.Forward(d)
	_, err := team.Log.Append(team.t.Context(), eventstore.StreamAppend{Stream: coordination.LogStream,
		Events: []eventstore.NewEvent{{Type: "test.clock", Data: json.RawMessage(fmt.Sprintf(`{"eventRole":%q}`, coordination.RoleObservability))}}})
	if err != nil {
		team.t.Fatal(err)
	}
}

// catalogues keeps the catalogue of the configuration in force.
type catalogues struct {
	transport http.RoundTripper

	mu     sync.Mutex
	conf   *config.Config
	newest *catalogue.Catalogue
}

func (m *catalogues) of(c *config.Config) *catalogue.Catalogue {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conf != c {
		m.conf, m.newest = c, catalogue.New(c, catalogue.Options{Transport: m.transport})
	}
	return m.newest
}
