package tasks_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

func TestMain(m *testing.M) {
	testscale.Checks(5, 30)
	goleak.VerifyTestMain(m)
}

// base is what times in these tests are relative to, ms since 1970: 2026-09-21T14:13:20Z.
const base = 1_790_000_000_000

// log is a log with the tasks in it.
type log struct {
	*sqlite.DB
	engine *projections.Engine
	path   string
}

func setup(t testing.TB) *log {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.db")
	storetest.Copy(t, emptyLog, path)
	l := openAt(t, path)
	t.Cleanup(func() { l.close(t) })
	return l
}

// emptyLog is the file of a log that has its tables.
var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, tasks.Definition()))

// openAt opens a log that the caller must close.
func openAt(t testing.TB, path string) *log {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := projections.Start(t.Context(), db, []projections.Definition{tasks.Definition()}, projections.Options{Rules: coordination.RulesV2})
	if err != nil {
		t.Fatal(errors.Join(err, db.Close()))
	}
	return &log{db, engine, path}
}

func (l *log) close(t testing.TB) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// reopen closes and opens the file, as a restart does.
func (l *log) reopen(t testing.TB) {
	t.Helper()
	l.close(t)
	*l = *openAt(t, l.path)
}

func (l *log) append(t testing.TB, appends ...eventstore.StreamAppend) eventstore.Result {
	t.Helper()
	result, err := l.Append(t.Context(), appends...)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// event is one of a task, ms after base. data is any of the data of such an event.
func event(ms int64, typ, id, agent string, data any) eventstore.StreamAppend {
	return eventstore.StreamAppend{Stream: coordination.TaskStream(id), Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: typ, AgentID: agent, Data: withID(data, id)}.WithTS(base + ms),
	}}
}

// withID is data as JSON that names its task.
func withID(data any, id string) json.RawMessage {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // the types of data can be written
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &members); err != nil {
		panic(err)
	}
	members["taskId"], _ = json.Marshal(id)
	text, _ = json.Marshal(members)
	return text
}

func context1(workSession string) coordination.Context {
	return coordination.Context{WorkSessionID: workSession, EventRole: coordination.RoleOrchestration}
}

func started(ms int64, id, agent string, change ...func(*coordination.TaskStarted)) eventstore.StreamAppend {
	d := coordination.TaskStarted{Context: context1("ws_" + id), Priority: "medium", Description: "do " + id, SessionKey: "agent:" + agent + ":main",
		Source: "user", Progress: "Task started"}
	for _, c := range change {
		c(&d)
	}
	return event(ms, coordination.TypeTaskStarted, id, agent, d)
}

func backlog(ms int64, id, adder, assignee string, change ...func(*coordination.TaskBacklogAdded)) eventstore.StreamAppend {
	d := coordination.TaskBacklogAdded{Context: context1("ws_" + id), Assignee: assignee, Priority: "medium", Description: "do " + id, Progress: "Added"}
	for _, c := range change {
		c(&d)
	}
	return event(ms, coordination.TypeTaskBacklogAdded, id, adder, d)
}

func updated(ms int64, id, agent, progress string, steps ...coordination.TaskStep) eventstore.StreamAppend {
	return event(ms, coordination.TypeTaskUpdated, id, agent, coordination.TaskUpdated{Context: context1(""), Progress: progress, Steps: steps})
}

func blocked(ms int64, id, agent string, by ...string) eventstore.StreamAppend {
	return event(ms, coordination.TypeTaskBlocked, id, agent, coordination.TaskBlocked{Reason: "waits", UnblockedBy: by, Progress: "[BLOCKED] waits"})
}

// change is one of the events whose data is a coordination.TaskState.
func change(ms int64, typ, id, agent string, d coordination.TaskState) eventstore.StreamAppend {
	return event(ms, typ, id, agent, d)
}

func delegated(ms int64, typ, id string, d coordination.Delegation) eventstore.StreamAppend {
	d.EventRole = coordination.RoleDelegation
	return event(ms, typ, id, "eden", d)
}

// file is an event of a file. data has its path.
func file(ms int64, typ, path string, data any) eventstore.StreamAppend {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // the types of data can be written
	}
	return eventstore.StreamAppend{Stream: coordination.FileStream(path), Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: typ, Actor: eventstore.ActorSystem, Data: text}.WithTS(base + ms),
	}}
}

func imported(ms int64, path, text string) eventstore.StreamAppend {
	return file(ms, coordination.TypeFileImported, path, coordination.FileImported{Path: path, SHA256: "h:" + path, Text: text})
}

func changed(ms int64, path, text string) eventstore.StreamAppend {
	return file(ms, coordination.TypeFileChanged, path, coordination.FileChanged{Path: path, Change: "change", SHA256: "c:" + path, Text: &text})
}

func unlinked(ms int64, path string) eventstore.StreamAppend {
	return file(ms, coordination.TypeFileChanged, path, coordination.FileChanged{Path: path, Change: "unlink"})
}

// asImport is what the import of a log makes of an event.
func asImport(a eventstore.StreamAppend) eventstore.StreamAppend {
	a.Events = slices.Clone(a.Events)
	for i := range a.Events {
		a.Events[i].Actor = eventstore.ActorImport
	}
	return a
}

// deciding reads within a transaction of the writer, which appends nothing.
func (l *log) deciding(t testing.TB, read func(tx eventstore.Tx) error) {
	t.Helper()
	_, err := l.Decide(context.Background(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) { return nil, read(tx) })
	if err != nil {
		t.Fatal(err)
	}
}

// load is a task as decisions see it, nil if there is none.
func (l *log) load(t testing.TB, id string) (found *task.Task) {
	t.Helper()
	l.deciding(t, func(tx eventstore.Tx) (err error) {
		found, _, err = tasks.Load(tx, id)
		return err
	})
	return found
}

func (l *log) byID(t testing.TB, id string) *tasks.Row {
	t.Helper()
	return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (*tasks.Row, error) {
		x, _, err := tasks.ByID(ctx, tx, id)
		return x, err
	})
}

// list gives the ids of tasks, with their state, and with ! the one in focus.
func (l *log) list(t testing.TB, f tasks.Filter) (lines []string) {
	t.Helper()
	for {
		rows := projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (rows []tasks.Row, err error) {
			rows, f.After, err = tasks.List(ctx, tx, f)
			return rows, err
		})
		for _, x := range rows {
			lines = append(lines, x.ID+" "+x.Status+mark(&x))
		}
		if f.After == "" {
			return lines
		}
	}
}

func mark(x *tasks.Row) string {
	switch {
	case x.Focus:
		return "!"
	case x.Gone:
		return " gone"
	}
	return ""
}

func (l *log) focus(t testing.TB, agent string) (id string) {
	t.Helper()
	l.deciding(t, func(tx eventstore.Tx) (err error) {
		id, _, err = tasks.Focus(tx, agent)
		return err
	})
	return id
}

func (l *log) dump(t testing.TB) []string {
	t.Helper()
	return projectiontest.Dump(t, l, tasks.Definition())
}

// rebuild rebuilds the tables, and fails t unless they are the same.
func (l *log) rebuild(t testing.TB) {
	t.Helper()
	live := l.dump(t)
	if err := l.engine.Rebuild(context.Background(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(live, l.dump(t)); diff != "" {
		t.Errorf("rebuilt (-live +rebuilt):\n%s", diff)
	}
}

func want[V any](t testing.TB, what string, got, want V) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
