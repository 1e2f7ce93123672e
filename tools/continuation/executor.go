// Package continuation carries out what coordination/continuation decides: it keeps agents going. It is the one place that does.
//
// An Executor looks at an agent after each event that may change what is to be done about it, and when time alone may. What it decides is
// appended in one transaction with the run, or the message, that it asks for: so a cause has one prompt, whatever dies in between. It waits for
// no run: how one has ended is an event, after which it looks again. When to look again is not stored: it follows from the log and the clock.
package continuation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/pronto-lab/openclawd/config"
	decide "github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/tools/a2a"
)

// Log is what an Executor needs of the store, with the projections a2a, continuation, conversation, plan, run, session, task and work in it.
type Log interface {
	Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error)
	View(ctx context.Context, read func(*sql.Tx) error) error
	Head(ctx context.Context) (eventstore.Head, error)
	Wait(ctx context.Context, seq int64) (int64, error)
	Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error)
}

// Runs is what an Executor needs of a runner.
type Runs interface {
	Ask(tx eventstore.Tx, ask run.Ask, now time.Time) ([]eventstore.StreamAppend, error)
}

// Messages is what an Executor needs of the coordinator of agents.
type Messages interface {
	Ask(tx eventstore.Tx, r a2a.Request, now time.Time) (a2a.Result, []eventstore.StreamAppend, error)
}

// Tasks is what an Executor needs of those who keep the tasks.
type Tasks interface {
	// Joins is the work session that a task joins which has none, "" for one that has.
	Joins(tx eventstore.Tx, t *task.Task, now int64) (string, error)
	// Renewed is the new work session of a task that is gone on with, "" if it stays in its own.
	Renewed(tx eventstore.Tx, t *task.Task, now int64) (string, error)
}

// Options of New. All but RestartedAt are required.
type Options struct {
	Log         Log
	Runs        Runs
	Messages    Messages
	Tasks       Tasks
	Config      func() *config.Config // in force
	Now         func() time.Time
	NewID       func() string // a UUID that nobody has had
	RestartedAt time.Time     // when the process began, if another one was there before; else zero
	Logger      *slog.Logger
}

// Executor keeps agents going. Its methods may be called by many goroutines.
type Executor struct{ o Options }

// New makes an Executor that does nothing until Run, or Look.
func New(o Options) *Executor { return &Executor{o: o} }

// Run keeps agents going until ctx ends, and returns nil then. It looks at all of them first. An error is that of a log that is closed;
// whatever else fails is tried again.
func (x *Executor) Run(ctx context.Context) error {
	w := &watch{Executor: x, all: true, marked: map[string]bool{}, due: map[string]int64{}, failures: map[string]int{}}
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
				x.o.Logger.Error("agents are not kept going for now", "err", err)
			}
			pause(ctx, retryAfter(failures))
		}
	}
	return nil
}

// Look looks at all agents once, does all that is to be done about them now, and says when time alone may change that; zero for never. An error
// tells of those that could not be looked at; the others were.
func (x *Executor) Look(ctx context.Context) (next time.Time, err error) {
	first := int64(0)
	for _, agent := range x.o.Config().Workers() {
		at, failed := x.look(ctx, agent)
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

// maxSteps is how much is done about an agent at one look.
const maxSteps = 50

// errRestless says that there is always something more to be done about an agent.
var errRestless = fmt.Errorf("it does not come to rest in %d steps", maxSteps)

// look looks at an agent, and does all that is to be done about it now. at is when time alone may change that, ms since 1970; 0 never.
func (x *Executor) look(ctx context.Context, agent string) (at int64, err error) {
	defer func() {
		if p := recover(); p != nil {
			at, err = 0, x.panicked(agent, p)
		}
		if err != nil {
			err = fmt.Errorf("look at agent %s: %w", agent, err)
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

func (x *Executor) panicked(agent string, p any) error {
	x.o.Logger.Error("keeping an agent going panicked", "agent", agent, "panic", p, "stack", string(debug.Stack()))
	if cause, is := p.(error); is {
		return fmt.Errorf("panic: %w", cause)
	}
	return fmt.Errorf("panic: %v", p)
}

// glance sees whether anything is to be done about an agent, without keeping anybody from writing. at is as of look, where nothing is.
func (x *Executor) glance(ctx context.Context, agent string) (due bool, at int64, err error) {
	err = x.o.Log.View(ctx, func(view *sql.Tx) error {
		tx, now := projections.Reading(ctx, view), x.o.Now()
		o, err := outlined(tx, x.o.Config(), agent, now, x.o.RestartedAt)
		if err != nil || o.waits() {
			return err
		}
		if err := o.fill(tx); err != nil {
			return err
		}
		news, err := reports(tx, o.Situation)
		if err != nil {
			return err
		}
		d := decide.Next(o.Situation, now.UnixMilli())
		due, at = len(news) > 0 || d.Kind != decide.Nothing, d.LookAgainAt
		return nil
	})
	return due, at, err
}

// step does the next thing that is to be done about an agent, if there is still one.
func (x *Executor) step(ctx context.Context, agent string) error {
	var done decide.Decision
	unsent := false
	_, err := x.o.Log.Decide(ctx, func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
		defer func() { // what others append with it is not to be lost
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
		p := &performing{x: x, tx: tx, conf: conf, s: s, now: now}
		done = decide.Decision{}
		news, err := reports(tx, s)
		switch {
		case err != nil:
			return nil, err
		case len(news) > 0:
			return p.happen(news)
		}
		done = decide.Next(s, now.UnixMilli())
		appends, err = p.perform(&done)
		unsent = p.unsent
		return appends, err
	})
	if err == nil && done.Kind != "" && done.Kind != decide.Nothing && !unsent {
		level := slog.LevelInfo
		if done.Reason == decide.SelfDriving { // after each run, while steps remain
			level = slog.LevelDebug
		}
		x.o.Logger.Log(ctx, level, "an agent is kept going", "agent", agent, "kind", string(done.Kind), "reason", string(done.Reason), "task", done.TaskID, "to", done.To)
	}
	return err
}
