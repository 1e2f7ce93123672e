package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Fixed sizes of the continuation benchmark.
const (
	keptClients = 16
	keptParts   = 4 // per round; in each, appends are measured with and without the service, one right after the other
)

// keptSizes are the amounts of one round.
type keptSizes struct {
	finished int // tasks beside the open ones
	looks    int
	each     int // updates of each client in each part
	driven   int // multiple of continuation.MaxDriven agents, each of which continues once
}

// keptSizes are small unless the big log is large: a small run only shows that the benchmark works.
func (b *bench) keptSizes() keptSizes {
	const whole = 100_000 // events
	if b.Events < whole {
		return keptSizes{finished: 2_000, looks: 40, each: 40, driven: 3}
	}
	return keptSizes{finished: 100_000, looks: 300, each: 150, driven: 30}
}

// runContinuation measures continuation: the cost of a check of an agent, its cost for writers, and how soon an agent
// continues.
func runContinuation(ctx context.Context, b *bench) ([]figure, error) {
	look, err := b.measureLooks(ctx)
	if err != nil {
		return nil, err
	}
	appends, err := b.measureBeside(ctx)
	if err != nil {
		return nil, err
	}
	driven, err := b.measureDriven(ctx)
	if err != nil {
		return nil, err
	}
	return append([]figure{look, appends}, driven...), nil
}

// measureLooks compares checks of an agent whose log has only open tasks with those where it has many finished tasks
// as well.
func (b *bench) measureLooks(ctx context.Context) (_ figure, err error) {
	n, now := b.keptSizes(), time.Now()
	alone, err := b.openIdleCrew(ctx, "continuation-alone.db", 0, now)
	if err != nil {
		return figure{}, err
	}
	defer func() { err = errors.Join(err, alone.close()) }()
	beside, err := b.openIdleCrew(ctx, "continuation-beside.db", n.finished, now)
	if err != nil {
		return figure{}, err
	}
	defer func() { err = errors.Join(err, beside.close()) }()
	var without, with []float64
	for range n.looks {
		one, err := seconds(func() error { return alone.look(ctx) })
		if err != nil {
			return figure{}, err
		}
		other, err := seconds(func() error { return beside.look(ctx) })
		if err != nil {
			return figure{}, err
		}
		without, with = append(without, one*1000), append(with, other*1000)
	}
	return atMost("continuation.look", median(with), "ms", median(without), 2, fmt.Sprintf("an agent with %d open tasks, half of them in its backlog, "+
		"a quarter blocked, a quarter waiting for approval, and %d finished ones, with nothing to do; baseline: without these; "+
		"by turns, median of %d", openTasks, n.finished, n.looks)), nil
}

