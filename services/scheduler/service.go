// Package scheduler keeps scheduled jobs: it adds and changes them, begins their runs when they are due, and records how the runs end. It
// carries out the decisions of coordination/schedule.
//
// A run begins in the transaction that moves its job to the next due time, so each due time has one run or is recorded as missed,
// whatever process, clock or hour change comes in between. The due time of a job is a row of the tables; while nothing is due, nothing
// runs but one timer.
package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/backoff"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/schedules"
)

// Log is the part of the store that is used here, with the projections runs, schedule, sessions and work.
type Log interface {
	eventstore.Decider
	View(ctx context.Context, read func(*sql.Tx) error) error
	Head(ctx context.Context) (eventstore.Head, error)
	Wait(ctx context.Context, seq int64) (int64, error)
}

// Queue queues runs.
type Queue interface {
	Ask(tx eventstore.Tx, ask run.Ask, now time.Time) ([]eventstore.StreamAppend, error)
}

// Options of New. All are required.
type Options struct {
	Log       Log
	Queue     Queue
	Config    func() *config.Config // in force
	Workspace func(agentID string) string
	Commands  Commands        // runs checks in the sandbox of agents' commands; nil: checks run only where the configuration has no sandbox
	Tools     func() tool.Box // that checks ask; nil: none
	Now       func() time.Time
	NewID     func() string // returns a new UUID
	Logger    *slog.Logger
}

// Commands runs commands as agents do.
type Commands interface {
	// Run runs a command to its end in the sandbox of an agent, and returns its exit status and why it was ended before its time.
	Run(ctx context.Context, conf *config.Config, agentID string, argv []string, out, errs io.Writer) (exit int, ended string, err error)
}

// Service keeps jobs. Its methods are safe for concurrent use.
type Service struct {
	o     Options
	beats atomic.Pointer[config.Config] // whose heartbeats are kept
}

// New returns a service that begins nothing until Run or Look.
func New(o Options) *Service { return &Service{o: o} }

const (
	maxSleep = time.Minute            // longest sleep, since the clock may be set
	settle   = 100 * time.Millisecond // between two looks that events cause
	recovery = 10 * time.Minute       // between two searches for runs whose end was not recorded
)

var retries = backoff.Backoff{First: time.Second, Most: maxSleep}

// Run begins runs of jobs until ctx ends; then it returns nil. It first ends the runs whose end was not recorded. It returns an error only
// when the log is closed; other errors are logged and retried.
func (x *Service) Run(ctx context.Context) error {
	var recovered time.Time
	failures := 0
	for ctx.Err() == nil {
		err := error(nil)
		if now := x.o.Now(); recovered.IsZero() || now.Sub(recovered).Abs() > recovery {
			if err = x.Recover(ctx); err == nil {
				recovered = now
			}
		}
		var next time.Time
		if err == nil {
			next, err = x.Look(ctx)
		}
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, eventstore.ErrClosed):
			return err
		case err != nil:
			failures++
			x.o.Logger.Error("cannot begin scheduled jobs; will retry", "err", err)
			_ = wait.For(ctx, retries.After(failures))
		default:
			failures = 0
			x.sleep(ctx, next)
		}
	}
	return nil
}

// sleep returns when a job is due, or soon after an event.
func (x *Service) sleep(ctx context.Context, next time.Time) {
	nap := maxSleep
	if !next.IsZero() {
		nap = min(max(next.Sub(x.o.Now()), 0), maxSleep)
	}
	inTime, cancel := context.WithTimeout(ctx, nap)
	defer cancel()
	head, err := x.o.Log.Head(inTime)
	if err == nil {
		_, err = x.o.Log.Wait(inTime, head.Seq+1)
	}
	if err == nil {
		_ = wait.For(inTime, settle)
	}
}

// batch is how many jobs one transaction begins.
const batch = 50

// Look begins everything that is due, in order, and returns when the next job is due; zero for never. It does nothing while schedules are
// switched off.
func (x *Service) Look(ctx context.Context) (next time.Time, err error) {
	conf := x.o.Config()
	if !conf.Cron.Enabled {
		return time.Time{}, nil
	}
	if err := x.keepHeartbeats(ctx, conf); err != nil {
		return time.Time{}, err
	}
	for {
		at, err := x.nextWake(ctx)
		if err != nil || at == 0 {
			return time.Time{}, err
		}
		if at > x.o.Now().UnixMilli() {
			return time.UnixMilli(at), nil
		}
		if err := x.beginDue(ctx); err != nil {
			return time.Time{}, err
		}
	}
}

func (x *Service) nextWake(ctx context.Context) (at int64, err error) {
	err = x.o.Log.View(ctx, func(tx *sql.Tx) error {
		at, err = schedules.NextWake(projections.Reading(ctx, tx))
		return err
	})
	return at, err
}
