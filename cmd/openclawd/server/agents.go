package server

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/llm/openai"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/run"
	decide "github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/work"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/a2a"
	agenttools "github.com/pronto-lab/openclawd/tools/agents"
	sessiontools "github.com/pronto-lab/openclawd/tools/sessions"
	"github.com/pronto-lab/openclawd/tools/spawn"
	"github.com/pronto-lab/openclawd/tools/task"
)

// runDrainTime is how long runs under way may go on once the program is told to end.
const runDrainTime = 5 * time.Second

// jobSlots is how many flows between agents are looked after at a time, and how many posts are under way: neither holds a run up.
const jobSlots = 16

// agents are those who answer in sessions and write to each other, and what they need for it.
type agents struct {
	worker      *worker.Worker
	runner      *runner.Runner
	coordinator *a2a.Coordinator
	tools       *tools.Registry
	transport   *http.Transport // to endpoints of models, whatever configuration is in force
	figures     *runFigures
	logger      *slog.Logger
}

// openAgents puts together what answers in sessions. Where another gateway produces, nothing of it is there.
func (p *Program) openAgents() error {
	if p.opts.Follow {
		return nil
	}
	logger := p.opts.Logger.With("component", "agents")
	inForce := p.newConfiguration().InForce
	a := &agents{transport: openai.NewTransport(), figures: newRunFigures(), logger: logger}
	models := &models{make: func(c *config.Config) *catalogue.Catalogue {
		return catalogue.New(c, catalogue.Options{Getenv: p.opts.getenv, Transport: a.transport})
	}}
	checkModel := func(ref string) error {
		_, err := models.of(inForce()).Open(ref)
		return err
	}
	desk := task.New(task.Options{Log: p.log, Spawner: laterSpawns{a}, Now: p.opts.Now, NewID: uuid.NewString, NewTaskID: newTaskID})
	a.coordinator = a2a.New(a2a.Options{
		Log: p.log, Runs: laterRuns{a}, Config: inForce, CheckModel: checkModel, Tasks: desk,
		Now: p.opts.Now, NewID: uuid.NewString, Jitter: rand.Float64, Logger: logger,
	})
	subagents := spawn.Options{Log: p.log, Coordinator: a.coordinator, Now: p.opts.Now, NewID: uuid.NewString}
	var err error
	a.tools, err = tools.New(tools.Options{Config: inForce, Logger: logger, Guard: desk.Guard, Tools: slices.Concat(
		sessiontools.Tools(sessiontools.Options{Log: p.log, Now: p.opts.Now, NewID: uuid.NewString, CheckModel: checkModel}),
		[]tools.Tool{agenttools.List(), a2a.SendTool(a.coordinator)}, spawn.Tools(subagents), desk.Tools())})
	if err != nil {
		return fmt.Errorf("register tools: %w", err)
	}
	a.runner = runner.New(runner.Options{
		Log: p.log, Config: inForce, Models: func() *catalogue.Catalogue { return models.of(inForce()) }, Tools: a.tools,
		Prompt: prompt.New(prompt.Options{Now: p.opts.Now, Logger: logger, Workspace: p.workspaceOf}),
		Now:    p.opts.Now, NewID: uuid.NewString, Logger: logger, Then: a.coordinator.Then, Wanted: a.coordinator.Wanted,
	})
	a.runner.Follow(a.figures.note)
	a.worker = worker.New(worker.Options{
		Log: p.log, Pools: func() map[string]int { return a.pools(inForce()) }, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "work"),
		Drain:    runDrainTime,
		Handlers: map[string]worker.Handler{work.KindRun: a.runner, work.KindJob: a.coordinator, spawn.CleanupKind: spawn.Cleanup(subagents)},
	})
	p.agents = a
	return nil
}

// laterRuns has a coordinator ask the runner, which is made after it: the runner's tools are those that ask the coordinator.
type laterRuns struct{ agents *agents }

func (l laterRuns) Ask(tx eventstore.Tx, ask run.Ask, now time.Time) ([]eventstore.StreamAppend, error) {
	return l.agents.runner.Ask(tx, ask, now)
}

func (l laterRuns) Stop(ctx context.Context, stop run.Stop) ([]string, error) {
	return l.agents.runner.Stop(ctx, stop)
}

// laterSpawns has the desk of tasks ask the coordinator, which is made after it: the coordinator keeps its account of what is delegated there.
type laterSpawns struct{ agents *agents }

func (l laterSpawns) Spawn(ctx context.Context, r a2a.SpawnRequest) (a2a.SpawnResult, error) {
	return l.agents.coordinator.Spawn(ctx, r)
}

// newTaskID is the id of a task that nobody has had.
func newTaskID() string {
	var id [10]byte
	_, _ = crand.Read(id[:]) // never fails
	return fmt.Sprintf("task_%x", id)
}

// pools are the lanes of a configuration, in which a run that waits for another one's answer takes no place, and the pool of flows.
func (a *agents) pools(c *config.Config) map[string]int {
	pools := c.Lanes()
	for lane, n := range a.coordinator.Waiting() {
		pools[lane] += n
	}
	pools[decide.PoolJobs] = jobSlots
	return pools
}

// workspaceOf is the directory of an agent's files, "" for none.
func (p *Program) workspaceOf(agentID string) string {
	return prompt.Directory(p.newConfiguration().InForce(), p.opts.StateDir, cmp.Or(p.opts.getenv("HOME"), p.opts.StateDir), agentID)
}

// runWork has agents answer until ctx ends, and then lets them finish what they are at for a while.
func (p *Program) runWork(ctx context.Context) error {
	if p.agents == nil {
		return nil
	}
	defer p.agents.transport.CloseIdleConnections()
	return p.agents.worker.Run(ctx)
}

// resume looks after the flows that the process before has left, before anybody asks for another one. If it cannot, they are looked after
// when their time has come.
func (a *agents) resume(ctx context.Context) {
	if a == nil {
		return
	}
	switch r, err := a.coordinator.Resume(ctx); {
	case err != nil && ctx.Err() == nil:
		a.logger.Error("flows between agents could not be resumed; they go on when they are due", "err", err)
	case r.Open > 0:
		a.logger.Info("flows between agents go on", "open", r.Open, "resumed", r.Resumed, "abandoned", r.Abandoned)
	}
}
