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
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	state "github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/coordination/tool"
	queue "github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
	flows "github.com/pronto-lab/openclawd/projections/a2a"
	"github.com/pronto-lab/openclawd/projections/conversation"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	runs "github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/projections/session"
	projection "github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/projections/work"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/a2a"
	"github.com/pronto-lab/openclawd/tools/agents"
	"github.com/pronto-lab/openclawd/tools/sessions"
	"github.com/pronto-lab/openclawd/tools/spawn"
	"github.com/pronto-lab/openclawd/tools/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what has to come; it is never waited for in vain.
const patience = 30 * time.Second

func definitions() []projections.Definition {
	rules := coordination.RulesV2
	return []projections.Definition{conversation.Routes(rules), session.Definition(), runs.Definition(), work.Definition(), flows.Definition(),
		projection.Definition(), index.Definition(rules), conversation.Definition(rules)}
}

// emptyLog is the file of a log that has its tables.
var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, definitions()...))

// setting is what a test has of its own.
type setting struct {
	script string // rules of the scripted provider that come before the usual ones
	config string // of agents.defaults, JSON5
	rest   string // of the configuration, likewise
	limits runner.Limits
	tasks  bool          // agents have tasks, and the tools for them
	ahead  time.Duration // that the clock is at first
}

// usual are the rules of all tests: who is told to wait does so at the gate that is named, who is told to hang never answers, and who is told
// to start sub-agents does so.
const usual = `
	{"when": {"matches": "^wait for (\\w+)"}, "answer": {"toolCalls": [{"name": "gate", "arguments": {"name": "{{1}}"}}]}},
	{"when": {"after": "tool", "tool": "gate"}, "answer": {"text": "found: {{result}}"}},
	{"when": {"matches": "^hang"}, "answer": {"text": "so far", "fault": {"hang": true, "after": 2}}},
	{"when": {"matches": "^break"}, "answer": {"fault": {"class": "rejected", "message": "it breaks"}}},
	{"when": {"matches": "^be silent"}, "answer": {"text": "ANNOUNCE_SKIP"}},
	{"when": {"contains": ["A subagent has finished"]}, "answer": {"text": "NO_REPLY"}},
	{"answer": {"text": "echo: {{message}}"}}`

