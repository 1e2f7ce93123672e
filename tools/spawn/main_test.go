package spawn_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/llm/scripted"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/services/delegations"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/agenttools"
	"github.com/pronto-lab/openclawd/tools/messagetools"
	"github.com/pronto-lab/openclawd/tools/sessiontools"
	"github.com/pronto-lab/openclawd/tools/spawn"
	"github.com/pronto-lab/openclawd/tools/tasktools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait for something that has to happen.
const patience = testscale.Patience

func definitions() []projections.Definition {
	rules := coordination.RulesV2
	return []projections.Definition{conversations.Routes(rules), sessions.Definition(), runs.Definition(), workqueue.Definition(), flows.Definition(),
		tasks.Definition(), index.Definition(rules), conversations.Definition(rules)}
}

var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, definitions()...))

// setting configures a test.
type setting struct {
	script string // rules of the scripted provider that come before the usual ones
	config string // of agents.defaults, JSON5
	rest   string // of the configuration, likewise
	limits runqueue.Limits
	tasks  bool          // agents have tasks, and the tools for them
	ahead  time.Duration // that the clock is at first
}

// usual are the rules of all tests: an agent told to wait does so at the named gate, one told to hang never answers, and one told to
// start sub-agents does so.
const usual = `
	{"when": {"matches": "^wait for (\\w+)"}, "answer": {"toolCalls": [{"name": "gate", "arguments": {"name": "{{1}}"}}]}},
	{"when": {"after": "tool", "tool": "gate"}, "answer": {"text": "found: {{result}}"}},
	{"when": {"matches": "^hang"}, "answer": {"text": "so far", "fault": {"hang": true, "after": 2}}},
	{"when": {"matches": "^break"}, "answer": {"fault": {"class": "rejected", "message": "it breaks"}}},
	{"when": {"matches": "^be silent"}, "answer": {"text": "ANNOUNCE_SKIP"}},
	{"when": {"contains": ["A subagent has finished"]}, "answer": {"text": "NO_REPLY"}},
	{"answer": {"text": "echo: {{message}}"}}`

// fixture is a log with agents that answer in it, and start sub-agents.
type fixture struct {
	*messenger.Service
	*messenger.Stopper
	t      testing.TB
	db     *sqlite.DB
	path   string
	set    setting
	config *config.Config
	runner *runner.Runner
	box    *tools.Registry

	ahead atomic.Int64 // ms that the clock is ahead
	gates gates
	stop  func() // the worker
	close func()
}

func setup(t testing.TB, set setting) *fixture {
	t.Helper()
	file, err := emptyLog()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "log.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return openAt(t, path, set)
}

