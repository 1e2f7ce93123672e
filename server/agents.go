package server

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/llm/openai"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/agent/remote"
	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/attach"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/mcp"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/services/approvals"
	"github.com/pronto-lab/openclawd/services/continuer"
	"github.com/pronto-lab/openclawd/services/delegations"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/services/notifier"
	"github.com/pronto-lab/openclawd/services/scheduler"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/agenttools"
	"github.com/pronto-lab/openclawd/tools/callapproval"
	"github.com/pronto-lab/openclawd/tools/collabtools"
	"github.com/pronto-lab/openclawd/tools/effects"
	"github.com/pronto-lab/openclawd/tools/exectools"
	"github.com/pronto-lab/openclawd/tools/filetools"
	"github.com/pronto-lab/openclawd/tools/messagetools"
	"github.com/pronto-lab/openclawd/tools/milestone"
	"github.com/pronto-lab/openclawd/tools/plantools"
	"github.com/pronto-lab/openclawd/tools/sendtools"
	"github.com/pronto-lab/openclawd/tools/sessiontools"
	"github.com/pronto-lab/openclawd/tools/spawn"
	"github.com/pronto-lab/openclawd/tools/tasktools"
	"github.com/pronto-lab/openclawd/tools/webtools"
)

// runDrainTime is how long running agent runs may take to finish during shutdown.
const runDrainTime = 5 * time.Second

// jobSlots is the maximum number of flows between agents, and of posts, that are processed concurrently. Neither
// blocks runs.
const jobSlots = 16

// milestoneSlots is the maximum number of milestone items that are updated concurrently.
const milestoneSlots = 4

// agents bundles the runner, the services between agents, and their dependencies.
type agents struct {
	worker      *worker.Worker
	queue       *runqueue.Queue
	runner      *runner.Runner
	messenger   *messenger.Service
	stopper     *messenger.Stopper
	continuer   *continuer.Service
	schedules   *scheduler.Service
	approvals   *approvals.Service
	calls       *callapproval.Service
	requests    *collabtools.Service
	discord     *channelSide
	notices     notices
	telegram    *channelSide
	slack       *slackSide
	tools       *tools.Registry
	effects     *effects.Journal
	mcp         *mcp.Servers
	commands    *exectools.Commands
	files       sendtools.Files // that are posted
	workers     *remote.Workers
	workerPools sync.Map        // agents whose runs are, or were, queued for workers
	transport   *http.Transport // to model endpoints, independent of the configuration in force
	restartedAt time.Time       // start of this process, if agents have worked here before; else zero
	metrics     *runMetrics
	logger      *slog.Logger
}