// house is a log with agents that answer in it, and start sub-agents.
type house struct {
	*a2a.Coordinator
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

func setup(t testing.TB, set setting) *house {
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
func openAt(t testing.TB, path string, set setting) *house {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, db: db, path: path, set: set, config: load(t, &set)}
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

// put puts the parts together as the program does.
func (h *house) put(t testing.TB) {
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
	h.runner = runner.New(runner.Options{
		Log: h.db, Config: inForce, Models: func() *catalogue.Catalogue { return models }, Tools: late{func() tool.Box { return h.box }},
		Prompt: prompt.New(prompt.Options{Logger: log}), Now: h.now, Logger: log, Backoff: func(int) time.Duration { return time.Millisecond },
		NewID: uuid.NewString, Grace: 100 * time.Millisecond, Limits: h.set.limits,
		Then: func(tx eventstore.Tx, e *runner.Ending) ([]eventstore.StreamAppend, error) { return h.Then(tx, e) },
	})
	options := a2a.Options{Log: h.db, Runs: h.runner, Config: inForce, CheckModel: check, Now: h.now, NewID: uuid.NewString,
		Jitter: func() float64 { return 0 }, Logger: log}
	desk := task.New(task.Options{Log: h.db, Spawner: h, Now: h.now, NewID: uuid.NewString, NewTaskID: newTaskID})
	if h.set.tasks {
		options.Tasks = desk
	}
	h.Coordinator = a2a.New(options)
	own := spawn.Options{Log: h.db, Coordinator: h.Coordinator, Now: h.now, NewID: uuid.NewString}
	all := append(sessions.Tools(sessions.Options{Log: h.db, Now: h.now, NewID: uuid.NewString, CheckModel: check}), agents.List(), a2a.SendTool(h.Coordinator), h.gates.tool())
	if h.set.tasks {
		all = append(all, desk.Tools()...)
	}
	if h.box, err = tools.New(tools.Options{Config: inForce, Logger: log, Tools: append(all, spawn.Tools(own)...)}); err != nil {
		t.Fatal(err)
	}
}

func newTaskID() string { return "task_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:20] }

// wake lets the worker begin.
func (h *house) wake(t testing.TB) {
	if _, err := h.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	own := spawn.Options{Log: h.db, Coordinator: h.Coordinator, Now: h.now, NewID: uuid.NewString}
	pools := h.config.Lanes()
	pools[queue.PoolJobs] = 4
	w := worker.New(worker.Options{Log: h.db, Now: h.now, Pools: func() map[string]int { return pools },
		Handlers: map[string]worker.Handler{work.KindRun: h.runner, work.KindJob: h.Coordinator, spawn.CleanupKind: spawn.Cleanup(own)},
		Logger:   slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, eventstore.ErrClosed) {
			t.Errorf("worker: %v", err)
		}
	})
}

// crash ends the house as if its process were gone: nothing more is written.
func (h *house) crash() {
	h.t.Helper()
	if err := h.db.Close(); err != nil {
		h.t.Fatal(err)
	}
	h.stop()
}

func (h *house) now() time.Time {
	return time.Now().Add(time.Duration(h.ahead.Load()) * time.Millisecond)
}

// late are tools that are made after those who use them.
type late struct{ box func() tool.Box }

func (l late) Offer(c tool.Caller) []tool.Spec { return l.box().Offer(c) }
func (l late) Call(ctx context.Context, c tool.Caller, name string, args json.RawMessage) (tool.Output, error) {
	return l.box().Call(ctx, c, name, args)
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

// arrives waits until somebody stands at a gate.
func (h *house) arrives(name string) {
	h.t.Helper()
	_, came := h.gates.of(name)
	select {
	case <-came:
	case <-time.After(patience):
		h.t.Fatalf("nobody comes to gate %s", name)
	}
}

// opens lets all go on who stand at a gate, or come there.
func (h *house) opens(name string) {
	open, _ := h.gates.of(name)
	close(open)
}

// eden is somebody who speaks for agent eden's main session, in a work session.
func eden() tool.Caller { return caller("agent:eden:main") }

// caller is somebody who speaks for a session of agent eden's.
func caller(key string) tool.Caller {
	return tool.Caller{Entry: tool.ByRun, AgentID: "eden", SessionKey: key, WorkSessionID: "ws_1"}
}

// spawn starts a sub-agent.
func (h *house) spawn(r a2a.SpawnRequest) a2a.SpawnResult {
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
func (h *house) started(r a2a.SpawnRequest) a2a.SpawnResult {
	h.t.Helper()
	result := h.spawn(r)
	if result.Status != "accepted" {
		h.t.Fatalf("not started: %+v", result)
	}
	return result
}

// call calls a tool, and reads what it says into R.
func call[R any](h *house, c tool.Caller, name, args string) (result R, out tool.Output) {
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
func (h *house) queue(id, key, message, workSession string) {
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
func (h *house) over(id string) run.Result {
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
func (h *house) events(typ string) (all []event) {
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
func (h *house) until(what string, is func() bool) {
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
func (h *house) flowOver(jobID string) (row flows.Row) {
	h.t.Helper()
	h.until("flow "+jobID+" is over", func() bool {
		row = h.flow(jobID)
		return !row.Phase.Open()
	})
	return row
}

func (h *house) flow(jobID string) (row flows.Row) {
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

func (h *house) session(key string) (one *session.Session) {
	h.t.Helper()
	h.view(func(ctx context.Context, tx *sql.Tx) (err error) {
		one, err = session.ByKey(ctx, tx, key)
		return err
	})
	return one
}

func (h *house) view(read func(ctx context.Context, tx *sql.Tx) error) {
	h.t.Helper()
	if err := h.db.View(h.t.Context(), func(tx *sql.Tx) error { return read(h.t.Context(), tx) }); err != nil {
		h.t.Fatal(err)
	}
}

// told are the runs that were asked for in a session because a sub-agent is done.
func (h *house) told(key string) (ids []string) {
	h.t.Helper()
	for _, e := range h.events(coordination.TypeRunQueued) {
		if e.text("cause") == "subagent" && e.text("sessionKey") == key && e.text("retryOf") == "" {
			ids = append(ids, e.text("runId"))
		}
	}
	return ids
}

// change decides something about a session.
func (h *house) change(key string, decided func(tx eventstore.Tx, s state.State) ([]state.Event, error)) {
	h.t.Helper()
	k, err := coordination.ParseSessionKey(key)
	if err != nil {
		h.t.Fatal(err)
	}
	_, err = h.db.Decide(h.t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		s, _, err := session.Load(tx, k)
		if err != nil {
			return nil, err
		}
		events, err := decided(tx, s)
		if err != nil {
			return nil, err
		}
		return session.Append(s, eventstore.ActorHuman, h.now().UnixMilli(), events)
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// patch sets something for a session.
func (h *house) patch(key, values string) {
	h.t.Helper()
	h.change(key, func(_ eventstore.Tx, s state.State) ([]state.Event, error) {
		c := state.PatchCommand{Command: state.Command{NewID: uuid.NewString()}}
		if err := json.Unmarshal([]byte(values), &c.Values); err != nil {
			return nil, err
		}
		return state.Patch(s, c, func(string) (string, error) { return "", nil })
	})
}

// remove deletes a session.
func (h *house) remove(key string) {
	h.t.Helper()
	h.change(key, func(_ eventstore.Tx, s state.State) ([]state.Event, error) {
		return state.Delete(s, state.DeleteCommand{Main: coordination.MainKey("main")})
	})
}
