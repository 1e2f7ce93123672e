// Package a2atest runs a team of agents for tests: a log on disk, a runner, a worker, the messenger, their tools, and an
// OpenAI-compatible model server whose answers the test gives.
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
	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/continuations"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/services/continuer"
	"github.com/pronto-lab/openclawd/services/delegations"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/messagetools"
	"github.com/pronto-lab/openclawd/tools/tasktools"
)

// Patience bounds every wait for something that has to happen.
const Patience = testscale.Patience

// Store is a log, such as *sqlite.DB.
type Store interface {
	projections.Log
	runner.Log
	worker.Log
	Append(ctx context.Context, appends ...eventstore.StreamAppend) (eventstore.Result, error)
	io.Closer
}

// Definitions are the projections of a team.
func Definitions() []projections.Definition {
	return []projections.Definition{sessions.Definition(), runs.Definition(), workqueue.Definition(), flows.Definition(),
		conversations.Routes(coordination.RulesV2)}
}

// Keeping are the additional projections of a team with continuation.
func Keeping() []projections.Definition {
	rules := coordination.RulesV2
	return []projections.Definition{tasks.Definition(), continuations.Definition(), index.Definition(rules), conversations.Definition(rules)}
}

// Setting configures a team. Open and Empty are required, everything else has a default.
type Setting struct {
	Open  func(path string) (Store, error)
	Empty func() ([]byte, error) // path of an empty log with the tables of Definitions; see projectiontest.Empty

	Path     string         // path of an existing log; "" makes a new one
	Agents   []string       // default: eden, seum, dajim
	Config   string         // JSON, merged over the usual configuration
	Lanes    map[string]int // default: main 4, nested 8, subagent 8
	Answer   func(Asked) Answer
	Models   string // URL of another model server; Answer is not called then
	Channels messenger.Channels
	Tasks    messenger.Tasks                       // default: none
	Tables   []projections.Definition              // in addition to Definitions; Empty has them too
	Tools    func(*Team) []tools.Tool              // in addition to sessions_send
	Handlers func(*Team) map[string]worker.Handler // in addition to those of runs and flows
	Jitter   float64                               // default: 1, for short pauses
	Asleep   bool                                  // do not start the worker and the continuation
	Begin    time.Time                             // a fixed clock, until the test advances it; default: the real clock

	// KeepGoing adds tasks, their tools and continuation. Empty must have the tables of Keeping then, too.
	KeepGoing bool
	ByHand    bool                         // agents continue only when the test calls Continuer.Check
	Then      func(*Team) []tasktools.Then // consequences of task changes; may be nil
	Logs      io.Writer                    // default: the test's logger
	Drain     time.Duration                // how long current work may take to finish at Close
}

// Team is a set of running agents that write to each other.
type Team struct {
	*messenger.Service
	*messenger.Stopper
	Queue  *runqueue.Queue
	Log    Store
	Runner *runner.Runner
	Tools  *tools.Registry
	Worker *worker.Worker
	Model  *Model
	Clock  *Clock
	Path   string // of the log

	Tasks     *tasktools.Service // task service; nil without KeepGoing, as is the next field
	Continuer *continuer.Service // continuation service

	t    testing.TB
	set  Setting
	conf atomic.Pointer[config.Config]
	own  *slog.Logger

	forget  atomic.Bool
	unleash func() // stops the worker and the continuation
	close   func()
}

// New starts a team, which is closed at the end of the test at the latest.
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