// openAgents assembles the agent side. Where another gateway produces the events, there is none.
func (p *Program) openAgents(ctx context.Context) error {
	if p.withoutAgents() {
		return nil
	}
	logger := p.opts.Logger.With("component", "agents")
	inForce := p.newConfiguration().InForce
	a := &agents{transport: openai.NewTransport(), metrics: newRunMetrics(), logger: logger}
	models := &models{make: func(c *config.Config) *catalogue.Catalogue {
		return catalogue.New(c, catalogue.Options{Getenv: p.opts.getenv, Transport: a.transport})
	}}
	checkModel := func(ref string) error {
		_, err := models.of(inForce()).Open(ref)
		return err
	}
	ofModels := func() *catalogue.Catalogue { return models.of(inForce()) }
	a.queue = runqueue.New(runqueue.Options{Log: p.log.Decided(), Config: inForce, Models: ofModels, Now: p.opts.Now, NewID: uuid.NewString})
	if err := p.openDiscordBots(ctx, a); err != nil {
		return err
	}
	if err := p.openTelegramBots(ctx, a); err != nil {
		return err
	}
	if err := p.openSlackApps(ctx, a); err != nil {
		return err
	}
	a.messenger = messenger.New(messenger.Options{
		Log: p.log, Queue: a.queue, Config: inForce, Channels: p.announcements(a), CheckModel: checkModel, Tasks: delegations.Service{},
		Now: p.opts.Now, NewID: uuid.NewString, Jitter: rand.Float64, Logger: logger, Done: ctx.Done(),
	})
	p.openCommands(a)
	a.schedules = p.newSchedules(a, inForce)
	runs := runner.NewRuns(runner.RunsOptions{Log: p.log.Decided(), Now: p.opts.Now, NewID: uuid.NewString, Logger: logger, Then: a.then})
	a.stopper = messenger.NewStopper(a.messenger, runs)
	taskService := tasktools.New(tasktools.Options{Log: p.log, Spawner: a.messenger, Now: p.opts.Now, NewID: uuid.NewString, NewTaskID: newID("task_"),
		Then: []tasktools.Then{milestone.Follow, plantools.Follow, tasktools.NotifyOwners(a.queue)}})
	plans := plantools.New(plantools.Options{Log: p.log, Queue: a.queue, Config: inForce, Now: p.opts.Now, NewPlanID: newID("plan_")})
	a.calls = callapproval.New(callapproval.Options{Log: p.log.Decided(), Now: p.opts.Now, Workspace: p.workspaceOf})
	a.approvals = &approvals.Service{Tasks: taskService, Plans: plans, Calls: a.calls, Operator: taskService, Config: inForce}
	p.openChannels(a, runs)
	hub := p.newTaskHub()
	subagents := spawn.Options{Log: p.log, Spawner: a.messenger, Stopper: a.stopper, Now: p.opts.Now, NewID: uuid.NewString}
	var err error
	if err = p.openEffects(ctx, a); err != nil {
		return err
	}
	inWorkspaces := filetools.Options{Workspace: p.workspaceOf, Protected: p.protected}
	web := webtools.New(webtools.Options{})
	a.files = sendtools.Files{Read: filetools.Reader(inWorkspaces), Keep: p.keepPosted, Web: web.Download}
	a.tools, err = tools.New(tools.Options{Config: inForce, Logger: logger, Journal: a.effects, Sources: []tools.Source{a.mcp}, Guard: guards(taskService.Guard, plans.Guard, a.calls.Guard), Tools: slices.Concat(
		sessiontools.Tools(sessiontools.Options{Log: p.log, Now: p.opts.Now, NewID: uuid.NewString, CheckModel: checkModel}),
		messagetools.Tools(a.messenger), []tools.Tool{agenttools.List(), a.requests.Tool()}, spawn.Tools(subagents), taskService.Tools(), plans.Tools(),
		milestone.Tools(hub, p.log), a.commands.Tools(), filetools.Tools(inWorkspaces), []tools.Tool{
			sendtools.Tool(sendtools.Options{Log: p.log, Files: a.files, Send: allSends{a.sides}.Send, NewID: uuid.NewString})},
		web.Tools())})
	if err != nil {
		return fmt.Errorf("register tools: %w", err)
	}
	a.workers = p.newWorkers(a, inForce)
	if err := p.readWorkerPools(ctx, a); err != nil {
		return fmt.Errorf("read the queue of remote workers: %w", err)
	}
	a.runner = runner.New(runner.Options{
		Workers: a.workers,
		Queue:   a.queue, Runs: runs, Config: inForce, Models: ofModels, Tools: a.tools,
		Prompt: prompt.New(prompt.Options{Now: p.opts.Now, Logger: logger, Workspace: p.workspaceOf}),
		Wanted: a.messenger.Wanted, Remembered: a.remembered, Transcripts: p.transcripts, Pictures: p.picture,
		Media: a.answerFiles(inForce),
	})
	runs.Follow(a.metrics.record)
	for _, side := range a.sides() {
		runs.Follow(side.typing.Update)
	}
	handlers := map[string]worker.Handler{workqueue.KindRun: a.runner, workqueue.KindJob: a.messenger, spawn.CleanupKind: spawn.Cleanup(subagents),
		milestone.Kind: milestone.Sync(hub), collabtools.TrackerKind: a.requests.Tracker(), notifier.WebhookKind: a.notices.webhook, scheduler.CheckKind: a.schedules.Checks(), attach.Kind: p.attachmentsTask(a)}
	for _, side := range a.sides() {
		handlers[side.name], handlers[delivery.AckKind(side.name)] = side.posts, side.acksTask()
	}
	a.worker = worker.New(worker.Options{
		Log: p.log.Decided(), Pools: func() map[string]int { return a.pools(inForce()) }, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "work"),
		Drain: runDrainTime, Handlers: handlers,
	})
	if a.restartedAt, err = p.restartedAt(ctx); err != nil {
		return err
	}
	a.continuer = continuer.New(continuer.Options{
		Log: p.log, Queue: a.queue, Messages: a.messenger, Tasks: taskService, Config: inForce, Now: p.opts.Now, NewID: uuid.NewString,
		RestartedAt: a.restartedAt, Logger: p.opts.Logger.With("component", "continuation"),
	})
	p.agents = a
	p.configureBots() // before anything is posted: work for unknown bots would become dead letters
	return nil
}

// newID generates unique ids of tasks or plans: a prefix and 20 hexadecimal digits.
func newID(prefix string) func() string {
	return func() string {
		var id [10]byte
		_, _ = crand.Read(id[:]) // never fails
		return fmt.Sprintf("%s%x", prefix, id)
	}
}

// guards combines several tool guards; the first refusal wins.
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

// pools returns the worker pools of a configuration: one per lane, in which a run that waits for another one's answer holds no slot, and
// the pool of flows.
func (a *agents) pools(c *config.Config) map[string]int {
	pools := c.Lanes()
	for lane, n := range a.messenger.Waiting() {
		pools[lane] += n
	}
	a.addWorkerPools(pools, c)
	pools[work.PoolJobs], pools[milestone.Pool] = jobSlots, milestoneSlots
	pools[delivery.Pool], pools[collabtools.TrackerPool], pools[notifier.WebhookPool] = deliverySlots, trackerSlots, webhookSlots
	pools[scheduler.CheckPool], pools[attach.Pool] = checkSlots, attachmentSlots
	pools[coordination.Telegram], pools[coordination.Slack] = deliverySlots, deliverySlots
	return pools
}

// workspaceOf is an agent's workspace directory, "" for none.
func (p *Program) workspaceOf(agentID string) string {
	return p.homeOf(p.newConfiguration().InForce(), agentID)
}

// runWork runs agents until ctx ends, and then lets running ones finish for a limited time.
func (p *Program) runWork(ctx context.Context) error {
	if p.agents == nil {
		return nil
	}
	defer p.agents.transport.CloseIdleConnections()
	stopping, stop := context.WithCancel(context.WithoutCancel(ctx)) // until the last run has ended
	stopped := make(chan error, 1)
	go func() { stopped <- p.agents.stopper.Run(stopping) }()
	err := p.agents.worker.Run(ctx)
	stop()
	p.agents.mcp.Close()
	p.agents.commands.Close()
	return errors.Join(err, <-stopped)
}

// resume recovers the flows left open by the previous process before new ones are accepted. On failure they are
// recovered when they are due.
func (a *agents) resume(ctx context.Context) {
	if a == nil {
		return
	}
	switch r, err := a.messenger.Resume(ctx); {
	case err != nil && ctx.Err() == nil:
		a.logger.Error("cannot resume flows between agents; they continue when they are due", "err", err)
	case r.Open > 0:
		a.logger.Info("resumed flows between agents", "open", r.Open, "resumed", r.Resumed, "abandoned", r.Abandoned)
	}
}
