package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
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
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/work"
	"github.com/pronto-lab/openclawd/tools/a2a"
	"github.com/pronto-lab/openclawd/tools/continuation"
)

// crew is an office whose agents answer, and are kept going.
type crew struct {
	*office
	transport *http.Transport
	runner    *runner.Runner
	worker    *worker.Worker
	executor  *continuation.Executor
	watch     *stopwatch
}

func (b *bench) openCrew(ctx context.Context, name string, team *config.Config, now func() time.Time) (*crew, error) {
	o, err := b.openOffice(ctx, name, team)
	if err != nil {
		return nil, err
	}
	c := &crew{office: o, transport: openai.NewTransport(), watch: newStopwatch(o.log)}
	messages := a2a.New(a2a.Options{Log: c.watch, Runs: laterRuns{c}, Config: c.inForce, Tasks: c.desk, Now: now, NewID: uuid.NewString,
		Jitter: func() float64 { return 0.5 }, Logger: c.logger})
	models := catalogue.New(team, catalogue.Options{Transport: c.transport})
	c.runner = runner.New(runner.Options{Log: c.watch, Config: c.inForce, Models: func() *catalogue.Catalogue { return models }, Tools: c.tools,
		Prompt: prompt.New(prompt.Options{Now: now, Logger: c.logger}), Now: now, NewID: uuid.NewString, Logger: c.logger, Then: messages.Then,
		Wanted: messages.Wanted})
	c.worker = worker.New(worker.Options{Log: c.watch, Pools: team.Lanes, Now: now, Logger: c.logger,
		Handlers: map[string]worker.Handler{work.KindRun: c.runner, work.KindJob: messages}})
	c.executor = continuation.New(continuation.Options{Log: c.watch, Runs: c.runner, Messages: messages, Tasks: c.desk, Config: c.inForce, Now: now,
		NewID: uuid.NewString, Logger: c.logger})
	return c, nil
}

// laterRuns has the coordinator of a crew ask its runner, which is made after it.
type laterRuns struct{ crew *crew }

func (l laterRuns) Ask(tx eventstore.Tx, ask run.Ask, now time.Time) ([]eventstore.StreamAppend, error) {
	return l.crew.runner.Ask(tx, ask, now)
}

func (l laterRuns) Stop(ctx context.Context, stop run.Stop) ([]string, error) {
	return l.crew.runner.Stop(ctx, stop)
}

func (c *crew) close() error {
	c.transport.CloseIdleConnections()
	return c.log.Close()
}

// look has the executor look at the agents. There is to be nothing to do, but later there is.
func (c *crew) look(ctx context.Context) error {
	before, err := c.log.Head(ctx)
	if err != nil {
		return err
	}
	next, err := c.executor.Look(ctx)
	if err != nil {
		return err
	}
	after, err := c.log.Head(ctx)
	if err == nil && (after.Seq != before.Seq || next.IsZero()) {
		err = fmt.Errorf("a look appends %d events, and the next one is at %v; want none, and one to come", after.Seq-before.Seq, next)
	}
	return err
}

// updateBeside is update while the executor goes on.
func (c *crew) updateBeside(ctx context.Context, each int) (rate float64, err error) {
	err = c.beside(ctx, func(ctx context.Context) (err error) {
		rate, err = c.update(ctx, each)
		return err
	}, c.executor.Run)
	return rate, err
}

// beside does something while services go on, and ends these then. One that ends before ends what is done, too.
func (c *crew) beside(ctx context.Context, do func(context.Context) error, services ...func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, len(services))
	var wg sync.WaitGroup
	for i, service := range services {
		wg.Go(func() {
			errs[i] = service(ctx)
			stop()
		})
	}
	err := do(ctx)
	stop()
	wg.Wait()
	return errors.Join(append(errs, err)...)
}

// drive gives an agent a message, and waits until it was told so often to go on.
func (c *crew) drive(ctx context.Context, agent, times int) error {
	const patience = time.Minute
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("%s was not told %d times within %s to go on", taskAgent(agent), times, patience))
	defer cancel()
	before, key := c.watch.count(), coordination.MainKey(taskAgent(agent))
	_, err := c.runner.Queue(ctx, run.Ask{Session: key, Human: true, RunQueued: coordination.RunQueued{RunID: uuid.NewString(), SessionKey: key.String(),
		Cause: "chat", Message: "begin", Context: coordination.Context{EventRole: coordination.RoleOrchestration}}})
	if err != nil {
		return err
	}
	for c.watch.count() < before+times {
		select {
		case <-c.watch.more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// stopwatch is a log that measures how long it is from the end of a run of an agent until the next one is asked for.
type stopwatch struct {
	*sqlite.DB
	more chan struct{} // something was measured

	mu    sync.Mutex
	ended map[string]time.Time // agents with no run, by when the last one was decided to be over
	gaps  []float64            // ms
}

func newStopwatch(log *sqlite.DB) *stopwatch {
	return &stopwatch{DB: log, more: make(chan struct{}, 1), ended: map[string]time.Time{}}
}

// Decide is that of the log.
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

// all is what was measured.
func (s *stopwatch) all() []float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.gaps)
}
