package bench

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
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

// measureUpdates compares updates of tasks with plain appends of as many clients. Of all parts it takes the one with the median ratio: the two
// rates of a part are of about the same time, whatever else the machine does.
func (b *bench) measureUpdates(ctx context.Context) (Result, error) {
	var parts []updatePart
	var size float64
	for round := range b.Rounds {
		more, bytes, err := b.updatesOf(ctx, round)
		if err != nil {
			return Result{}, err
		}
		parts, size = append(parts, more...), bytes
		b.logf("tasks round %d: %.0f", round+1, more)
	}
	slices.SortFunc(parts, func(x, y updatePart) int { return cmp.Compare(x.updated/x.plain, y.updated/y.plain) })
	mid := parts[len(parts)/2]
	return atLeast("tasks.update", mid.updated, "events/s", mid.plain, 0.35, fmt.Sprintf("synchronous=FULL, all projections inline, %d agents "+
		"with a task of %d steps each, task_update with one step action, each call under an id of its own, %.0f-byte events; baseline: plain appends "+
		"of as many clients, %d-byte events; %d calls of each client by turns, the median of %d ratios", clients, taskSteps, size, dataBytes,
		b.tasksSizes().each, len(parts))), nil
}

// updatePart is how many events there were per second, of either kind.
type updatePart struct{ updated, plain float64 }

// updatesOf is one round, and how many bytes an update says.
func (b *bench) updatesOf(ctx context.Context, round int) (parts []updatePart, size float64, err error) {
	o, err := b.openOffice(ctx, fmt.Sprintf("tasks-%d.db", round), teamOf(clients))
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, o.log.Close()) }()
	log, _, err := openLog(ctx, filepath.Join(b.Dir, fmt.Sprintf("tasks-plain-%d.db", round)))
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if err := o.begin(ctx); err != nil {
		return nil, 0, err
	}
	each := b.tasksSizes().each
	for i := range taskParts {
		updated, err := o.update(ctx, each)
		if err != nil {
			return nil, 0, err
		}
		plain, _, err := drive(clients, each, uint64(round*taskParts+i), func(a eventstore.StreamAppend) error {
			_, err := log.Append(ctx, a)
			return err
		})
		if err != nil {
			return nil, 0, err
		}
		parts = append(parts, updatePart{updated, plain})
	}
	size, err = o.eventSize(ctx)
	return parts, size, err
}

// measureLists compares lists of all open tasks in a log that has nothing else with those in one that has many finished tasks beside them.
func (b *bench) measureLists(ctx context.Context) (_ Result, err error) {
	n := b.tasksSizes()
	alone, err := b.openOffice(ctx, "tasks-alone.db", teamOf(clients))
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, alone.log.Close()) }()
	beside, err := b.openOffice(ctx, "tasks-beside.db", teamOf(clients))
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, beside.log.Close()) }()
	if err := errors.Join(alone.fill(ctx, 0), beside.fill(ctx, n.finished)); err != nil {
		return Result{}, err
	}
	var without, with []float64
	for range n.lists {
		one, err := seconds(func() error { return alone.list(ctx) })
		if err != nil {
			return Result{}, err
		}
		other, err := seconds(func() error { return beside.list(ctx) })
		if err != nil {
			return Result{}, err
		}
		without, with = append(without, one*1000), append(with, other*1000)
	}
	return atMost("tasks.list", median(with), "ms", median(without), 2, fmt.Sprintf("task_list, scope all, %d open tasks of %d agents and %d finished "+
		"ones; baseline: without these; by turns, median of %d", openTasks, listAgents, n.finished, n.lists)), nil
}

// office is a log with the tools for tasks, and agents that use them.
type office struct {
	log    *sqlite.DB
	team   *config.Config
	desk   *task.Desk
	tools  *tools.Registry
	logger *slog.Logger
	begun  atomic.Int64 // tasks, by the tools
	calls  atomic.Int64
	turn   int // how often each agent has updated its task
}

// teamOf is the configuration of so many agents.
func teamOf(agents int) *config.Config {
	c := config.Default()
	for i := range agents {
		c.Agents = append(c.Agents, config.Agent{ID: taskAgent(i), Default: i == 0})
	}
	return c
}

