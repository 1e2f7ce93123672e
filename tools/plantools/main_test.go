package plantools_test

import (
	"context"
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
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/services/delegations"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/plantools"
	"github.com/pronto-lab/openclawd/tools/spawn"
	"github.com/pronto-lab/openclawd/tools/tasktools"
)

func TestMain(m *testing.M) {
	testscale.Checks(3, 20)
	goleak.VerifyTestMain(m)
}

// patience bounds every wait for something that has to happen.
const patience = testscale.Patience

func definitions() []projections.Definition {
	return []projections.Definition{conversations.Routes(coordination.RulesV2), sessions.Definition(), runs.Definition(), workqueue.Definition(), flows.Definition(),
		tasks.Definition(), plans.Definition()}
}

var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, definitions()...))

// gate is the configuration of most tests.
const gate = `tools: {planGate: {enabled: true, tools: ['write', 'EXEC', 'plan_submit']}, agentToAgent: {enabled: true}}`

// setting configures a test.
type setting struct {
	script string // rules of the scripted provider that come before the usual one
	config string // JSON5 beside the agents; "" is gate
	depth  int    // how deep sub-agents may be started; 0 is as usual
	limits runqueue.Limits
	asleep bool // no run is carried out
}

// fixture is a log with agents that answer in it, a service for tasks and one for plans, and tools called write and exec.
type fixture struct {
	t       testing.TB
	set     setting
	path    string
	db      *sqlite.DB
	engine  *projections.Engine
	service *plantools.Service
	tasks   *tasktools.Service
	queue   *runqueue.Queue
	runner  *runner.Runner
	flows   *messenger.Service
	stopper *messenger.Stopper
	box     *tools.Registry
	config  *config.Config
	newID   func() string // of plans
	ahead   atomic.Int64  // ms that the clock is ahead
	stop    func()        // the worker
}

func setup(t testing.TB, set setting) *fixture {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.db")
	storetest.Copy(t, emptyLog, path)
	return openAt(t, path, set)
}

// openAt opens a fixture at an existing log. It is closed at the end of the test at the latest.
func openAt(t testing.TB, path string, set setting) *fixture {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	o := &fixture{t: t, set: set, path: path, db: db, config: load(t, &set), newID: newID, stop: func() {}}
	t.Cleanup(func() { o.close() })
	if o.engine, err = projections.Start(t.Context(), db, definitions(), projections.Options{Rules: coordination.RulesV2}); err != nil {
		t.Fatal(err)
	}
	o.put()
	if !set.asleep {
		o.wake()
	}
	return o
}

func (o *fixture) close() {
	o.t.Helper()
	o.stop()
	if err := o.db.Close(); err != nil && !errors.Is(err, eventstore.ErrClosed) {
		o.t.Error(err)
	}
}

// reopened is the fixture after a restart, which closes the one before.
func (o *fixture) reopened() *fixture {
	o.t.Helper()
	o.close()
	again := openAt(o.t, o.path, o.set)
	again.ahead.Store(o.ahead.Load())
	return again
}

