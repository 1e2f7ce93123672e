package bench

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/task"
)

// What does not change with the size of the benchmark of tasks.
const (
	taskSteps  = 10
	taskParts  = 4   // of a round, in each of which updates and plain appends are measured, one right after the other
	openTasks  = 200 // that a list shows
	listAgents = 10  // whose they are
)

// tasksSizes are how much one round takes.
type tasksSizes struct {
	each     int // updates of each client in each part
	finished int // tasks beside those that a list shows
	lists    int
}

// tasksSizes are small where the big log is: such a run only shows that the benchmark works.
func (b *bench) tasksSizes() tasksSizes {
	const whole = 100_000 // events
	if b.Events < whole {
		return tasksSizes{each: 20, finished: 2_000, lists: 40}
	}
	return tasksSizes{each: 100, finished: 100_000, lists: 300}
}

// runTasks measures what agents do with their tasks, by the tools that they have for it.
func runTasks(ctx context.Context, b *bench) ([]Result, error) {
	updates, err := b.measureUpdates(ctx)
	if err != nil {
		return nil, err
	}
	list, err := b.measureLists(ctx)
	if err != nil {
		return nil, err
	}
	return []Result{updates, list}, nil
}

// measureUpdates compares updates of tasks with plain appends of as many clients.
func (b *bench) measureUpdates(ctx context.Context) (Result, error) {
	n := b.tasksSizes()
	var updated, plain []float64
	var size float64
	for round := range b.Rounds {
		o, err := b.openOffice(ctx, fmt.Sprintf("tasks-%d.db", round))
		if err != nil {
			return Result{}, err
		}
		log, _, err := openLog(ctx, filepath.Join(b.Dir, fmt.Sprintf("tasks-plain-%d.db", round)))
		if err != nil {
			return Result{}, errors.Join(err, o.log.Close())
		}
		err = o.begin(ctx)
		for part := 0; part < taskParts && err == nil; part++ {
			var ours, theirs float64
			if ours, err = o.update(ctx, n.each); err != nil {
				break
			}
			theirs, _, err = drive(clients, n.each, uint64(round*taskParts+part), func(a eventstore.StreamAppend) error {
				_, err := log.Append(ctx, a)
				return err
			})
			updated, plain = append(updated, ours), append(plain, theirs)
		}
		if err == nil {
			size, err = o.eventSize(ctx)
		}
		if err := errors.Join(err, o.log.Close(), log.Close()); err != nil {
			return Result{}, err
		}
		b.logf("tasks round %d: %.0f updates/s, %.0f plain appends/s", round+1, median(updated[round*taskParts:]), median(plain[round*taskParts:]))
	}
	return atLeast("tasks.update", median(updated), "events/s", median(plain), 0.35, fmt.Sprintf("synchronous=FULL, all projections inline, %d agents "+
		"with a task of %d steps each, task_update with one step action, each call under an id of its own, %.0f-byte events; baseline: plain appends "+
		"of as many clients, %d-byte events; by turns, %d calls of each at a time, median of %d", clients, taskSteps, size, dataBytes, n.each,
		len(updated))), nil
}

// measureLists compares lists of all open tasks in a log that has nothing else with those in one that has many finished tasks beside them.
func (b *bench) measureLists(ctx context.Context) (_ Result, err error) {
	n := b.tasksSizes()
	alone, err := b.openOffice(ctx, "tasks-alone.db")
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, alone.log.Close()) }()
	beside, err := b.openOffice(ctx, "tasks-beside.db")
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, beside.log.Close()) }()
	if err := errors.Join(alone.fill(ctx, 0), beside.fill(ctx, n.finished)); err != nil {
		return Result{}, err
	}
	var without, with []float64
	for range n.lists {
		for o, times := range map[*office]*[]float64{alone: &without, beside: &with} {
			took, err := seconds(func() error { return o.list(ctx) })
			if err != nil {
				return Result{}, err
			}
			*times = append(*times, took*1000)
		}
	}
	return atMost("tasks.list", median(with), "ms", median(without), 2, fmt.Sprintf("task_list, scope all, %d open tasks of %d agents and %d finished "+
		"ones; baseline: without these; by turns, median of %d", openTasks, listAgents, n.finished, n.lists)), nil
}

// office is a log with the tools for tasks.
type office struct {
	log   *sqlite.DB
	tools *tools.Registry
	calls atomic.Int64
	tasks []string // of the agents that update theirs
	turn  int      // how often they have
}

func (b *bench) openOffice(ctx context.Context, name string) (*office, error) {
	log, _, err := openLog(ctx, filepath.Join(b.Dir, name))
	if err != nil {
		return nil, err
	}
	inForce := config.Default()
	for i := range clients {
		inForce.Agents = append(inForce.Agents, config.Agent{ID: taskAgent(i), Default: i == 0})
	}
	desk := task.New(task.Options{
		Log: log, Config: func() *config.Config { return inForce }, Now: time.Now, NewID: uuid.NewString,
		NewTaskID: func() string { return "task_" + uuid.NewString()[:8] },
	})
	o := &office{log: log}
	o.tools, err = tools.New(tools.Options{Config: func() *config.Config { return inForce }, Logger: slog.New(slog.NewTextHandler(b.Log, nil)),
		Guard: desk.Guard, Tools: desk.Tools()})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return o, nil
}

