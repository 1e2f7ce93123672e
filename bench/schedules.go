package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/services/scheduler"
)

// plan is a log with scheduled jobs, under a clock that stands still.
type plan struct {
	*scheduler.Service
	now time.Time
}

func newPlan(log *sqlite.DB) *plan {
	p := &plan{now: time.Now().Truncate(time.Second)}
	conf := config.Default()
	now := func() time.Time { return p.now }
	models := catalogue.New(conf, catalogue.Options{})
	inForce := func() *config.Config { return conf }
	queue := runqueue.New(runqueue.Options{Log: log, Config: inForce, Models: func() *catalogue.Catalogue { return models }, Now: now, NewID: uuid.NewString})
	p.Service = scheduler.New(scheduler.Options{Log: log, Queue: queue, Config: inForce, Workspace: func(string) string { return "" }, Now: now, NewID: uuid.NewString,
		Logger: slog.New(slog.DiscardHandler)})
	return p
}

// add adds n jobs that are due in a time.
func (p *plan) add(ctx context.Context, n int, in time.Duration) error {
	const writers = 16
	return together(writers, func(i int) error {
		for ; i < n; i += writers {
			j := coordination.CronJob{Name: fmt.Sprint("job ", i), Enabled: true, Payload: coordination.CronPayload{Kind: schedule.PayloadTurn, Message: "do it"},
				Schedule: coordination.CronSchedule{Kind: schedule.KindAt, At: p.now.Add(in).Format(time.RFC3339)}}
			if _, err := p.Add(ctx, j, "bench"); err != nil {
				return err
			}
		}
		return nil
	})
}

// runSchedules measures how fast jobs that are due at the same second start, and what a look costs beside many jobs.
func runSchedules(ctx context.Context, b *bench) error {
	due, few, many, looks := b.of(100, 1_000), 100, b.of(1_000, 10_000), b.of(40, 1_000)
	v := values{}
	err := b.rounds(ctx, func(ctx context.Context, _ int, v values) error {
		return b.withLog(ctx, func(log *sqlite.DB) error {
			p := newPlan(log)
			if err := p.add(ctx, due, time.Minute); err != nil {
				return err
			}
			p.now = p.now.Add(time.Minute)
			took, err := seconds(func() error { _, err := p.Look(ctx); return err })
			v.add("start", took)
			return err
		})
	}, func(v values) []figure {
		return []figure{within("schedules.start", v.mid("start"), "s", 5, fmt.Sprintf("synchronous=FULL, all projections inline: %d jobs of sessions of their own, "+
			"due at the same second, until the run of each is queued, in order; %s", due, b.medians()))}
	})
	if err != nil {
		return err
	}
	err = b.withLog(ctx, func(a *sqlite.DB) error {
		return b.withLog(ctx, func(c *sqlite.DB) error {
			less, more := newPlan(a), newPlan(c)
			if err := less.add(ctx, few, time.Hour); err != nil {
				return err
			}
			if err := more.add(ctx, many, time.Hour); err != nil {
				return err
			}
			look := func(p *plan) func() error {
				return func() error { _, err := p.Look(ctx); return err }
			}
			return v.byTurns(looks, "few", look(less), "many", look(more))
		})
	})
	if err != nil {
		return err
	}
	return b.report(atMost("schedules.look", v.mid("many"), "ms", v.mid("few"), 2, fmt.Sprintf("a look for due jobs, with %d jobs of which none is due; baseline: with %d; "+
		"by turns, median of %d", many, few, looks)))
}
