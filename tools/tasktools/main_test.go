package tasktools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/tasktools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func definitions() []projections.Definition {
	rules := coordination.RulesV2
	return []projections.Definition{conversations.Routes(rules), sessions.Definition(), runs.Definition(), workqueue.Definition(), flows.Definition(),
		tasks.Definition(), index.Definition(rules), conversations.Definition(rules)}
}

var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, definitions()...))

// team is the configuration of most tests.
const team = `agents: {list: [{id: 'ruda', default: true}, {id: 'eden'}, {id: 'seum'}, {id: 'dajim'}, {id: 'quick', utility: true}]}`

// fixture is a log with a task service, behind a registry with a tool called write.
type fixture struct {
	t        testing.TB
	path     string
	settings string
	db       *sqlite.DB
	service  *tasktools.Service
	box      *tools.Registry
	config   *config.Config
	then     func(*fixture) []tasktools.Then // nil for none
	ahead    atomic.Int64                    // ms that the clock is ahead
}

// setup opens a fixture with a configuration, JSON5 without its braces.
func setup(t testing.TB, settings string) *fixture {
	t.Helper()
	return setupThen(t, settings, nil)
}

// setupThen opens a fixture with consequences of changes.
func setupThen(t testing.TB, settings string, then func(*fixture) []tasktools.Then) *fixture {
	t.Helper()
	file, err := emptyLog()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "log.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return openAt(t, path, settings, then)
}

// openAt opens a fixture at an existing log. It is closed at the end of the test at the latest.
func openAt(t testing.TB, path, settings string, then func(*fixture) []tasktools.Then) *fixture {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil && !errors.Is(err, eventstore.ErrClosed) {
			t.Error(err)
		}
	})
	if _, err := projections.Start(t.Context(), db, definitions(), projections.Options{Rules: coordination.RulesV2}); err != nil {
		t.Fatal(err)
	}
	o := &fixture{t: t, path: path, settings: settings, db: db, config: load(t, settings), then: then}
	inForce := func() *config.Config { return o.config }
	options := tasktools.Options{Log: db, Now: o.now, NewID: uuid.NewString, NewTaskID: newTaskID}
	if then != nil {
		options.Then = then(o)
	}
	o.service = tasktools.New(options)
	write := tools.Tool{Spec: tool.Spec{Name: "write", Group: "files", Label: "Write", Description: "Write.", Schema: json.RawMessage(`{"type":"object"}`)},
		Do: func(context.Context, *tools.Call) (tool.Output, error) { return tool.Output{Text: "written"}, nil }}
	o.box, err = tools.New(tools.Options{Config: inForce, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Tools: append(o.service.Tools(), write),
		Guard: o.service.Guard})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// reopened is the fixture after a restart, which closes the one before.
func (o *fixture) reopened() *fixture {
	o.t.Helper()
	if err := o.db.Close(); err != nil {
		o.t.Fatal(err)
	}
	again := openAt(o.t, o.path, o.settings, o.then)
	again.ahead.Store(o.ahead.Load())
	return again
}

func newTaskID() string { return "task_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:20] }

func load(t testing.TB, settings string) *config.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "openclaw.json")
	if err := os.WriteFile(path, []byte("{"+settings+"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, findings := config.Load(path, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

func (o *fixture) now() time.Time {
	return time.Now().Add(time.Duration(o.ahead.Load()) * time.Millisecond)
}

// pass lets time pass.
func (o *fixture) pass(d time.Duration) { o.ahead.Add(d.Milliseconds()) }

// caller is an agent in its main session, in a run.
func caller(agent string) tool.Caller {
	return tool.Caller{Entry: tool.ByRun, AgentID: agent, SessionKey: coordination.MainKey(agent).String()}
}

// answer is what a tool has said.
type answer map[string]any

func (a answer) text(name string) string { s, _ := a[name].(string); return s }
func (a answer) number(name string) int  { n, _ := a[name].(float64); return int(n) }
func (a answer) list(name string) []any  { l, _ := a[name].([]any); return l }

func (a answer) object(name string) answer { o, _ := a[name].(map[string]any); return o }

// call calls a tool, whatever comes of it.
func (o *fixture) call(c tool.Caller, name, args string) (answer, error) {
	out, err := o.box.Call(o.t.Context(), c, name, json.RawMessage(args))
	if err != nil {
		return nil, err
	}
	var a answer
	if err := json.Unmarshal([]byte(out.Text), &a); err != nil {
		return nil, fmt.Errorf("%s: %w", out.Text, err)
	}
	if success, _ := a["success"].(bool); success == out.IsError {
		return a, fmt.Errorf("success is %t, but the output says %t", success, !out.IsError)
	}
	return a, nil
}

// does calls a tool as an agent, and fails the test on a refusal.
func (o *fixture) does(agent, name, args string, of ...any) answer {
	o.t.Helper()
	return o.doesAs(caller(agent), name, args, of...)
}

func (o *fixture) doesAs(c tool.Caller, name, args string, of ...any) answer {
	o.t.Helper()
	args = fmt.Sprintf(args, of...)
	a, err := o.call(c, name, args)
	if err != nil || a["success"] != true {
		o.t.Fatalf("%s %s: %v, %v", name, args, a, err)
	}
	return a
}

// refuses calls a tool as an agent, and fails the test unless it is refused with that code.
func (o *fixture) refuses(code, agent, name, args string, of ...any) answer {
	o.t.Helper()
	args = fmt.Sprintf(args, of...)
	a, err := o.call(caller(agent), name, args)
	if err != nil || a["success"] != false || a.text("code") != code || a.text("error") == "" || a.text("hint") == "" {
		o.t.Fatalf("%s %.300s: %v, %v; want code %s", name, args, a, err, code)
	}
	return a
}

// events are those of a task's stream, or all of tasks for "".
func (o *fixture) events(taskID string) (list []eventstore.Event) {
	o.t.Helper()
	all, err := o.db.Read(o.t.Context(), 0, 100_000)
	if err != nil {
		o.t.Fatal(err)
	}
	for _, e := range all {
		if taskID == "" && strings.HasPrefix(e.Stream, "task/") || taskID != "" && e.Stream == coordination.TaskStream(taskID) {
			list = append(list, e)
		}
	}
	return list
}

// types are the types of a task's events.
func (o *fixture) types(taskID string) (list []string) {
	o.t.Helper()
	for _, e := range o.events(taskID) {
		list = append(list, e.Type)
	}
	return list
}

// task is a task as task_status tells it.
func (o *fixture) task(agent, taskID string) answer {
	o.t.Helper()
	a := o.does(agent, "task_status", `{"task_id":%q}`, taskID)
	if a["found"] != true {
		o.t.Fatalf("task_status %s: %v", taskID, a)
	}
	return a.object("task")
}

// starts starts a task, and gives its id.
func (o *fixture) starts(agent, description string) string {
	o.t.Helper()
	return o.does(agent, "task_start", `{"description":%q}`, description).text("taskId")
}

// together does something n times at once, and gives what came of each.
func together[T any](n int, do func(i int) T) []T {
	results := make([]T, n)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-begin
			results[i] = do(i)
		})
	}
	close(begin)
	all.Wait()
	return results
}

// ids are the ids of tasks that a tool lists.
func ids(a answer) (list []string) {
	for _, row := range a.list("tasks") {
		list = append(list, answer(row.(map[string]any)).text("taskId"))
	}
	slices.Sort(list)
	return list
}