func taskAgent(i int) string { return fmt.Sprintf("agent-%d", i) }

// call has an agent call a tool, and reads its answer.
func (o *office) call(ctx context.Context, agent int, name string, args, answer any) error {
	text, err := json.Marshal(args)
	if err != nil {
		return err
	}
	out, err := o.tools.Call(ctx, tool.Caller{Entry: tool.ByRun, AgentID: taskAgent(agent), SessionKey: coordination.MainKey(taskAgent(agent)).String(),
		CallID: fmt.Sprintf("call_%d", o.calls.Add(1))}, name, text)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case out.IsError:
		return fmt.Errorf("%s answers %s", name, out.Text)
	}
	return json.Unmarshal(out.Details, answer)
}

// begin has each agent start a task.
func (o *office) begin(ctx context.Context) error {
	steps := make([]map[string]any, taskSteps)
	for i := range steps {
		steps[i] = map[string]any{"content": fmt.Sprintf("Part %d: see what becomes of the session store when two agents write at once, mend it, and say "+
			"in the guide what changes.", i+1)}
	}
	for agent := range clients {
		var answer struct{ TaskID string }
		if err := o.call(ctx, agent, "task_start", map[string]any{"description": "A task of ten steps", "steps": steps}, &answer); err != nil {
			return err
		}
		o.tasks = append(o.tasks, answer.TaskID)
	}
	return nil
}

// update has all agents at once turn to one step after the other, and returns how many updates that were per second.
func (o *office) update(ctx context.Context, each int) (float64, error) {
	errs := make([]error, clients)
	var wg sync.WaitGroup
	start := time.Now()
	for agent := range clients {
		wg.Go(func() {
			for i := o.turn; i < o.turn+each && errs[agent] == nil; i++ {
				var answer struct{ ProgressCount int }
				errs[agent] = o.call(ctx, agent, "task_update", map[string]any{"action": "start_step", "step_id": fmt.Sprintf("s%d", 1+i%taskSteps)}, &answer)
				if errs[agent] == nil && answer.ProgressCount != i+2 {
					errs[agent] = fmt.Errorf("%s has %d lines of progress after %d updates", o.tasks[agent], answer.ProgressCount, i+1)
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	o.turn += each
	return float64(clients*each) / took.Seconds(), errors.Join(errs...)
}

// eventSize is how many bytes an update says.
func (o *office) eventSize(ctx context.Context) (size float64, err error) {
	err = o.log.View(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT avg(octet_length(data)) FROM events WHERE type = ?", coordination.TypeTaskUpdated).Scan(&size)
	})
	return size, err
}

// fill stores so many finished tasks, and between them those that a list shows. They are stored without the tools, as these would take long.
func (o *office) fill(ctx context.Context, finished int) error {
	const together = 100 // tasks
	now := time.Now().UnixMilli()
	var appends []eventstore.StreamAppend
	put := func(n int, over bool) error {
		a, err := storedTask(n, now, over)
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
	for open := range openTasks {
		for n := finished * open / openTasks; n < finished*(open+1)/openTasks; n++ {
			if err := put(openTasks+n, true); err != nil {
				return err
			}
		}
		if err := put(open, false); err != nil {
			return err
		}
	}
	if len(appends) == 0 {
		return nil
	}
	_, err := o.log.Append(ctx, appends...)
	return err
}

// storedTask is the events of the nth task, which is over or not.
func storedTask(n int, now int64, over bool) (eventstore.StreamAppend, error) {
	agent := taskAgent(n % listAgents)
	in := coordination.Context{TaskID: fmt.Sprintf("task_%020x", n), WorkSessionID: fmt.Sprintf("ws_%d", n/5), EventRole: coordination.RoleOrchestration}
	list := []any{coordination.TaskStarted{Context: in, Priority: "medium", Description: fmt.Sprintf("Task %d of a team", n), Progress: "Task started",
		Steps: []coordination.TaskStep{{ID: "s1", Content: "The first step", Status: "in_progress", Order: 1}}}}
	types := []string{coordination.TypeTaskStarted}
	if over {
		list, types = append(list, coordination.TaskState{Context: in, Progress: "Task completed"}), append(types, coordination.TypeTaskCompleted)
	}
	a := eventstore.StreamAppend{Stream: coordination.TaskStream(in.TaskID)}
	for i, said := range list {
		data, err := json.Marshal(said)
		if err != nil {
			return a, err
		}
		a.Events = append(a.Events, eventstore.NewEvent{Type: types[i], AgentID: agent, TS: now + int64(n), Data: data, Actor: eventstore.ActorAgent})
	}
	return a, nil
}

// list has an agent list the tasks of all.
func (o *office) list(ctx context.Context) error {
	var answer struct{ Count int }
	err := o.call(ctx, 0, "task_list", map[string]any{"scope": "all", "limit": openTasks}, &answer)
	if err == nil && answer.Count != openTasks {
		err = fmt.Errorf("%d tasks are listed of %d that are open", answer.Count, openTasks)
	}
	return err
}
