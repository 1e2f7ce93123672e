package server

import (
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
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	decide "github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/work"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/a2a"
	agenttools "github.com/pronto-lab/openclawd/tools/agents"
	"github.com/pronto-lab/openclawd/tools/approval"
	"github.com/pronto-lab/openclawd/tools/collaborate"
	"github.com/pronto-lab/openclawd/tools/continuation"
	"github.com/pronto-lab/openclawd/tools/milestone"
	"github.com/pronto-lab/openclawd/tools/notify"
	"github.com/pronto-lab/openclawd/tools/plan"
	sessiontools "github.com/pronto-lab/openclawd/tools/sessions"
	"github.com/pronto-lab/openclawd/tools/spawn"
	"github.com/pronto-lab/openclawd/tools/task"
)

// runDrainTime is how long runs under way may go on once the program is told to end.
const runDrainTime = 5 * time.Second

// jobSlots is how many flows between agents are looked after at a time, and how many posts are under way: neither holds a run up.
const jobSlots = 16

// milestoneSlots is how many items of milestones follow their tasks at a time.
const milestoneSlots = 4

// agents are those who answer in sessions and write to each other, and what they need for it.
type agents struct {
	worker      *worker.Worker
	runner      *runner.Runner
	coordinator *a2a.Coordinator
	executor    *continuation.Executor
	office      *approval.Office
	discord     *discordSide
	tools       *tools.Registry
	transport   *http.Transport // to endpoints of models, whatever configuration is in force
	restartedAt time.Time       // when this process began, if agents have worked here before; else zero
	figures     *runFigures
	logger      *slog.Logger
}

// openAgents puts together what answers in sessions. Where another gateway produces, nothing of it is there.
func (p *Program) openAgents(ctx context.Context) error {
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
	desk := task.New(task.Options{Log: p.log, Spawner: laterSpawns{a}, Now: p.opts.Now, NewID: uuid.NewString, NewTaskID: newID("task_"),
		Then: []task.Then{milestone.Follow, plan.Follow, task.Tell(laterRuns{a})}})
	plans := plan.New(plan.Options{Log: p.log, Runs: laterRuns{a}, Config: inForce, Now: p.opts.Now, NewPlanID: newID("plan_")})
	a.office = &approval.Office{Tasks: desk, Plans: plans, Config: inForce}
	hub := p.newTaskHub()
	a.coordinator = a2a.New(a2a.Options{
		Log: p.log, Runs: laterRuns{a}, Config: inForce, Channels: announcing{p, a}, CheckModel: checkModel, Tasks: desk,
		Now: p.opts.Now, NewID: uuid.NewString, Jitter: rand.Float64, Logger: logger,
	})
	subagents := spawn.Options{Log: p.log, Coordinator: a.coordinator, Now: p.opts.Now, NewID: uuid.NewString}
	if err := p.openDiscord(ctx, a); err != nil {
		return err
	}
	var err error
	a.tools, err = tools.New(tools.Options{Config: inForce, Logger: logger, Guard: guards(desk.Guard, plans.Guard), Tools: slices.Concat(
		sessiontools.Tools(sessiontools.Options{Log: p.log, Now: p.opts.Now, NewID: uuid.NewString, CheckModel: checkModel}),
		[]tools.Tool{agenttools.List(), a2a.SendTool(a.coordinator), a2a.BroadcastTool(a.coordinator), a.discord.requests.Tool()}, spawn.Tools(subagents), desk.Tools(), plans.Tools(),
		milestone.Tools(hub, p.log))})
	if err != nil {
		return fmt.Errorf("register tools: %w", err)
	}
	a.runner = runner.New(runner.Options{
		Log: p.log, Config: inForce, Models: func() *catalogue.Catalogue { return models.of(inForce()) }, Tools: a.tools,
		Prompt: prompt.New(prompt.Options{Now: p.opts.Now, Logger: logger, Workspace: p.workspaceOf}),
		Now:    p.opts.Now, NewID: uuid.NewString, Logger: logger, Then: a.then, Wanted: a.coordinator.Wanted,
		Remembered: a.discord.hears.Remembered,
	})
	a.runner.Follow(a.figures.note)
	a.runner.Follow(a.discord.typing.Tell)
	a.worker = worker.New(worker.Options{
		Log: p.log, Pools: func() map[string]int { return a.pools(inForce()) }, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "work"),
		Drain: runDrainTime,
		Handlers: map[string]worker.Handler{work.KindRun: a.runner, work.KindJob: a.coordinator, spawn.CleanupKind: spawn.Cleanup(subagents),
			milestone.Kind: milestone.Sync(hub), delivery.Kind: a.discord.posts, collaborate.TrackerKind: a.discord.requests.Tracker(),
			notify.WebhookKind: a.discord.webhook},
	})
	if a.restartedAt, err = p.restartedAt(ctx); err != nil {
		return err
	}
	a.executor = continuation.New(continuation.Options{
		Log: p.log, Runs: a.runner, Messages: a.coordinator, Tasks: desk, Config: inForce, Now: p.opts.Now, NewID: uuid.NewString,
		RestartedAt: a.restartedAt, Logger: p.opts.Logger.With("component", "continuation"),
	})
	p.agents = a
	p.configureBots() // before anything is posted: what waits for a bot that nobody knows is given up
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

// newID makes ids that nobody has had, of tasks or of plans: what they begin with, and 20 hexadecimal digits.
func newID(prefix string) func() string {
	return func() string {
		var id [10]byte
		_, _ = crand.Read(id[:]) // never fails
		return fmt.Sprintf("%s%x", prefix, id)
	}
}

// guards is the guard of tools that asks several, the first refusal first.
func guards(all ...func(context.Context, *tools.Call, *tool.Spec) error) func(context.Context, *tools.Call, *tool.Spec) error {
	return func(ctx context.Context, call *tools.Call, spec *tool.Spec) error {
		for _, guard := range all {
			if err := guard(ctx, call, spec); err != nil {
				return err
			}
		}
		return nil
	}
}

// pools are the lanes of a configuration, in which a run that waits for another one's answer takes no place, and the pool of flows.
func (a *agents) pools(c *config.Config) map[string]int {
	pools := c.Lanes()
	for lane, n := range a.coordinator.Waiting() {
		pools[lane] += n
	}
	pools[decide.PoolJobs], pools[milestone.Pool] = jobSlots, milestoneSlots
	pools[delivery.Pool], pools[collaborate.TrackerPool], pools[notify.WebhookPool] = deliverySlots, trackerSlots, webhookSlots
	return pools
}

// workspaceOf is the directory of an agent's files, "" for none.
func (p *Program) workspaceOf(agentID string) string {
	return p.homeOf(p.newConfiguration().InForce(), agentID)
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