func (b *bench) openOffice(ctx context.Context, name string, team *config.Config) (*office, error) {
	log, _, err := openLog(ctx, filepath.Join(b.Dir, name))
	if err != nil {
		return nil, err
	}
	o := &office{log: log, team: team, logger: slog.New(slog.NewTextHandler(b.Log, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	o.desk = task.New(task.Options{
		Log: log, Now: time.Now, NewID: uuid.NewString,
		NewTaskID: func() string { return taskID(o.begun.Add(1)) },
	})
	o.tools, err = tools.New(tools.Options{Config: o.inForce, Logger: o.logger, Guard: o.desk.Guard, Tools: o.desk.Tools()})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return o, nil
}

func (o *office) inForce() *config.Config { return o.team }

func taskAgent(i int) string { return fmt.Sprintf("agent-%d", i) }
func taskID(n int64) string  { return fmt.Sprintf("task_%020x", n) }

// call has an agent call a tool, and reads its answer.
func (o *office) call(ctx context.Context, agent int, name string, args, answer any) error {
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

// begin has each agent start a task.
func (o *office) begin(ctx context.Context) error {
	steps := make([]map[string]any, taskSteps)
	for i := range steps {
		steps[i] = map[string]any{"content": fmt.Sprintf("Part %d: see what becomes of the session store when two agents write at once, mend it, and say "+
			"in the guide what changes.", i+1)}
	}
	for agent := range o.team.Agents {
		var answer struct{ StepsCount int }
		if err := o.call(ctx, agent, "task_start", map[string]any{"description": "A task of ten steps", "steps": steps}, &answer); err != nil {
			return err
		}
		if answer.StepsCount != taskSteps {
			return fmt.Errorf("task_start says %+v of a task with %d steps", answer, taskSteps)
		}
	}
	return nil
}

// update has all agents at once turn to one step after the other, and returns how many updates that were per second.
func (o *office) update(ctx context.Context, each int) (float64, error) {
	errs := make([]error, len(o.team.Agents))
	var wg sync.WaitGroup
	start := time.Now()
	for agent := range errs {
		wg.Go(func() {
			for i := o.turn; i < o.turn+each && errs[agent] == nil; i++ {
				var answer struct{ ProgressCount int }
				errs[agent] = o.call(ctx, agent, "task_update", map[string]any{"action": "start_step", "step_id": fmt.Sprintf("s%d", 1+i%taskSteps)}, &answer)
				if errs[agent] == nil && answer.ProgressCount != i+2 {
					errs[agent] = fmt.Errorf("a task has %d lines of progress after %d updates", answer.ProgressCount, i+1)
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	o.turn += each
	return float64(len(errs)*each) / took.Seconds(), errors.Join(errs...)
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
	now := time.Now().UnixMilli()
	return o.between(ctx, finished, now, func(n int) (eventstore.StreamAppend, error) {
		t := taskOf(taskAgent(n%listAgents), n, now+int64(n))
		return t.happens(t.started())
	})
}

// between stores so many finished tasks, of the same agents by turns, and between them those that are open: the nth is as open says.
func (o *office) between(ctx context.Context, finished int, now int64, open func(n int) (eventstore.StreamAppend, error)) error {
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

// taskOf is the nth task of a log.
func taskOf(agent string, n int, at int64) *storedTask {
	in := coordination.Context{TaskID: taskID(int64(n)), WorkSessionID: fmt.Sprintf("ws_%d", n/5), EventRole: coordination.RoleOrchestration}
	return &storedTask{n, in, agent, at}
}

// said is what an event says.
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

// happens is the events of the task, in order.
func (t *storedTask) happens(list ...said) (eventstore.StreamAppend, error) {
	a := eventstore.StreamAppend{Stream: coordination.TaskStream(t.in.TaskID)}
	for _, s := range list {
		data, err := json.Marshal(s.data)
		if err != nil {
			return a, err
		}
		a.Events = append(a.Events, eventstore.NewEvent{Type: s.typ, AgentID: t.agent, TS: t.at, Data: data, Actor: eventstore.ActorAgent})
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
