package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Fixed sizes of the continuation benchmark.
const (
	keptClients = 16
	keptParts   = 4 // per round; in each, updates are measured with the service, in a bare table, and without, one right after the other
)

// runContinuation measures continuation: the cost of a check of an agent, its cost for writers, and how soon an agent
// continues.
func runContinuation(ctx context.Context, b *bench) error {
	for _, measure := range []func(context.Context) error{b.measureLooks, b.measureBeside, b.measureDriven} {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	return nil
}

// measureLooks compares checks of an agent whose log has only open tasks with those where it has many finished tasks
// as well. Its clock stands still at a time when there is nothing to do.
func (b *bench) measureLooks(ctx context.Context) error {
	finished, looks, now := b.of(2_000, 100_000), b.of(40, 300), time.Now()
	v := values{}
	idle := func(finished int, do func(*crew) error) error {
		return b.withCrew(ctx, teamOf(1), func() time.Time { return now }, func(c *crew) error {
			err := c.between(ctx, finished, now.UnixMilli()-int64(openTasks+finished), func(n int) (eventstore.StreamAppend, error) {
				return waitingTask(n, now.UnixMilli())
			})
			if err != nil {
				return err
			}
			return do(c)
		})
	}
	err := idle(0, func(alone *crew) error {
		return idle(finished, func(beside *crew) error {
			return v.byTurns(looks, "without", func() error { return alone.look(ctx) }, "with", func() error { return beside.look(ctx) })
		})
	})
	if err != nil {
		return err
	}
	return b.report(atMost("continuation.look", v.mid("with"), "ms", v.mid("without"), 2, fmt.Sprintf("an agent with %d open tasks, half of them in its "+
		"backlog, a quarter blocked, a quarter waiting for approval, and %d finished ones, with nothing to do; baseline: without these; "+
		"by turns, median of %d", openTasks, finished, looks)))
}

// waitingTask returns the nth open task of an agent that has nothing to do for now.
func waitingTask(n int, at int64) (eventstore.StreamAppend, error) {
	t := taskOf(taskAgent(0), n, at)
	switch n % 4 {
	case 0:
		const helper = "helper"
		blocked := coordination.TaskBlocked{Context: t.in, Reason: "a key is missing", UnblockedBy: []string{helper}}
		asked := coordination.Unblock{Context: t.in, TargetAgentID: helper, RunID: fmt.Sprintf("flow-%d", n), RequestCount: 1}
		return t.happens(t.started(), said{coordination.TypeTaskBlocked, blocked}, said{coordination.TypeUnblockRequested, asked})
	case 1:
		s := t.started()
		started, _ := s.data.(coordination.TaskStarted)
		started.RequiresApproval = true
		return t.happens(said{s.typ, started})
	}
	return t.happens(said{coordination.TypeTaskBacklogAdded, coordination.TaskBacklogAdded{Context: t.in, Assignee: t.agent, Priority: "medium",
		Description: fmt.Sprintf("Task %d of a team", n), CreatedBy: t.agent, DependsOn: []string{taskID(int64(n - n%4))}}})
}

// measureBeside compares task updates beside the continuation service with as many bytes in a bare table.
func (b *bench) measureBeside(ctx context.Context) error {
	each, size := b.of(40, 150), 0
	return b.rounds(ctx, func(ctx context.Context, _ int, v values) error {
		return b.withCrew(ctx, teamOf(keptClients), time.Now, func(c *crew) error {
			return b.withTable(func(t *table) (err error) {
				if size, err = c.begin(ctx); err != nil {
					return err
				}
				for range keptParts {
					if err := c.besideBare(ctx, t, each, size, "on", c.updateBeside, v); err != nil {
						return err
					}
					off, err := c.update(ctx, each)
					if err != nil {
						return err
					}
					v.add("off", off)
				}
				return nil
			})
		})
	}, func(v values) []figure {
		on, bare := v.pair("on", "bare")
		return []figure{atLeast("continuation.appends", on, "events/s", bare, 0.12, fmt.Sprintf("synchronous=FULL, all projections inline, %d agents "+
			"with a task of %d steps each, task_update with one step action, a continuer that looks after every agent whose task has changed, without which "+
			"it was %.0f events/s; baseline: group commit of as many events of %d bytes of as many clients into the bare table; %d calls of each client by "+
			"turns, the median of %d ratios", keptClients, taskSteps, v.mid("off"), size, each, len(v["on"])))}
	})
}

// drivenConfig is openclaw.json of agents that use a model.
const drivenConfig = `{ "agents": { "defaults": { "model": { "primary": "bench/words" } }, "list": %s },
  "models": { "providers": { "bench": { "baseUrl": %q, "apiKey": "none", "models": [ { "id": "words" } ] } } } }
`

// measureDriven measures how soon after the end of a run an agent that has steps left is prompted to continue.
func (b *bench) measureDriven(ctx context.Context) error {
	agents := b.of(3, 30) * continuation.MaxDriven
	return b.rounds(ctx, func(ctx context.Context, _ int, v values) error {
		return withModel(ctx, func(m *model) error {
			team, err := b.drivenTeam(agents, m.url)
			if err != nil {
				return err
			}
			return b.withCrew(ctx, team, time.Now, func(c *crew) error {
				gaps, err := c.driveAll(ctx)
				v.add("p50", median(gaps))
				v.add("p99", quantile(gaps, 0.99))
				return err
			})
		})
	}, func(v values) []figure {
		note := fmt.Sprintf("synchronous=FULL, from the decision that a run has ended until the next prompt is on disk, both commits included; %d agents, "+
			"one at a time, a model that answers at once; %s", agents, b.medians())
		return []figure{
			within("continuation.driven.p50", v.mid("p50"), "ms", 6.5, note),
			within("continuation.driven.p99", v.mid("p99"), "ms", 14, "the same, the slowest of a hundred; "+note),
		}
	})
}

func (b *bench) drivenTeam(agents int, models string) (*config.Config, error) {
	list := make([]map[string]any, agents)
	for i := range list {
		list[i] = map[string]any{"id": taskAgent(i), "default": i == 0}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	h, err := b.newHome(fmt.Sprintf(drivenConfig, text, models))
	if err != nil {
		return nil, err
	}
	team, findings := config.Load(filepath.Join(string(h), "openclaw.json"), func(string) string { return "" })
	return team, findings.Err()
}