// open starts the team. restartedAt is the time of the restart if the log has had another team.
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
	models := catalogues{transport: transport}
	inForce := func() *catalogue.Catalogue { return models.of(team.conf.Load()) }
	team.Queue = runqueue.New(runqueue.Options{Log: log, Config: team.conf.Load, Models: inForce, Now: clock.Now, NewID: uuid.NewString})
	options := messenger.Options{
		Log: log, Queue: team.Queue, Config: team.conf.Load, Channels: set.Channels, Now: clock.Now, NewID: uuid.NewString,
		Jitter: func() float64 { return set.Jitter }, Logger: team.own,
	}
	if set.Tasks != nil {
		options.Tasks = set.Tasks
	}
	if set.KeepGoing {
		options.Tasks = delegations.Service{}
	}
	team.Service = messenger.New(options)
	runs := runner.NewRuns(runner.RunsOptions{Log: log, Now: clock.Now, NewID: uuid.NewString, Logger: team.own, Then: team.follow,
		Backoff: func(int) time.Duration { return time.Millisecond }})
	team.Stopper = messenger.NewStopper(team.Service, runs)
	if set.KeepGoing {
		team.startContinuation(restartedAt)
	}
	list := []tools.Tool{messagetools.Send(team.Service)}
	if set.KeepGoing {
		list = append(list, team.Tasks.Tools()...)
	}
	if set.Tools != nil {
		list = append(list, set.Tools(team)...)
	}
	if team.Tools, err = tools.New(tools.Options{Config: team.conf.Load, Logger: team.own, Tools: list}); err != nil {
		t.Fatal(errors.Join(err, log.Close()))
	}
	team.Runner = runner.New(runner.Options{
		Queue: team.Queue, Runs: runs, Config: team.conf.Load, Models: inForce, Tools: team.Tools, Prompt: prompt.New(prompt.Options{Logger: team.own}),
		Wanted: team.Wanted, Grace: 100 * time.Millisecond,
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

func (team *Team) startContinuation(restartedAt time.Time) {
	var then []tasktools.Then
	if team.set.Then != nil {
		then = team.set.Then(team)
	}
	team.Tasks = tasktools.New(tasktools.Options{Log: team.Log, Spawner: team, Now: team.Clock.Now, NewID: uuid.NewString, NewTaskID: newTaskID, Then: then})
	team.Continuer = continuer.New(continuer.Options{Log: team.Log, Queue: team.Queue, Messages: team, Tasks: team.Tasks,
		Config: team.conf.Load, Now: team.Clock.Now, NewID: uuid.NewString, RestartedAt: restartedAt, Logger: team.own})
}

func newTaskID() string { return "task_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:20] }

// Forget drops the consequences of run ends, as if they could not be stored, until it is called with false.
func (team *Team) Forget(forget bool) { team.forget.Store(forget) }

func (team *Team) follow(tx eventstore.Tx, e *runner.EndedRun) ([]eventstore.StreamAppend, error) {
	if team.forget.Load() {
		return nil, nil
	}
	return team.Then(tx, e)
}

// Configure replaces the configuration in force with JSON merged over the usual one.
func (team *Team) Configure(over string) {
	team.t.Helper()
	whole := team.defaultSettings()
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

// InForce returns the configuration in force.
func (team *Team) InForce() *config.Config { return team.conf.Load() }

// defaultSettings lets all agents write to each other. Each agent has a model of its own name.
func (team *Team) defaultSettings() map[string]any {
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

// Wake starts the worker, after resuming what the previous process left, as the program does.
func (team *Team) Wake() {
	team.t.Helper()
	if _, err := team.Resume(context.Background()); err != nil {
		team.t.Fatalf("resume: %v", err)
	}
	handlers := map[string]worker.Handler{workqueue.KindRun: team.Runner, workqueue.KindJob: team.Service}
	if team.set.Handlers != nil {
		maps.Copy(handlers, team.set.Handlers(team))
	}
	team.Worker = worker.New(worker.Options{Log: team.Log, Handlers: handlers, Pools: team.pools, Now: team.Clock.Now, Logger: team.own,
		Drain: team.set.Drain, Jitter: func() float64 { return team.set.Jitter }})
	ctx, cancel := context.WithCancel(context.Background())
	services := []func(context.Context) error{team.Worker.Run, team.Stopper.Run}
	if team.Continuer != nil && !team.set.ByHand {
		services = append(services, team.Continuer.Run)
	}
	done := make(chan error, len(services))
	for _, run := range services {
		go func() { done <- run(ctx) }()
	}
	team.unleash = sync.OnceFunc(func() {
		cancel()
		for range services {
			if err := <-done; err != nil && !errors.Is(err, eventstore.ErrClosed) {
				team.t.Errorf("service of the team: %v", err)
			}
		}
	})
}

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
	pools[work.PoolJobs] = jobSlots
	return pools
}

// Close ends the team as the program ends: running work is told to stop.
func (team *Team) Close() { team.close() }

// Reopen closes the team as the program does and restarts it with the same log, models and clock.
func (team *Team) Reopen() *Team {
	team.t.Helper()
	team.close()
	return open(team.t, team.set, team.Model, team.Clock, team.Clock.Now())
}

// Crash ends the team without letting running work write anything more, and restarts it with the same log, models and clock.
func (team *Team) Crash() *Team {
	team.t.Helper()
	if err := team.Log.Close(); err != nil {
		team.t.Fatal(err)
	}
	return team.Reopen()
}

// Configured returns the ids of the agents.
func (team *Team) Configured() []string { return slices.Clone(team.set.Agents) }

// Clock is a team's clock: the machine's, or a fixed one that the test advances.
type Clock struct{ ahead, still atomic.Int64 }

func newClock(begin time.Time) *Clock {
	c := &Clock{}
	if !begin.IsZero() {
		c.still.Store(begin.UnixNano())
	}
	return c
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	if still := c.still.Load(); still != 0 {
		return time.Unix(0, still)
	}
	return time.Now().Add(time.Duration(c.ahead.Load()))
}

// Forward advances a fixed clock without waking anything.
func (c *Clock) Forward(d time.Duration) {
	if c.still.Load() != 0 {
		c.still.Add(int64(d))
		return
	}
	c.ahead.Add(int64(d))
}

// Advance advances the clock and has the worker and the continuation check it.
func (team *Team) Advance(d time.Duration) {
	team.t.Helper()
	team.Clock.Forward(d)
	_, err := team.Log.Append(team.t.Context(), eventstore.StreamAppend{Stream: coordination.LogStream,
		Events: []eventstore.NewEvent{{Type: "test.clock", Data: json.RawMessage(fmt.Sprintf(`{"eventRole":%q}`, coordination.RoleObservability))}}})
	if err != nil {
		team.t.Fatal(err)
	}
}

// catalogues caches the model catalogue of the configuration in force.
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
