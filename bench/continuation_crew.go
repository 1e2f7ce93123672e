package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
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
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/services/continuer"
	"github.com/pronto-lab/openclawd/services/delegations"
	"github.com/pronto-lab/openclawd/services/messenger"
)

// crew is a taskBench whose agents answer, and are kept going.
type crew struct {
	*taskBench
	queue     *runqueue.Queue
	runner    *runner.Runner
	worker    *worker.Worker
	continuer *continuer.Service
	watch     *stopwatch
}

// withCrew calls do with a crew on a log of its own.
func (b *bench) withCrew(ctx context.Context, team *config.Config, now func() time.Time, do func(*crew) error) error {
	return b.withTasks(ctx, team, func(o *taskBench) error {
		c := &crew{taskBench: o, watch: newStopwatch(o.log)}
		transport := openai.NewTransport()
		defer transport.CloseIdleConnections()
		models := catalogue.New(team, catalogue.Options{Transport: transport})
		c.queue = runqueue.New(runqueue.Options{Log: c.watch, Config: c.inForce, Models: func() *catalogue.Catalogue { return models }, Now: now, NewID: uuid.NewString})
		messages := messenger.New(messenger.Options{Log: c.watch, Queue: c.queue, Config: c.inForce, Tasks: delegations.Service{}, Now: now, NewID: uuid.NewString,
			Jitter: func() float64 { return 0.5 }, Logger: c.logger})
		runs := runner.NewRuns(runner.RunsOptions{Log: c.watch, Now: now, NewID: uuid.NewString, Logger: c.logger, Then: messages.Then})
		c.runner = runner.New(runner.Options{Queue: c.queue, Runs: runs, Config: c.inForce, Models: func() *catalogue.Catalogue { return models }, Tools: c.tools,
			Prompt: prompt.New(prompt.Options{Now: now, Logger: c.logger}), Wanted: messages.Wanted})
		c.worker = worker.New(worker.Options{Log: c.watch, Pools: team.Lanes, Now: now, Logger: c.logger,
			Handlers: map[string]worker.Handler{workqueue.KindRun: c.runner, workqueue.KindJob: messages}})
		c.continuer = continuer.New(continuer.Options{Log: c.watch, Queue: c.queue, Messages: messages, Tasks: c.tasks, Config: c.inForce, Now: now,
			NewID: uuid.NewString, Logger: c.logger})
		return do(c)
	})
}

// look checks the agents once. There must be nothing to do now, but something later.
func (c *crew) look(ctx context.Context) error {
	before, err := c.log.Head(ctx)
	if err != nil {
		return err
	}
	next, err := c.continuer.Check(ctx)
	if err != nil {
		return err
	}
	after, err := c.log.Head(ctx)
	if err == nil && (after.Seq != before.Seq || next.IsZero()) {
		err = fmt.Errorf("a check appends %d events, and the next one is at %v; want none, and one to come", after.Seq-before.Seq, next)
	}
	return err
}

func (c *crew) updateBeside(ctx context.Context, each int) (rate float64, err error) {
	err = c.beside(ctx, func(ctx context.Context) (err error) {
		rate, err = c.update(ctx, each)
		return err
	}, c.continuer.Run)
	return rate, err
}

// beside calls do while services run, and stops them afterwards. If one ends early, do is cancelled.
func (c *crew) beside(ctx context.Context, do func(context.Context) error, services ...func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	return together(1+len(services), func(i int) error {
		defer stop()
		if i == 0 {
			return do(ctx)
		}
		return services[i-1](ctx)
	})
}

// driveAll lets the agents continue by themselves, one after the other, and returns how long each of their prompts took,
// in ms.
func (c *crew) driveAll(ctx context.Context) ([]float64, error) {
	if _, err := c.begin(ctx); err != nil {
		return nil, err
	}
	err := c.beside(ctx, func(ctx context.Context) error {
		for agent := range c.team.Agents {
			if err := c.drive(ctx, agent); err != nil { // the next one waits, because that made no progress
				return err
			}
		}
		return nil
	}, c.worker.Run, c.continuer.Run)
	return c.watch.all(), err
}

// drive sends an agent a message, and waits until it was prompted to continue.
func (c *crew) drive(ctx context.Context, agent int) error {
	const patience = time.Minute
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("%s was not prompted within %s to continue", taskAgent(agent), patience))
	defer cancel()
	before, key := c.watch.count(), coordination.MainKey(taskAgent(agent))
	_, err := c.runner.Queue(ctx, run.Ask{Session: key, Human: true, RunQueued: coordination.RunQueued{RunID: uuid.NewString(), SessionKey: key.String(),
		Cause: "chat", Message: "begin", Context: coordination.Context{EventRole: coordination.RoleOrchestration}}})
	if err != nil {
		return err
	}
	for c.watch.count() == before {
		select {
		case <-c.watch.more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// stopwatch is a log that measures the time from the end of a run of an agent until its next run is requested.
type stopwatch struct {
	*sqlite.DB
	more chan struct{} // signals a measurement

	mu    sync.Mutex
	ended map[string]time.Time // agents without a run, with the time of the decision that ended the last one
	gaps  []float64            // ms
}

func newStopwatch(log *sqlite.DB) *stopwatch {
	return &stopwatch{DB: log, more: make(chan struct{}, 1), ended: map[string]time.Time{}}
}

// Decide implements eventstore.Decider.
func (s *stopwatch) Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error) {
	var asked []string // agents
	result, err := s.DB.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		appends, err := decide(tx)
		asked = nil
		for i := range appends {
			for j := range appends[i].Events {
				switch e := &appends[i].Events[j]; e.Type {
				case coordination.TypeRunEnded:
					s.end(e.AgentID)
				case coordination.TypeRunQueued:
					asked = append(asked, e.AgentID)
				}
			}
		}
		return appends, err
	})
	if err == nil && len(asked) > 0 {
		s.ask(asked)
	}
	return result, err
}

func (s *stopwatch) end(agent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended[agent] = time.Now()
}

func (s *stopwatch) ask(agents []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, agent := range agents {
		if at, idle := s.ended[agent]; idle {
			s.gaps = append(s.gaps, milliseconds(time.Since(at)))
			delete(s.ended, agent)
		}
	}
	select {
	case s.more <- struct{}{}:
	default:
	}
}

func (s *stopwatch) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.gaps)
}

func (s *stopwatch) all() []float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.gaps)
}