// openIdleCrew opens a crew of one agent with open tasks, and so many finished ones, for which there is nothing to
// do at now. Its clock stands still there.
func (b *bench) openIdleCrew(ctx context.Context, name string, finished int, now time.Time) (*crew, error) {
	c, err := b.openCrew(ctx, name, teamOf(1), func() time.Time { return now })
	if err != nil {
		return nil, err
	}
	err = c.between(ctx, finished, now.UnixMilli()-int64(openTasks+finished), func(n int) (eventstore.StreamAppend, error) {
		return waitingTask(n, now.UnixMilli())
	})
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
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

// measureBeside compares task updates beside the continuation service with those without. Of all parts it takes the
// one with the median ratio, as measureUpdates does.
func (b *bench) measureBeside(ctx context.Context) (figure, error) {
	var parts []updatePart
	n := b.keptSizes()
	for round := range b.Rounds {
		more, err := b.besideOf(ctx, round)
		if err != nil {
			return figure{}, err
		}
		parts = append(parts, more...)
		b.logf("continuation round %d: %.0f", round+1, more)
	}
	slices.SortFunc(parts, func(x, y updatePart) int { return cmp.Compare(x.updated/x.plain, y.updated/y.plain) })
	mid := parts[len(parts)/2]
	return atLeast("continuation.appends", mid.updated, "events/s", mid.plain, 0.8, fmt.Sprintf("synchronous=FULL, all projections inline, %d agents "+
		"with a task of %d steps each, task_update with one step action, a continuer that looks after every agent whose task has changed; baseline: "+
		"without it; %d calls of each client by turns, the median of %d ratios", keptClients, taskSteps, n.each, len(parts))), nil
}

// besideOf is one round; plain is without the service. The order of the two alternates.
func (b *bench) besideOf(ctx context.Context, round int) (parts []updatePart, err error) {
	c, err := b.openCrew(ctx, fmt.Sprintf("continuation-appends-%d.db", round), teamOf(keptClients), time.Now)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	each := b.keptSizes().each
	if _, err := c.update(ctx, each/4); err != nil { // warms up
		return nil, err
	}
	for i := range keptParts {
		var part updatePart
		for _, beside := range []bool{i%2 == 0, i%2 != 0} {
			if !beside {
				part.plain, err = c.update(ctx, each)
			} else {
				part.updated, err = c.updateBeside(ctx, each)
			}
			if err != nil {
				return nil, err
			}
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// drivenConfig is openclaw.json of agents that use a model.
const drivenConfig = `{ "agents": { "defaults": { "model": { "primary": "bench/words" } }, "list": %s },
  "models": { "providers": { "bench": { "baseUrl": %q, "apiKey": "none", "models": [ { "id": "words" } ] } } } }
`

// measureDriven measures how soon after the end of a run an agent that has steps left is prompted to continue.
func (b *bench) measureDriven(ctx context.Context) ([]figure, error) {
	var p50, p99 []float64
	n := b.keptSizes()
	for round := range b.Rounds {
		gaps, err := b.drivenOf(ctx, round, n.driven*continuation.MaxDriven)
		if err != nil {
			return nil, err
		}
		p50, p99 = append(p50, median(gaps)), append(p99, quantile(gaps, 0.99))
		b.logf("continuation round %d: p50 %.2f ms, p99 %.2f ms of %d", round+1, p50[round], p99[round], len(gaps))
	}
	note := fmt.Sprintf("synchronous=FULL, from the decision that a run has ended until the next prompt is on disk, both commits included; %d agents, "+
		"one at a time, a model that answers at once; median of %d rounds", n.driven*continuation.MaxDriven, b.Rounds)
	return []figure{
		within("continuation.driven.p50", median(p50), "ms", 10, note),
		within("continuation.driven.p99", median(p99), "ms", 50, "the same, the slowest of a hundred; "+note),
	}, nil
}

// drivenOf lets agents continue by themselves, one after the other, and returns how long each of their prompts took,
// in ms.
func (b *bench) drivenOf(ctx context.Context, round, agents int) (gaps []float64, err error) {
	model, err := startModel()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, model.stop()) }()
	team, err := b.drivenTeam(round, agents, model.url)
	if err != nil {
		return nil, err
	}
	c, err := b.openCrew(ctx, fmt.Sprintf("continuation-driven-%d.db", round), team, time.Now)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	err = c.beside(ctx, func(ctx context.Context) error {
		for agent := range agents {
			if err := c.drive(ctx, agent, 1); err != nil { // the next one waits, because that made no progress
				return err
			}
		}
		return nil
	}, c.worker.Run, c.continuer.Run)
	return c.watch.all(), err
}

func (b *bench) drivenTeam(round, agents int, models string) (*config.Config, error) {
	list := make([]map[string]any, agents)
	for i := range list {
		list[i] = map[string]any{"id": taskAgent(i), "default": i == 0}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(b.Dir, fmt.Sprintf("continuation-%d.json", round))
	if err := os.WriteFile(path, fmt.Appendf(nil, drivenConfig, text, models), 0o600); err != nil {
		return nil, err
	}
	team, findings := config.Load(path, func(string) string { return "" })
	return team, findings.Err()
}
