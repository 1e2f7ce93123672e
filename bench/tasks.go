package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/tasktools"
)

// Fixed sizes of the tasks benchmark.
const (
	taskSteps  = 10
	taskParts  = 4   // per round; in each, updates and plain appends are measured, one right after the other
	openTasks  = 200 // shown in a list
	listAgents = 10  // of these tasks
)

// runTasks measures what agents do with their tasks, through the task tools.
func runTasks(ctx context.Context, b *bench) error {
	if err := b.measureUpdates(ctx); err != nil {
		return err
	}
	return b.measureLists(ctx)
}

// measureUpdates compares task updates with as many bytes of as many clients in a bare table.
func (b *bench) measureUpdates(ctx context.Context) error {
	each, size := b.of(20, 100), 0
	return b.rounds(ctx, func(ctx context.Context, round int, v values) error {
		return b.withTasks(ctx, teamOf(clients), func(o *taskBench) error {
			return b.withTable(func(t *table) (err error) {
				if size, err = o.begin(ctx); err != nil {
					return err
				}
				for range taskParts {
					if err := o.besideBare(ctx, t, each, size, "updated", o.update, v); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}, func(v values) []figure {
		updated, bare := v.pair("updated", "bare")
		return []figure{atLeast("tasks.update", updated, "events/s", bare, 0.07, fmt.Sprintf("synchronous=FULL, all projections inline, %d agents "+
			"with a task of %d steps each, task_update with one step action, each call under an id of its own; baseline: group commit of as many events "+
			"of %d bytes of as many clients into the bare table; %d calls of each client by turns, the median of %d ratios", clients, taskSteps, size,
			each, len(v["bare"])))}
	})
}

// besideBare adds the rate of updates, and that of as many events of the same size in a bare table.
func (o *taskBench) besideBare(ctx context.Context, t *table, each, size int, name string, update func(context.Context, int) (float64, error), v values) error {
	updated, err := update(ctx, each)
	if err != nil {
		return err
	}
	grouped, stop := t.grouped()
	defer stop()
	bare, _, err := drive(len(o.team.Agents), each, uint64(len(v["bare"])), ofSize(size, grouped))
	v.add(name, updated)
	v.add("bare", bare)
	return err
}

// measureLists compares lists of all open tasks in a log that has nothing else with those in one that has many
// finished tasks as well.
func (b *bench) measureLists(ctx context.Context) error {
	finished, lists := b.of(2_000, 100_000), b.of(40, 300)
	v := values{}
	err := b.withTasks(ctx, teamOf(clients), func(alone *taskBench) error {
		return b.withTasks(ctx, teamOf(clients), func(beside *taskBench) error {
			if err := errors.Join(alone.fill(ctx, 0), beside.fill(ctx, finished)); err != nil {
				return err
			}
			return v.byTurns(lists, "without", func() error { return alone.list(ctx) }, "with", func() error { return beside.list(ctx) })
		})
	})
	if err != nil {
		return err
	}
	return b.report(atMost("tasks.list", v.mid("with"), "ms", v.mid("without"), 2, fmt.Sprintf("task_list, scope all, %d open tasks of %d agents and %d "+
		"finished ones; baseline: without these; by turns, median of %d", openTasks, listAgents, finished, lists)))
}

// taskBench is a log with the task tools, and agents that use them.
type taskBench struct {
	log     *sqlite.DB
	team    *config.Config
	tasks   *tasktools.Service
	tools   *tools.Registry
	logger  *slog.Logger
	taskIDs atomic.Int64 // task ids given so far
	calls   atomic.Int64
	turn    int // updates of each agent's task
}

func teamOf(agents int) *config.Config {
	c := config.Default()
	for i := range agents {
		c.Agents = append(c.Agents, config.Agent{ID: taskAgent(i), Default: i == 0})
	}
	return c
}

// withTasks calls do with the tools of a team, on a log of their own.
func (b *bench) withTasks(ctx context.Context, team *config.Config, do func(*taskBench) error) error {
	return b.withLog(ctx, func(log *sqlite.DB) error {
		o, err := b.tasksOn(log, team)
		if err != nil {
			return err
		}
		return do(o)
	})
}

func (b *bench) tasksOn(log *sqlite.DB, team *config.Config) (o *taskBench, err error) {
	o = &taskBench{log: log, team: team, logger: slog.New(slog.NewTextHandler(b.Log, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	o.tasks = tasktools.New(tasktools.Options{
		Log: log, Now: time.Now, NewID: uuid.NewString,
		NewTaskID: func() string { return taskID(o.taskIDs.Add(1)) },
	})
	o.tools, err = tools.New(tools.Options{Config: o.inForce, Logger: o.logger, Guard: o.tasks.Guard, Tools: o.tasks.Tools()})
	return o, err
}

func (o *taskBench) inForce() *config.Config { return o.team }

func taskAgent(i int) string { return fmt.Sprintf("agent-%d", i) }
func taskID(n int64) string  { return fmt.Sprintf("task_%020x", n) }

// call lets an agent call a tool, and decodes the answer.
func (o *taskBench) call(ctx context.Context, agent int, name string, args, answer any) error {
	text, err := json.Marshal(args)
	if err != nil {
		return err
	}
	out, err := o.tools.Call(ctx, tool.Caller{Entry: tool.ByWire, AgentID: taskAgent(agent), SessionKey: coordination.MainKey(taskAgent(agent)).String(),
		CallID: fmt.Sprintf("call_%d", o.calls.Add(1))}, name, text)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case out.IsError:
		return fmt.Errorf("%s answers %s", name, out.Text)
	}
	return json.Unmarshal(out.Details, answer)
}

// begin starts a task for each agent and updates it once; it returns the bytes of an update's event.
func (o *taskBench) begin(ctx context.Context) (size int, err error) {
	steps := make([]map[string]any, taskSteps)
	for i := range steps {
		steps[i] = map[string]any{"content": fmt.Sprintf("Part %d: see what becomes of the session store when two agents write at once, fix it, and say "+
			"in the guide what changes.", i+1)}
	}
	for agent := range o.team.Agents {
		var answer struct{ StepsCount int }
		if err := o.call(ctx, agent, "task_start", map[string]any{"description": "A task of ten steps", "steps": steps}, &answer); err != nil {
			return 0, err
		}
		if answer.StepsCount != taskSteps {
			return 0, fmt.Errorf("task_start returns %+v for a task with %d steps", answer, taskSteps)
		}
	}
	if _, err := o.update(ctx, 1); err != nil {
		return 0, err
	}
	err = o.log.View(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT CAST(avg(octet_length(data)) AS INTEGER) FROM events WHERE type = ?", coordination.TypeTaskUpdated).Scan(&size)
	})
	return size, err
}

// update lets all agents at once move through their steps, and returns the updates per second.
func (o *taskBench) update(ctx context.Context, each int) (float64, error) {
	took, err := seconds(func() error {
		return together(len(o.team.Agents), func(agent int) error {
			for i := o.turn; i < o.turn+each; i++ {
				var answer struct{ ProgressCount int }
				err := o.call(ctx, agent, "task_update", map[string]any{"action": "start_step", "step_id": fmt.Sprintf("s%d", 1+i%taskSteps)}, &answer)
				if err == nil && answer.ProgressCount != i+2 {
					err = fmt.Errorf("a task has %d lines of progress after %d updates", answer.ProgressCount, i+1)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
	o.turn += each
	return float64(len(o.team.Agents)*each) / took, err
}

// fill stores so many finished tasks, and between them those that a list shows. They are stored without the tools,
// which would take long.
func (o *taskBench) fill(ctx context.Context, finished int) error {
	now := time.Now().UnixMilli()
	return o.between(ctx, finished, now, func(n int) (eventstore.StreamAppend, error) {
		t := taskOf(taskAgent(n%listAgents), n, now+int64(n))
		return t.happens(t.started())
	})
}

// between stores so many finished tasks, of the same agents in turn, and between them the open ones: open returns the
// nth.
func (o *taskBench) between(ctx context.Context, finished int, now int64, open func(n int) (eventstore.StreamAppend, error)) error {
	const together = 100 // tasks
	var appends []eventstore.StreamAppend
	put := func(a eventstore.StreamAppend, err error) error {
		if err != nil {
			return err
		}
		appends = append(appends, a)
		if len(appends) < together {
			return nil
		}
		_, err = o.log.Append(ctx, appends...)
		appends = appends[:0]
		return err
	}
	whose := min(listAgents, len(o.team.Agents))
	for n := range openTasks {
		for i := finished * n / openTasks; i < finished*(n+1)/openTasks; i++ {
			t := taskOf(taskAgent(i%whose), openTasks+i, now+int64(openTasks+i))
			if err := put(t.happens(t.started(), t.completed())); err != nil {
				return err
			}
		}
		if err := put(open(n)); err != nil {
			return err
		}
	}
	if len(appends) == 0 {
		return nil
	}
	_, err := o.log.Append(ctx, appends...)
	return err
}

// storedTask is a task that is stored without the tools.
type storedTask struct {
	n     int
	in    coordination.Context
	agent string
	at    int64 // ms since 1970
}

func taskOf(agent string, n int, at int64) *storedTask {
	in := coordination.Context{TaskID: taskID(int64(n)), WorkSessionID: fmt.Sprintf("ws_%d", n/5), EventRole: coordination.RoleOrchestration}
	return &storedTask{n, in, agent, at}
}

type said struct {
	typ  string
	data any
}

func (t *storedTask) started() said {
	return said{coordination.TypeTaskStarted, coordination.TaskStarted{Context: t.in, Priority: "medium", Description: fmt.Sprintf("Task %d of a team", t.n),
		Progress: "Task started", Steps: []coordination.TaskStep{{ID: "s1", Content: "The first step", Status: "in_progress", Order: 1}}}}
}

func (t *storedTask) completed() said {
	return said{coordination.TypeTaskCompleted, coordination.TaskState{Context: t.in, Progress: "Task completed"}}
}

func (t *storedTask) happens(list ...said) (eventstore.StreamAppend, error) {
	a := eventstore.StreamAppend{Stream: coordination.TaskStream(t.in.TaskID)}
	for _, s := range list {
		if err := a.Add(eventstore.NewEvent{Type: s.typ, AgentID: t.agent, Actor: eventstore.ActorAgent}, s.data, t.at); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (o *taskBench) list(ctx context.Context) error {
	var answer struct{ Count int }
	err := o.call(ctx, 0, "task_list", map[string]any{"scope": "all", "limit": openTasks}, &answer)
	if err == nil && answer.Count != openTasks {
		err = fmt.Errorf("%d tasks are listed of %d open ones", answer.Count, openTasks)
	}
	return err
}
