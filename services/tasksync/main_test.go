package tasksync_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/services/tasksync"
	"github.com/pronto-lab/openclawd/workspace"
)

func TestMain(m *testing.M) { storetest.CrashMain(m, keeping) }

// start is the moment of the first event of these tests, ms since 1970: 2026-02-20T12:00:00Z.
const start = 1_771_588_800_000

var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) { return openLog(context.Background(), path, true) },
	tasks.Definition()))

func openLog(ctx context.Context, path string, relaxed bool) (*sqlite.DB, error) {
	o := sqlite.Options{Path: path}
	if relaxed {
		o.Durability = sqlite.DurabilityRelaxed
	}
	return sqlite.Open(ctx, o)
}

// team is a log of tasks, with the workspaces of its agents.
type team struct {
	*sqlite.DB
	dir string // of the workspaces
	now int64  // ms since 1970; each decision takes a second

	later atomic.Int64 // ms that have gone by for the Syncers
}

// openTeam opens a log whose file is there.
func openTeam(ctx context.Context, path, dir string, relaxed bool) (*team, error) {
	db, err := openLog(ctx, path, relaxed)
	if err != nil {
		return nil, err
	}
	defs := []projections.Definition{tasks.Definition()}
	if _, err := projections.Start(ctx, db, defs, projections.Options{Rules: coordination.RulesV2}); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &team{DB: db, dir: dir, now: start}, nil
}

// setup makes a log for the workspaces in a directory.
func setup(t testing.TB, dir string) *team {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.db")
	empty, err := emptyLog()
	if err == nil {
		err = os.WriteFile(path, empty, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	x, err := openTeam(t.Context(), path, dir, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func (x *team) syncer(pause time.Duration) *tasksync.Syncer { return x.syncerOf(x, pause) }

// syncerOf makes a service that reads and writes the log through another one.
func (x *team) syncerOf(log tasksync.Log, pause time.Duration) *tasksync.Syncer {
	return tasksync.New(tasksync.Options{Log: log, Pause: pause, Logger: slog.New(slog.DiscardHandler),
		Agents: func() []string {
			agents, err := workspace.New(x.dir, workspace.Options{}).Agents()
			if err != nil {
				panic(err) // the directory is the test's own
			}
			return agents
		},
		Dir: func(agent string) string { return filepath.Join(x.dir, "workspace-"+agent) },
		Now: func() time.Time { return time.UnixMilli(start + x.later.Load()) }})
}

// running runs a service until stop is called.
func (x *team) running(t *testing.T, k *tasksync.Syncer) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// settled waits until everything is in the files.
func (x *team) settled(t *testing.T, k *tasksync.Syncer) {
	t.Helper()
	if err := x.settle(t.Context(), k); err != nil {
		t.Fatal(err)
	}
}

func (x *team) settle(ctx context.Context, k *tasksync.Syncer) error {
	head, err := x.Head(ctx)
	if err != nil {
		return err
	}
	return k.Settled(ctx, head.Seq)
}

// decide has something decided of a task, and appends it.
func (x *team) decide(ctx context.Context, id string, what func(t *task.Task, asked task.Asked) ([]task.Event, error)) error {
	x.now += 1_000
	now := x.now
	_, err := x.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		t, found, err := tasks.Load(tx, id)
		if err != nil {
			return nil, err
		}
		asked := task.Asked{Now: now}
		if found {
			asked.By = t.Agent
		}
		events, err := what(t, asked)
		if err != nil {
			return nil, err
		}
		a := eventstore.StreamAppend{Stream: coordination.TaskStream(id)}
		for _, e := range events {
			data, err := json.Marshal(e.Data)
			if err != nil {
				return nil, err
			}
			a.Events = append(a.Events, eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, TS: now, Actor: eventstore.ActorAgent, Data: data})
		}
		return []eventstore.StreamAppend{a}, nil
	})
	return err
}

func (x *team) begin(ctx context.Context, agent, id, description, background string, steps ...string) error {
	return x.decide(ctx, id, func(_ *task.Task, asked task.Asked) ([]task.Event, error) {
		asked.By = agent
		ask := task.StartAsk{Asked: asked, TaskID: id, WorkSessionID: "ws_" + id, Description: description, Background: background}
		for _, s := range steps {
			ask.Steps = append(ask.Steps, task.NewStep{Content: s})
		}
		return task.Start(ask)
	})
}

func (x *team) progress(ctx context.Context, id, line string) error {
	return x.decide(ctx, id, func(t *task.Task, asked task.Asked) ([]task.Event, error) {
		return task.Update(t, task.UpdateAsk{Asked: asked, Progress: line})
	})
}

func (x *team) complete(ctx context.Context, id, summary string) error {
	return x.decide(ctx, id, func(t *task.Task, asked task.Asked) ([]task.Event, error) {
		return task.Complete(t, task.CompleteAsk{Asked: asked, Summary: summary, Force: true})
	})
}

// read gives the files of all tasks, by workspace-<agent>/ and name, and whatever was kept aside.
func (x *team) read(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(x.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(x.dir, path)
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (x *team) write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(x.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// fileEvents lists the events of files after a seq: their types, paths and, of conflicts, the names that files have now.
func (x *team) fileEvents(t testing.TB, after int64) (list []string) {
	t.Helper()
	for {
		events, err := x.Read(t.Context(), after, 1_000)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			after = e.Seq
			var data struct{ Path, Kept string }
			if strings.HasPrefix(e.Type, "file.") {
				if err := json.Unmarshal(e.Data, &data); err != nil {
					t.Fatal(err)
				}
				list = append(list, strings.TrimSpace(e.Type+" "+data.Path+" "+data.Kept))
			}
		}
		if len(events) < 1_000 {
			return list
		}
	}
}

func (x *team) head(t testing.TB) int64 {
	t.Helper()
	head, err := x.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head.Seq
}

func names(all map[string]string) []string { return slices.Sorted(maps.Keys(all)) }

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