// put wires the parts as the program does.
func (o *fixture) put() {
	o.t.Helper()
	script, err := scripted.Read("script.json", []byte(`{"rules": [`+o.set.script+`{"answer": {"text": "echo: {{message}}"}}]}`))
	if err != nil {
		o.t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(o.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	models := catalogue.New(o.config, catalogue.Options{Script: script})
	inForce := func() *config.Config { return o.config }
	ofModels := func() *catalogue.Catalogue { return models }
	o.queue = runqueue.New(runqueue.Options{Log: o.db, Config: inForce, Models: ofModels, Now: o.now, NewID: uuid.NewString, Limits: o.set.limits})
	o.flows = messenger.New(messenger.Options{Log: o.db, Queue: o.queue, Config: inForce, Tasks: delegations.Service{}, Now: o.now, NewID: uuid.NewString,
		CheckModel: func(string) error { return nil }, Jitter: func() float64 { return 0 }, Logger: log})
	runs := runner.NewRuns(runner.RunsOptions{Log: o.db, Now: o.now, NewID: uuid.NewString, Logger: log, Then: o.flows.Then,
		Backoff: func(int) time.Duration { return time.Millisecond }})
	o.stopper = messenger.NewStopper(o.flows, runs)
	o.tasks = tasktools.New(tasktools.Options{Log: o.db, Spawner: o.flows, Now: o.now, NewID: uuid.NewString, NewTaskID: func() string { return "task_" + hex20() },
		Then: []tasktools.Then{plantools.Follow, tasktools.NotifyOwners(o.queue)}})
	o.service = plantools.New(plantools.Options{Log: o.db, Queue: o.queue, Config: inForce, Now: o.now, NewPlanID: func() string { return o.newID() }})
	all := append(o.tasks.Tools(), o.service.Tools()...)
	for _, name := range []string{"write", "exec"} {
		all = append(all, tools.Tool{Spec: tool.Spec{Name: name, Group: "files", Label: name, Description: name, Schema: json.RawMessage(`{"type":"object"}`)},
			Do: func(context.Context, *tools.Call) (tool.Output, error) { return tool.Output{Text: name + " done"}, nil }})
	}
	all = append(all, spawn.Tools(spawn.Options{Log: o.db, Spawner: o.flows, Stopper: o.stopper, Now: o.now, NewID: uuid.NewString})...)
	if o.box, err = tools.New(tools.Options{Config: inForce, Logger: log, Tools: all, Guard: o.service.Guard}); err != nil {
		o.t.Fatal(err)
	}
	o.runner = runner.New(runner.Options{Queue: o.queue, Runs: runs, Config: inForce, Models: ofModels, Tools: o.box,
		Prompt: prompt.New(prompt.Options{Logger: log}), Grace: 100 * time.Millisecond})
}

// wake lets the worker begin.
func (o *fixture) wake() {
	o.t.Helper()
	pools := o.config.Lanes()
	pools[work.PoolJobs] = 4
	w := worker.New(worker.Options{Log: o.db, Now: o.now, Pools: func() map[string]int { return pools },
		Handlers: map[string]worker.Handler{workqueue.KindRun: o.runner, workqueue.KindJob: o.flows},
		Logger:   slog.New(slog.NewTextHandler(o.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- w.Run(ctx) }()
	go func() { done <- o.stopper.Run(ctx) }()
	o.stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, <-done); err != nil && !errors.Is(err, eventstore.ErrClosed) {
			o.t.Errorf("worker: %v", err)
		}
	})
}

func hex20() string { return strings.ReplaceAll(uuid.NewString(), "-", "")[:20] }
func newID() string { return "plan_" + hex20() }

// load reads a configuration in which ruda and haru are leads.
func load(t testing.TB, set *setting) *config.Config {
	t.Helper()
	if set.config == "" {
		set.config = gate
	}
	path := filepath.Join(t.TempDir(), "openclaw.json")
	text := `{agents: {defaults: {subagents: {maxSpawnDepth: ` + fmt.Sprint(max(set.depth, 1)) + `}}, list: [{id: 'ruda', default: true, role: 'lead'},
		{id: 'haru', role: 'lead'}, {id: 'eden', subagents: {allowAgents: ['seum']}},
		{id: 'seum', subagents: {allowAgents: ['eden']}}, {id: 'quick', utility: true}]}, ` + set.config + `}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, findings := config.Load(path, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

func (o *fixture) now() time.Time {
	return time.Now().Add(time.Duration(o.ahead.Load()) * time.Millisecond)
}

// caller is an agent in its main session.
func caller(agent string) tool.Caller {
	return tool.Caller{Entry: tool.ByRun, AgentID: agent, SessionKey: coordination.MainKey(agent).String()}
}

// at is an agent in a session, in a run for a task.
func at(agent, sessionKey, taskID string) tool.Caller {
	return tool.Caller{Entry: tool.ByRun, AgentID: agent, SessionKey: sessionKey, TaskID: taskID}
}

// answer is what a tool has said.
type answer map[string]any

func (a answer) text(name string) string   { s, _ := a[name].(string); return s }
func (a answer) list(name string) []any    { l, _ := a[name].([]any); return l }
func (a answer) object(name string) answer { o, _ := a[name].(map[string]any); return o }

// call calls a tool, whatever comes of it.
func (o *fixture) call(c tool.Caller, name, args string) (answer, error) {
	out, err := o.box.Call(o.t.Context(), c, name, json.RawMessage(args))
	if err != nil {
		return nil, err
	}
	var a answer
	if err := json.Unmarshal([]byte(out.Text), &a); err != nil {
		return nil, fmt.Errorf("%s: %w", out.Text, err)
	}
	if success, _ := a["success"].(bool); success == out.IsError {
		return a, fmt.Errorf("success is %t, but the output says %t", success, !out.IsError)
	}
	return a, nil
}

// does calls a tool as an agent, and fails the test on a refusal.
func (o *fixture) does(agent, name, args string, of ...any) answer {
	o.t.Helper()
	return o.doesAs(caller(agent), name, args, of...)
}

func (o *fixture) doesAs(c tool.Caller, name, args string, of ...any) answer {
	o.t.Helper()
	args = fmt.Sprintf(args, of...)
	a, err := o.call(c, name, args)
	if err != nil || a["success"] != true {
		o.t.Fatalf("%s %s: %v, %v", name, args, a, err)
	}
	return a
}

// refuses calls a tool as an agent, and fails the test unless it is refused with that code.
func (o *fixture) refuses(code, agent, name, args string, of ...any) answer {
	o.t.Helper()
	args = fmt.Sprintf(args, of...)
	a, err := o.call(caller(agent), name, args)
	if err != nil || a["success"] != false || a.text("code") != code || a.text("error") == "" || a.text("hint") == "" {
		o.t.Fatalf("%s %.300s: %v, %v; want code %s", name, args, a, err, code)
	}
	return a
}

// starts starts a task, and gives its id.
func (o *fixture) starts(agent string) string {
	o.t.Helper()
	return o.does(agent, "task_start", `{"description":"고친다","simple":true}`).text("taskId")
}

// submits submits a plan for the task that the agent is at, which asks for write, and gives its id.
func (o *fixture) submits(agent string) string {
	o.t.Helper()
	return o.does(agent, "plan_submit", `{"title":"배포 계획","steps":["first","둘째"],"tools_requested":["write"]}`).text("planId")
}

// may reports whether a caller may use a gated tool, and checks the refusal.
func (o *fixture) may(c tool.Caller, name string) bool {
	o.t.Helper()
	out, err := o.box.Call(o.t.Context(), c, name, nil)
	if err == nil {
		return out.Text == name+" done"
	}
	why, is := errors.AsType[*tool.Error](err)
	if !is || why.Code != "plan_required" || !strings.Contains(why.Text, name) || why.Hint == "" {
		o.t.Fatalf("error is %v", err)
	}
	return false
}

func (o *fixture) expectMay(when string, c tool.Caller, name string, want bool) {
	o.t.Helper()
	if got := o.may(c, name); got != want {
		o.t.Errorf("%s: %s of %s for task %q may call %s: %t", when, c.SessionKey, c.AgentID, c.TaskID, name, got)
	}
}

// events are those of a family, such as plan., in order.
func (o *fixture) events(family string) (list []eventstore.Event) {
	o.t.Helper()
	all, err := o.db.Read(o.t.Context(), 0, 100_000)
	if err != nil {
		o.t.Fatal(err)
	}
	for _, e := range all {
		if strings.HasPrefix(e.Type, family) {
			list = append(list, e)
		}
	}
	return list
}

// types are the types of the events of a plan.
func (o *fixture) types(planID string) (types []string) {
	o.t.Helper()
	for _, e := range o.events("plan.") {
		if e.Stream == coordination.PlanStream(planID) {
			types = append(types, e.Type)
		}
	}
	return types
}

// queued are the runs that tell of decisions, the first first.
func (o *fixture) queued() (list []coordination.RunQueued) {
	o.t.Helper()
	for _, e := range o.events(coordination.TypeRunQueued) {
		var q coordination.RunQueued
		if err := json.Unmarshal(e.Data, &q); err != nil {
			o.t.Fatal(err)
		}
		if q.Cause == "approval" {
			list = append(list, q)
		}
	}
	return list
}

// over waits for the end of a run.
func (o *fixture) over(id string) run.Result {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), patience)
	defer cancel()
	result, err := o.runner.Wait(ctx, id)
	if err != nil {
		o.t.Fatalf("wait for %s: %v (%+v)", id, err, result)
	}
	return result
}

// until waits until something is so in the log.
func (o *fixture) until(what string, is func() bool) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), patience)
	defer cancel()
	for {
		head, err := o.db.Head(ctx)
		if err != nil {
			o.t.Fatal(err)
		}
		if is() {
			return
		}
		if _, err := o.db.Wait(ctx, head.Seq+1); err != nil {
			o.t.Fatalf("waiting until %s: %v", what, err)
		}
	}
}

// together does something n times at once, and gives what came of each.
func together[T any](n int, do func(i int) T) []T {
	results := make([]T, n)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-begin
			results[i] = do(i)
		})
	}
	close(begin)
	all.Wait()
	return results
}