// openAt opens a house that is closed at the end of the test at the latest.
func openAt(t testing.TB, path string, set setting) *fixture {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	h := &fixture{t: t, db: db, path: path, set: set, config: load(t, &set)}
	if _, err := projections.Start(t.Context(), db, definitions(), projections.Options{Rules: coordination.RulesV2}); err != nil {
		t.Fatal(errors.Join(err, db.Close()))
	}
	h.ahead.Store(set.ahead.Milliseconds())
	h.put(t)
	h.wake(t)
	h.close = sync.OnceFunc(func() {
		h.stop()
		if err := db.Close(); err != nil && !errors.Is(err, eventstore.ErrClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(func() { h.close() })
	return h
}

// put wires the parts as the program does.
func (h *fixture) put(t testing.TB) {
	script, err := scripted.Read("script.json", []byte(`{"rules": [`+h.set.script+usual+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	models := catalogue.New(h.config, catalogue.Options{Script: script})
	inForce := func() *config.Config { return h.config }
	check := func(ref string) error {
		_, err := models.Open(ref)
		return err
	}
	ofModels := func() *catalogue.Catalogue { return models }
	queue := runqueue.New(runqueue.Options{Log: h.db, Config: inForce, Models: ofModels, Now: h.now, NewID: uuid.NewString, Limits: h.set.limits})
	options := messenger.Options{Log: h.db, Queue: queue, Config: inForce, CheckModel: check, Now: h.now, NewID: uuid.NewString,
		Jitter: func() float64 { return 0 }, Logger: log}
	if h.set.tasks {
		options.Tasks = delegations.Service{}
	}
	h.Service = messenger.New(options)
	runs := runner.NewRuns(runner.RunsOptions{Log: h.db, Now: h.now, NewID: uuid.NewString, Logger: log, Then: h.Then,
		Backoff: func(int) time.Duration { return time.Millisecond }})
	h.Stopper = messenger.NewStopper(h.Service, runs)
	all := append(sessiontools.Tools(sessiontools.Options{Log: h.db, Now: h.now, NewID: uuid.NewString, CheckModel: check}), agenttools.List(), messagetools.Send(h.Service), h.gates.tool())
	if h.set.tasks {
		all = append(all, tasktools.New(tasktools.Options{Log: h.db, Spawner: h, Now: h.now, NewID: uuid.NewString, NewTaskID: newTaskID}).Tools()...)
	}
	box, err := tools.New(tools.Options{Config: inForce, Logger: log, Tools: append(all, spawn.Tools(h.spawning())...)})
	if err != nil {
		t.Fatal(err)
	}
	h.box = box
	h.runner = runner.New(runner.Options{Queue: queue, Runs: runs, Config: inForce, Models: ofModels, Tools: box,
		Prompt: prompt.New(prompt.Options{Logger: log}), Grace: 100 * time.Millisecond})
}

// spawning are the options of the tools that start and stop sub-agents.
func (h *fixture) spawning() spawn.Options {
	return spawn.Options{Log: h.db, Spawner: h, Stopper: h, Now: h.now, NewID: uuid.NewString}
}

func newTaskID() string { return "task_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:20] }

// wake lets the worker begin.
func (h *fixture) wake(t testing.TB) {
	if _, err := h.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	pools := h.config.Lanes()
	pools[work.PoolJobs] = 4
	w := worker.New(worker.Options{Log: h.db, Now: h.now, Pools: func() map[string]int { return pools },
		Handlers: map[string]worker.Handler{workqueue.KindRun: h.runner, workqueue.KindJob: h.Service, spawn.CleanupKind: spawn.Cleanup(h.spawning())},
		Logger:   slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- w.Run(ctx) }()
	go func() { done <- h.Stopper.Run(ctx) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, <-done); err != nil && !errors.Is(err, eventstore.ErrClosed) {
			t.Errorf("worker: %v", err)
		}
	})
}

// crash ends the house as if its process were gone: nothing more is written.
func (h *fixture) crash() {
	h.t.Helper()
	if err := h.db.Close(); err != nil {
		h.t.Fatal(err)
	}
	h.stop()
}

func (h *fixture) now() time.Time {
	return time.Now().Add(time.Duration(h.ahead.Load()) * time.Millisecond)
}

func load(t testing.TB, set *setting) *config.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "openclaw.json")
	text := `{agents: {list: [{id: 'main', default: true}, {id: 'eden', name: 'Eden', subagents: {allowAgents: ['seum', 'dajim', 'ghost']}},
		{id: 'seum'}, {id: 'dajim'}], defaults: {` + set.config + `}}, ` + set.rest + `}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, findings := config.Load(path, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

// gates are where agents wait until the test lets them go on.
type gates struct {
	mu   sync.Mutex
	open map[string]chan struct{}
	came map[string]chan struct{}
}

func (g *gates) of(name string) (open, came chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		g.open, g.came = map[string]chan struct{}{}, map[string]chan struct{}{}
	}
	if g.open[name] == nil {
		g.open[name], g.came[name] = make(chan struct{}), make(chan struct{}, 100)
	}
	return g.open[name], g.came[name]
}

func (g *gates) tool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{Name: "gate", Group: tool.GroupTasks, Label: "gate", Description: "gate", Schema: json.RawMessage(`{"type":"object"}`)},
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[struct{ Name string }](call)
			if err != nil {
				return tool.Output{}, err
			}
			open, came := g.of(args.Name)
			came <- struct{}{}
			select {
			case <-open:
				return tool.Output{Text: args.Name}, nil
			case <-ctx.Done():
				return tool.Output{}, ctx.Err()
			}
		},
	}
}

// arrives waits until a model stands at a gate.
func (h *fixture) arrives(name string) {
	h.t.Helper()
	_, came := h.gates.of(name)
	select {
	case <-came:
	case <-time.After(patience):
		h.t.Fatalf("no model comes to gate %s", name)
	}
}

// opens lets all go on who stand at a gate, or come there.
func (h *fixture) opens(name string) {
	open, _ := h.gates.of(name)
	close(open)
}

// eden is a caller in agent eden's main session, in a work session.
func eden() tool.Caller { return caller("agent:eden:main") }

// caller is a caller in a session of agent eden's.
func caller(key string) tool.Caller {
	return tool.Caller{Entry: tool.ByRun, AgentID: "eden", SessionKey: key, WorkSessionID: "ws_1"}
}

// spawn starts a sub-agent.
func (h *fixture) spawn(r messenger.SpawnRequest) messenger.SpawnResult {
	h.t.Helper()
	if r.From.SessionKey == "" {
		r.From = eden()
	}
	result, err := h.Spawn(h.t.Context(), r)
	if err != nil {
		h.t.Fatal(err)
	}
	return result
}

// started starts a sub-agent that has to be accepted.
func (h *fixture) started(r messenger.SpawnRequest) messenger.SpawnResult {
	h.t.Helper()
	result := h.spawn(r)
	if result.Status != "accepted" {
		h.t.Fatalf("not started: %+v", result)
	}
	return result
}

// call calls a tool, and reads what it says into R.
func call[R any](h *fixture, c tool.Caller, name, args string) (result R, out tool.Output) {
	h.t.Helper()
	out, err := h.box.Call(h.t.Context(), c, name, json.RawMessage(args))
	if err != nil {
		h.t.Fatalf("%s %s: %v", name, args, err)
	}
	if err := json.Unmarshal(out.Details, &result); err != nil {
		h.t.Fatalf("%s %s: %v in %s", name, args, err, out.Details)
	}
	return result, out
}

// queue has a message accepted for a session.
func (h *fixture) queue(id, key, message, workSession string) {
	h.t.Helper()
	k, err := coordination.ParseSessionKey(key)
	if err != nil {
		h.t.Fatal(err)
	}
	ask := run.Ask{Session: k, RunQueued: coordination.RunQueued{RunID: id, Cause: "chat", Message: message,
		Context: coordination.Context{WorkSessionID: workSession}}}
	if _, err := h.runner.Queue(h.t.Context(), ask); err != nil {
		h.t.Fatal(err)
	}
}

// over waits for the end of a run.
func (h *fixture) over(id string) run.Result {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	result, err := h.runner.Wait(ctx, id)
	if err != nil {
		h.t.Fatalf("wait for %s: %v (%+v)", id, err, result)
	}
	return result
}

// event is an event as tests look at it.
type event struct {
	Type, Agent string
	Data        map[string]any
}

func (e event) text(name string) string {
	s, _ := e.Data[name].(string)
	return s
}

// events are all events of a type, or with a dot at its end of a family, in order; of "" all that there are.
func (h *fixture) events(typ string) (all []event) {
	h.t.Helper()
	list, err := h.db.Read(h.t.Context(), 0, 100_000)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range list {
		if typ == "" || e.Type == typ || strings.HasSuffix(typ, ".") && strings.HasPrefix(e.Type, typ) {
			one := event{Type: e.Type, Agent: e.AgentID}
			if err := json.Unmarshal(e.Data, &one.Data); err != nil {
				h.t.Fatal(err)
			}
			all = append(all, one)
		}
	}
	return all
}

// until waits until something is so in the log.
func (h *fixture) until(what string, is func() bool) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	for {
		head, err := h.db.Head(ctx)
		if err != nil {
			h.t.Fatal(err)
		}
		if is() {
			return
		}
		if _, err := h.db.Wait(ctx, head.Seq+1); err != nil {
			h.t.Fatalf("waiting until %s: %v", what, err)
		}
	}
}

// flowOver waits until a flow is over.
func (h *fixture) flowOver(jobID string) (row flows.Row) {
	h.t.Helper()
	h.until("flow "+jobID+" is over", func() bool {
		row = h.flow(jobID)
		return !row.Phase.Open()
	})
	return row
}

func (h *fixture) flow(jobID string) (row flows.Row) {
	h.t.Helper()
	h.view(func(ctx context.Context, tx *sql.Tx) error {
		one, found, err := flows.ByID(ctx, tx, jobID)
		if row = one; err == nil && !found {
			err = fmt.Errorf("there is no flow %s", jobID)
		}
		return err
	})
	return row
}

func (h *fixture) session(key string) (one *sessions.Session) {
	h.t.Helper()
	h.view(func(ctx context.Context, tx *sql.Tx) (err error) {
		one, err = sessions.ByKey(ctx, tx, key)
		return err
	})
	return one
}

func (h *fixture) view(read func(ctx context.Context, tx *sql.Tx) error) {
	h.t.Helper()
	if err := h.db.View(h.t.Context(), func(tx *sql.Tx) error { return read(h.t.Context(), tx) }); err != nil {
		h.t.Fatal(err)
	}
}

// told are the runs that were asked for in a session because a sub-agent is done.
func (h *fixture) told(key string) (ids []string) {
	h.t.Helper()
	for _, e := range h.events(coordination.TypeRunQueued) {
		if e.text("cause") == "subagent" && e.text("sessionKey") == key && e.text("retryOf") == "" {
			ids = append(ids, e.text("runId"))
		}
	}
	return ids
}

// change decides something about a session.
func (h *fixture) change(key string, decided func(tx eventstore.Tx, s session.State) ([]session.Event, error)) {
	h.t.Helper()
	k, err := coordination.ParseSessionKey(key)
	if err != nil {
		h.t.Fatal(err)
	}
	_, err = h.db.Decide(h.t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		s, _, err := sessions.Load(tx, k)
		if err != nil {
			return nil, err
		}
		events, err := decided(tx, s)
		if err != nil {
			return nil, err
		}
		return sessions.Append(s, eventstore.ActorHuman, h.now().UnixMilli(), events)
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// patch sets something for a session.
func (h *fixture) patch(key, values string) {
	h.t.Helper()
	h.change(key, func(_ eventstore.Tx, s session.State) ([]session.Event, error) {
		c := session.PatchCommand{Command: session.Command{NewID: uuid.NewString()}}
		if err := json.Unmarshal([]byte(values), &c.Values); err != nil {
			return nil, err
		}
		return session.Patch(s, c, func(string) (string, error) { return "", nil })
	})
}

// remove deletes a session.
func (h *fixture) remove(key string) {
	h.t.Helper()
	h.change(key, func(_ eventstore.Tx, s session.State) ([]session.Event, error) {
		return session.Delete(s, session.DeleteCommand{Main: coordination.MainKey("main")})
	})
}
