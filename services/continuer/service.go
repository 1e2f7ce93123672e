// Package continuer keeps agents working on their tasks: it alone carries out the decisions of
// coordination/continuation.
//
// It checks an agent after each event that may change what is due, and whenever time alone may change it. A decision
// is appended in one transaction with the run or message that it requests, so each cause has one prompt even after a
// crash. No call waits for a run: its end is an event, which causes the next check. The time of the next check is not
// stored; it follows from the log and the clock.
package continuer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/services/messenger"
)

// Log is the part of the store that is used here, with the projections flows, continuations, conversations, plans, runs, sessions, tasks
// and work.
type Log interface {
	eventstore.Decider
	View(ctx context.Context, read func(*sql.Tx) error) error
	Head(ctx context.Context) (eventstore.Head, error)
	Wait(ctx context.Context, seq int64) (int64, error)
	Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error)
}

// Queue queues runs.
type Queue interface {
	Ask(tx eventstore.Tx, ask run.Ask, now time.Time) ([]eventstore.StreamAppend, error)
}

// Messages sends messages between agents.
type Messages interface {
	Ask(tx eventstore.Tx, r messenger.Request, now time.Time) (messenger.Result, []eventstore.StreamAppend, error)
}

// Tasks assigns work sessions to tasks.
type Tasks interface {
	// Joins returns the work session for a task that has none, "" for one that has.
	Joins(tx eventstore.Tx, t *task.Task, now int64) (string, error)
	// Renewed returns a new work session for a task that continues, "" if it keeps its own.
	Renewed(tx eventstore.Tx, t *task.Task, now int64) (string, error)
}

// Options of New. All but RestartedAt are required.
type Options struct {
	Log         Log
	Queue       Queue
	Messages    Messages
	Tasks       Tasks
	Config      func() *config.Config // in force
	Now         func() time.Time
	NewID       func() string // returns a new UUID
	RestartedAt time.Time     // start of this process if another one ran before; else zero
	Logger      *slog.Logger
}

// Service keeps agents working. It is safe for concurrent use.
type Service struct{ o Options }

// New returns a service that does nothing until Run or Check.
func New(o Options) *Service { return &Service{o: o} }

// Run checks all agents and keeps them working until ctx ends; then it returns nil. It returns an error only when the log is closed;
// other errors are retried.
func (x *Service) Run(ctx context.Context) error {
	w := &watch{Service: x, all: true, marked: map[string]bool{}, due: map[string]int64{}, failures: map[string]int{}}
	for failures := 0; ctx.Err() == nil; {
		err := w.round(ctx)
		switch {
		case err == nil:
			failures = 0
		case ctx.Err() != nil:
		case errors.Is(err, eventstore.ErrClosed):
			return err
		default:
			if failures++; failures == 1 {
				x.o.Logger.Error("cannot read the log for continuations; will retry", "err", err)
			}
			_ = wait.For(ctx, retries.After(failures))
		}
	}
	return nil
}

// Check checks all agents once, does everything due, and returns when time alone may change that; zero for never. The error joins those
// of the agents that could not be checked; the others were.
func (x *Service) Check(ctx context.Context) (next time.Time, err error) {
	first := int64(0)
	for _, agent := range x.o.Config().Workers() {
		at, failed := x.checkAgent(ctx, agent)
		err = errors.Join(err, failed)
		if at > 0 && (first == 0 || at < first) {
			first = at
		}
	}
	if first > 0 {
		next = time.UnixMilli(first)
	}
	return next, err
}

// maxSteps bounds what one check does about an agent.
const maxSteps = 50

// errRestless reports that an agent always needs another step.
var errRestless = fmt.Errorf("there is still something to do after %d steps", maxSteps)

// checkAgent checks an agent and does everything due. at is when time alone may change that, in ms since 1970; 0 for never.
func (x *Service) checkAgent(ctx context.Context, agent string) (at int64, err error) {
	defer func() {
		if p := recover(); p != nil {
			at, err = 0, x.panicked(agent, p)
		}
		if err != nil {
			err = fmt.Errorf("check agent %s: %w", agent, err)
		}
	}()
	for range maxSteps {
		due, at, err := x.glance(ctx, agent)
		if !due || err != nil {
			return at, err
		}
		if err := x.step(ctx, agent); err != nil {
			return 0, err
		}
	}
	return 0, errRestless
}

func (x *Service) panicked(agent string, p any) error {
	x.o.Logger.Error("panic while checking an agent", "agent", agent, "panic", p, "stack", string(debug.Stack()))
	if cause, is := p.(error); is {
		return fmt.Errorf("panic: %w", cause)
	}
	return fmt.Errorf("panic: %v", p)
}

// glance checks whether anything is due about an agent, without taking the write lock. If nothing is due, at is that of checkAgent.
func (x *Service) glance(ctx context.Context, agent string) (due bool, at int64, err error) {
	err = x.o.Log.View(ctx, func(view *sql.Tx) error {
		tx, now := projections.Reading(ctx, view), x.o.Now()
		o, err := outlined(tx, x.o.Config(), agent, now, x.o.RestartedAt)
		if err != nil || o.nothingToDo() {
			return err
		}
		if err := o.fill(tx); err != nil {
			return err
		}
		news, err := reports(tx, o.Situation)
		if err != nil {
			return err
		}
		d := continuation.Next(o.Situation, now.UnixMilli())
		due, at = len(news) > 0 || d.Kind != continuation.Nothing, d.LookAgainAt
		return nil
	})
	return due, at, err
}

// step does the next thing due about an agent, if there still is one.
func (x *Service) step(ctx context.Context, agent string) error {
	var done continuation.Decision
	unsent := false
	_, err := x.o.Log.Decide(ctx, func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
		defer func() { // other appends of the same transaction must not be lost
			if p := recover(); p != nil {
				appends, err = nil, x.panicked(agent, p)
			}
		}()
		now, conf := x.o.Now(), x.o.Config()
		s, err := situation(tx, conf, agent, now, x.o.RestartedAt)
		if err != nil {
			return nil, err
		}
		if err := x.join(tx, s, now); err != nil {
			return nil, err
		}
		p := &decisionAppend{x: x, tx: tx, conf: conf, s: s, now: now}
		done = continuation.Decision{}
		news, err := reports(tx, s)
		switch {
		case err != nil:
			return nil, err
		case len(news) > 0:
			return p.happen(news)
		}
		done = continuation.Next(s, now.UnixMilli())
		appends, err = p.perform(&done)
		unsent = p.unsent
		return appends, err
	})
	if err == nil && done.Kind != "" && done.Kind != continuation.Nothing && !unsent {
		level := slog.LevelInfo
		if done.Reason == continuation.SelfDriving { // after each run, while steps remain
			level = slog.LevelDebug
		}
		x.o.Logger.Log(ctx, level, "continuation decided", "agent", agent, "kind", string(done.Kind), "reason", string(done.Reason), "task", done.TaskID, "to", done.To)
	}
	return err
}
